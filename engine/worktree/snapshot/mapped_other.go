//go:build !linux

package snapshot

import "runtime"

// Add can only note that nothing is known: what changed once is read again at every capture.
func (m *Mappings) Add(int) {
	m.Unknown = "what processes map into their memory cannot be read on " + runtime.GOOS +
		": writes through mappings may be missing"
}

// ReportsMmapWrites is false where this is not known.
func ReportsMmapWrites(string) bool { return false }

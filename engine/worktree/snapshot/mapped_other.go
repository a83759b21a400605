//go:build !linux

package snapshot

import "runtime"

// add can only say that nothing is known: what changed once is read again at every capture.
func (m *Mappings) Add(int) {
	m.Unseen = "what processes map into their memory cannot be read on " + runtime.GOOS + ": writes through mappings may be missing"
}

// tellsOfMappings is not known here.
func TellsOfMappings(string) bool { return false }

//go:build !linux

package worktree

import "runtime"

// add can only say that nothing is known: what changed once is read again at every capture.
func (m *mappings) add(int) {
	m.unseen = "what processes map into their memory cannot be read on " + runtime.GOOS + ": writes through mappings may be missing"
}

// tellsOfMappings is not known here.
func tellsOfMappings(string) bool { return false }

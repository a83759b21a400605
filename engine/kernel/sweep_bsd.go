//go:build unix && !linux

package kernel

import (
	"syscall"
	"time"
)

// sweeper knows only the process group here: what a step left running is ended with the
// session, and a process that left the group is not found.
type sweeper struct {
	group, interp int
	bereaved      bool
}

func newSweeper(string) *sweeper { return &sweeper{} }

func (s *sweeper) adopt(group, interp int) { s.group, s.interp, s.bereaved = group, interp, false }

// bereave says that the interpreter has ended; the rest of its group keeps its number taken.
func (s *sweeper) bereave() { s.bereaved = true }

func (s *sweeper) sweep(time.Duration) int {
	if s.bereaved {
		syscall.Kill(-s.group, syscall.SIGKILL)
	}
	return 0
}

func (s *sweeper) signalAll(sig syscall.Signal) { syscall.Kill(-s.group, sig) }

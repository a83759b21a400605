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

func newSweeper(string, Mark) *sweeper { return &sweeper{} }

func (s *sweeper) adopt(group, interp int) { s.group, s.interp, s.bereaved = group, interp, false }

// bereave says that the interpreter has ended; the rest of its group keeps its number taken.
func (s *sweeper) bereave() { s.bereaved = true }

// spare has nothing to say here: what is below the interpreter lives as long as it does.
func (s *sweeper) spare() {}

func (s *sweeper) sweep(time.Duration) int {
	if s.bereaved {
		syscall.Kill(-s.group, syscall.SIGKILL)
	}
	return 0
}

func (s *sweeper) signalAll(sig syscall.Signal) { syscall.Kill(-s.group, sig) }

//go:build unix && !linux

package kernel

import (
	"syscall"
	"time"
)

// sweeper knows only process groups here: what a step left running is ended with the session, a
// process that left its group is not found, and what runs is not listed.
type sweeper struct {
	group, interp int
	bereaved      bool
	groups        []int // of interpreters that have ended; what is left in them keeps their numbers taken
}

func newSweeper(string, Mark) *sweeper { return &sweeper{} }

func (s *sweeper) adopt(group, interp int) { s.group, s.interp, s.bereaved = group, interp, false }

// bereave says that the interpreter has ended; the rest of its group keeps its number taken.
func (s *sweeper) bereave() {
	if s.group != 0 && !s.bereaved {
		s.groups = append(s.groups, s.group)
	}
	s.bereaved = true
}

// spare has nothing to say here: what is below the interpreter lives as long as it does.
func (s *sweeper) spare() {}

func (s *sweeper) replaced() bool { return false }

func (s *sweeper) parts() []int { return []int{s.interp} }

func (s *sweeper) begin() {}

func (s *sweeper) left() []Process { return nil }

func (s *sweeper) running() []Process { return nil }

func (s *sweeper) sweep(time.Duration) int {
	for _, group := range s.groups {
		syscall.Kill(-group, syscall.SIGKILL)
	}
	s.groups = nil
	return 0
}

// sweepStep ends what a step left in the group of an interpreter that has ended with it.
func (s *sweeper) sweepStep(time.Duration) int {
	if s.bereaved {
		syscall.Kill(-s.group, syscall.SIGKILL)
	}
	return 0
}

func (s *sweeper) signalStep(sig syscall.Signal, _ bool) { s.signalAll(sig) }

func (s *sweeper) signalChildren(sig syscall.Signal) { s.signalAll(sig) }

func (s *sweeper) signalAll(sig syscall.Signal) { syscall.Kill(-s.group, sig) }

//go:build unix && !linux

package process

import (
	"os"
	"syscall"
	"time"
)

// Family knows only process groups here: processes that a step left end with the session, a process that left its group
// is not found, and running processes are not listed.
type Family struct {
	group, interpreter int
	forgotten          bool
	groups             []int // of interpreters that have ended; remaining members keep the numbers in use
}

// NewFamily returns the family of a new session.
func NewFamily(Mark, string) *Family { return &Family{} }

// Start starts the session's interpreter, or the program that becomes its parent.
func (f *Family) Start(program string, argv, env []string, dir string, files []*os.File, o Options) (*Child, error) {
	c, err := launch(program, argv, env, dir, files, o)
	if err == nil {
		f.group, f.interpreter, f.forgotten = c.PID, c.PID, false
	}
	return c, err
}

// Interpreter returns the interpreter's process id.
func (f *Family) Interpreter() int { return f.interpreter }

// SetInterpreter names the interpreter where a wrapper stays as its parent.
func (f *Family) SetInterpreter(pid int) {
	if pid > 1 && syscall.Kill(pid, 0) == nil {
		f.interpreter = pid
	}
}

// ForgetPID notes that the interpreter has ended. Remaining members of its group keep the number in use.
func (f *Family) ForgetPID() {
	if f.group != 0 && !f.forgotten {
		f.groups = append(f.groups, f.group)
	}
	f.forgotten = true
}

// Spare does nothing here: the interpreter's descendants live as long as it does.
func (f *Family) Spare() {}

// Replaced always returns false.
func (f *Family) Replaced() bool { return false }

// Parts lists the interpreter alone.
func (f *Family) Parts() []int { return []int{f.interpreter} }

// BeginStep does nothing here.
func (f *Family) BeginStep() {}

// Left lists nothing here.
func (f *Family) Left() []Info { return nil }

// Running lists nothing here.
func (f *Family) Running() []Info { return nil }

// End kills the remaining members of the groups of interpreters that have ended.
func (f *Family) End(time.Duration) int {
	for _, group := range f.groups {
		syscall.Kill(-group, syscall.SIGKILL)
	}
	f.groups = nil
	return 0
}

// EndStep kills what a step left in the group of an interpreter that has ended with it.
func (f *Family) EndStep(time.Duration) int {
	if f.forgotten {
		syscall.Kill(-f.group, syscall.SIGKILL)
	}
	return 0
}

// SignalStep sends sig to the interpreter's group. It sends SIGCONT after SIGTERM: a stopped process handles no other
// signal.
func (f *Family) SignalStep(sig syscall.Signal, _ bool) {
	f.SignalAll(sig)
	if sig == syscall.SIGTERM {
		f.SignalAll(syscall.SIGCONT)
	}
}

// SignalChildren sends sig to the interpreter's group.
func (f *Family) SignalChildren(sig syscall.Signal) { f.SignalAll(sig) }

// SignalAll sends sig to the interpreter's group.
func (f *Family) SignalAll(sig syscall.Signal) { syscall.Kill(-f.group, sig) }

// Descendants finds none here.
func Descendants(int) []Info { return nil }

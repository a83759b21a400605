//go:build !unix

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Supported reports whether sessions can start: they need named pipes and process groups.
const Supported = false

// Child is a started program. This system has none.
type Child struct {
	PID   int
	Ended chan struct{}
}

func (c *Child) Over() bool                      { return true }
func (c *Child) Exit() (code int, signal string) { return 1, "" }
func (c *Child) KillGroup()                      {}

// Family is empty on this system.
type Family struct{}

func NewFamily(Mark, string) *Family { return &Family{} }

func (*Family) Start(string, []string, []string, string, []*os.File, Options) (*Child, error) {
	return nil, errors.ErrUnsupported
}

func (*Family) Interpreter() int                { return 0 }
func (*Family) SetInterpreter(int)              {}
func (*Family) ForgetPID()                      {}
func (*Family) Spare()                          {}
func (*Family) Replaced() bool                  { return false }
func (*Family) Parts() []int                    { return nil }
func (*Family) BeginStep()                      {}
func (*Family) Left() []Info                    { return nil }
func (*Family) Running() []Info                 { return nil }
func (*Family) End(time.Duration) int           { return 0 }
func (*Family) EndStep(time.Duration) int       { return 0 }
func (*Family) SignalStep(syscall.Signal, bool) {}
func (*Family) SignalChildren(syscall.Signal)   {}
func (*Family) SignalAll(syscall.Signal)        {}

// Descendants finds none here.
func Descendants(int) []Info { return nil }

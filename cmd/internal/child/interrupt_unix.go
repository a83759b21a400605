//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
)

// interrupt asks a program to end, as Ctrl-C does.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// Detach lets a program live on when this one, or its terminal, has gone, and keeps the terminal's signals from it.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

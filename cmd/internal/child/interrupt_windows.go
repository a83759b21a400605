package child

import (
	"os"
	"os/exec"
	"syscall"
)

// interrupt ends a program: Windows has no signal for one process. The next run completes the record of a run that was
// ended so, as interrupted.
func interrupt(p *os.Process) error { return p.Kill() }

// Detach lets a program live on when this one has gone, and keeps the terminal's signals from it.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// apart does nothing: there are no signals to a group.
func apart(*exec.Cmd) {}

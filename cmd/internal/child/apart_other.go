//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// apart puts the program into a process group of its own, so that a signal to the group of the server interrupts a run
// once and not twice, which would end it at once.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

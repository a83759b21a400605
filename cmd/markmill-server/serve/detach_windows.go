package serve

import (
	"os/exec"
	"syscall"
)

// detach lets a program live on when this one ends, and keeps the terminal's signals from it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

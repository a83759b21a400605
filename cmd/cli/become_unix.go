//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// detach lets a program live on when this one, or its terminal, has gone.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// become runs another program in the place of this one.
func become(program string, args ...string) error {
	return &os.PathError{Op: "start", Path: program, Err: syscall.Exec(program, args, os.Environ())}
}

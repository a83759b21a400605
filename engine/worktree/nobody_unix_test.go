//go:build unix

package worktree

import (
	"os/exec"
	"syscall"
)

// asNobody lets a program run as a user who may do little.
func asNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

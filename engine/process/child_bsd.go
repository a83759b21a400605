//go:build unix && !linux

package process

import "syscall"

// attributes puts a child in its own process group. Nothing here ends it when Markmill is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isMainThread matters only where rights are per thread.
func isMainThread() bool { return false }

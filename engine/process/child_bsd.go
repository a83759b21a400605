//go:build unix && !linux

package process

import "syscall"

// attributes puts a child in a group of its own. Nothing here ties its life to Markmill's.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isMainThread matters only where a thread can lose rights of its own.
func isMainThread() bool { return false }

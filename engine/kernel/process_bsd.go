//go:build unix && !linux

package kernel

import "syscall"

// processAttributes: a group of its own. Nothing here ties its life to the engine's.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isMainThread is asked only where a thread has rights of its own to lose.
func isMainThread() bool { return false }

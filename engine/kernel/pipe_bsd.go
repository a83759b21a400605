//go:build unix && !linux

package kernel

import "syscall"

// growPipe does nothing where the size of a pipe is the system's own business.
func growPipe(syscall.RawConn) {}

package kernel

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// growPipe asks for a larger pipe. A refusal (the user's share of pipe memory is used up) only
// costs speed.
func growPipe(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

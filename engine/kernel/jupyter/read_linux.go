package jupyter

import (
	"io"
	"net"
	"syscall"
	"unsafe"
)

// calm reads a connection without notifying Go's scheduler of each system call. The connection never blocks, so that
// there is nothing to tell; and the scheduler's own thread, which looks after calls that last, is asleep while a kernel
// works and would be woken by every message. That is a tenth of what a small step costs this side.
type calm struct{ conn syscall.RawConn }

// reader is the way to read a connection.
func reader(conn net.Conn) io.Reader {
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			return calm{raw}
		}
	}
	return conn
}

func (c calm) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var n uintptr
	var failed syscall.Errno
	err := c.conn.Read(func(fd uintptr) (done bool) {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			n, _, failed = syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		}
		return failed != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case failed != 0:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

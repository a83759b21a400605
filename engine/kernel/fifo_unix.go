//go:build unix

package kernel

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// makeFIFO creates a named pipe and opens it for reading and writing.
func makeFIFO(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openFIFO opens the writing end, which blocks when the pipe is full.
func openFIFO(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func readFIFO(fd uintptr, buf []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), buf); err != syscall.EINTR {
			return n, err
		}
	}
}

// growFIFO asks Linux for a larger pipe. A refusal (the user's share of pipe memory is used up) only costs speed.
func growFIFO(raw syscall.RawConn) {
	const setPipeSize = 1031 // F_SETPIPE_SZ
	if runtime.GOOS == "linux" {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, setPipeSize, pipeSize) })
	}
}

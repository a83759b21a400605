package kernel

import (
	"os"
	"syscall"
)

// processAttributes: a group of its own, and death when the thread that started it dies, so that a
// killed Markmill leaves no interpreter behind.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func isMainThread() bool { return syscall.Gettid() == os.Getpid() }

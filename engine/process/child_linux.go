package process

import (
	"os"
	"syscall"
)

// attributes puts a child in its own process group and has it killed when the thread that started it dies, so that a
// killed Markmill leaves no interpreter behind.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func isMainThread() bool { return syscall.Gettid() == os.Getpid() }

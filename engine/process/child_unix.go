//go:build unix

package process

import (
	"os"
	"runtime"
	"syscall"
)

// Supported reports whether sessions can start: they need named pipes and process groups.
const Supported = true

// Child is a program that runs in its own process group.
type Child struct {
	PID   int
	Ended chan struct{} // closed when it has ended and state is set
	state syscall.WaitStatus
}

// launch starts argv. Its thread lives until the program has ended: on Linux the program is killed when the thread that
// started it exits, which must happen only when Markmill exits.
func launch(program string, argv, env []string, dir string, files []*os.File, o Options) (*Child, error) {
	type started struct {
		child *Child
		err   error
	}
	report := make(chan started)
	start := func() {
		if o.Confine != nil {
			if err := o.Confine(); err != nil {
				report <- started{err: err}
				return
			}
		}
		sys := attributes()
		if o.Attributes != nil {
			o.Attributes(sys)
		}
		proc, err := os.StartProcess(program, argv, &os.ProcAttr{Dir: dir, Env: env, Files: files, Sys: sys})
		if err != nil {
			report <- started{err: err}
			return
		}
		c := &Child{PID: proc.Pid, Ended: make(chan struct{})}
		report <- started{child: c}
		if state, err := proc.Wait(); err == nil {
			c.state = state.Sys().(syscall.WaitStatus)
		}
		close(c.Ended)
	}
	go onThread(start, o.Confine == nil)
	s := <-report
	return s.child, s.err
}

// onThread runs f on its own thread. If f takes rights from the thread, the thread ends with f instead of returning to
// the pool (giveBack is false). It is never the main thread, which cannot end and whose rights count as the process's:
// whoever shares them may signal all of Markmill.
func onThread(f func(), giveBack bool) {
	runtime.LockOSThread()
	if giveBack {
		defer runtime.UnlockOSThread()
	} else if isMainThread() {
		placed := make(chan struct{})
		go func() { // on another thread: this goroutine holds the main one until then
			runtime.LockOSThread()
			close(placed)
			f()
		}()
		<-placed
		runtime.UnlockOSThread()
		return
	}
	f()
}

// Over reports whether the child has ended.
func (c *Child) Over() bool {
	select {
	case <-c.Ended:
		return true
	default:
		return false
	}
}

// Exit returns the exit code as a shell reports it and the name of the signal that ended the child, or "".
func (c *Child) Exit() (code int, signal string) {
	if c.state.Signaled() {
		return 128 + int(c.state.Signal()), signalName(c.state.Signal())
	}
	return c.state.ExitStatus(), ""
}

// KillGroup kills everything in the child's process group.
func (c *Child) KillGroup() { syscall.Kill(-c.PID, syscall.SIGKILL) }

func signalName(sig syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT", syscall.SIGILL: "ILL",
		syscall.SIGTRAP: "TRAP", syscall.SIGABRT: "ABRT", syscall.SIGBUS: "BUS", syscall.SIGFPE: "FPE",
		syscall.SIGKILL: "KILL", syscall.SIGUSR1: "USR1", syscall.SIGSEGV: "SEGV", syscall.SIGUSR2: "USR2",
		syscall.SIGPIPE: "PIPE", syscall.SIGALRM: "ALRM", syscall.SIGTERM: "TERM", syscall.SIGXCPU: "XCPU",
		syscall.SIGXFSZ: "XFSZ", syscall.SIGSYS: "SYS",
	}
	if name, ok := names[sig]; ok {
		return name
	}
	return sig.String()
}

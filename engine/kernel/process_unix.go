//go:build unix

package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"markmill/notebooks"
)

// process is a program that runs in a process group of its own.
type process struct {
	pid   int
	ended chan struct{} // closed when it has ended and state is set
	state syscall.WaitStatus
}

// launch starts argv. Its thread lives until the program has ended, because on Linux the program
// is killed when the thread that started it goes away, and is to be killed only when all of
// Markmill does.
func launch(program string, argv, env []string, dir string, files []*os.File, o Options) (*process, error) {
	type started struct {
		p   *process
		err error
	}
	report := make(chan started)
	start := func() {
		if o.Confine != nil {
			if err := o.Confine(); err != nil {
				report <- started{err: err}
				return
			}
		}
		sys := processAttributes()
		if o.Attributes != nil {
			o.Attributes(sys)
		}
		proc, err := os.StartProcess(program, argv, &os.ProcAttr{Dir: dir, Env: env, Files: files, Sys: sys})
		if err != nil {
			report <- started{err: err}
			return
		}
		p := &process{pid: proc.Pid, ended: make(chan struct{})}
		report <- started{p: p}
		if state, err := proc.Wait(); err == nil {
			p.state = state.Sys().(syscall.WaitStatus)
		}
		close(p.ended)
	}
	go onThread(start, o.Confine == nil)
	s := <-report
	if s.err == nil {
		o.Mark.put(s.p.pid) // not on the thread above, which may not change another process's limits any more
	}
	return s.p, s.err
}

// onThread runs f on a thread of its own. A thread that f takes rights from is not given back to the
// others: it ends with f. It is never the main thread, which stands for the process: who shares its
// rights may send signals to all of Markmill, and it cannot end.
func onThread(f func(), giveBack bool) {
	runtime.LockOSThread()
	if giveBack {
		defer runtime.UnlockOSThread()
	} else if isMainThread() {
		placed := make(chan struct{})
		go func() { // on another thread, for this goroutine holds the main one until then
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

// over says whether it has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// exit is the exit code as a shell counts it, and the signal that ended it, "" without one.
func (p *process) exit() (code int, signal string) {
	if p.state.Signaled() {
		return 128 + int(p.state.Signal()), signalName(p.state.Signal())
	}
	return p.state.ExitStatus(), ""
}

// signalGroup sends sig to everything in the process group.
func (p *process) signalGroup(sig syscall.Signal) { syscall.Kill(-p.pid, sig) }

// lookProgram finds a program as the environment's own PATH has it.
func lookProgram(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, d := range filepath.SplitList(getenv(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue // as Go's own exec: never a program of the working directory by accident
		}
		if path := filepath.Join(d, name); executable(path) == nil {
			return path, nil
		}
	}
	return "", errors.New("not found on PATH")
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return errors.New("not an executable file")
	}
	return nil
}

// missing is the error for a program that cannot be started.
func missing(kernel, program string, err error) error {
	return &notebooks.Error{
		Kind: notebooks.KindProvider,
		Msg:  "the kernel " + kernel + " needs the program " + program + ": " + err.Error(),
		Hint: "install it, or name another in markmill.yaml",
		Err:  err,
	}
}

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

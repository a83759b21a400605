package process

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Family finds and ends the processes of one session.
type Family struct {
	tag         []byte
	mark        Mark
	group       int   // process group of the interpreter
	interpreter int   // its process, an ancestor of everything that a step starts
	mine        procs // known to belong to the session
	strange     procs // known not to belong to it
	spared      procs // processes that the interpreter itself works through
	works       map[int]string
	last        []Info // processes left when the last step ended
	earlier     procs  // left by earlier steps: a step's time limit does not end them
}

// NewFamily returns the family of a new session of the run with the mark; tag is from Mark.Tag and must be in the
// session's environment.
func NewFamily(mark Mark, tag string) *Family {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return &Family{tag: []byte(tag), mark: mark.session(), mine: procs{}, strange: procs{}}
}

// Start starts the session's interpreter, or the program that becomes its parent (see SetInterpreter).
func (f *Family) Start(program string, argv, env []string, dir string, files []*os.File, o Options) (*Child, error) {
	var c *Child
	var err error
	if o.Place != nil {
		c, err = o.Place.launch(program, argv, env, dir, files, o.Order)
	} else {
		c, err = launch(program, argv, env, dir, files, o)
	}
	if err == nil {
		// not on the child's own thread, which may have lost the right to change another process's limits
		f.mark.put(c.PID)
		f.group, f.interpreter = c.PID, c.PID
	}
	return c, err
}

// Interpreter returns the interpreter's process id, 0 if it has ended.
func (f *Family) Interpreter() int { return f.interpreter }

// SetInterpreter names the interpreter's process where a wrapper stays as its parent.
func (f *Family) SetInterpreter(pid int) {
	if pid > 1 && syscall.Kill(pid, 0) == nil {
		f.interpreter = pid
	}
}

// ForgetPID notes that the interpreter has ended: its number may be reused from now on.
func (f *Family) ForgetPID() { f.group, f.interpreter = 0, 0 }

// Spare counts everything that the interpreter has started so far as part of the interpreter.
func (f *Family) Spare() {
	f.spared, f.works = procs{}, map[int]string{}
	walkTree(childrenOf(f.interpreter), nil, func(pid int, info procInfo) {
		f.spared[pid], f.works[pid] = info.started, programOf(pid, info)
	})
}

// Replaced reports whether part of the interpreter, such as the shell that a kernel works through, has ended and the
// interpreter has started that program again. Its state is gone.
func (f *Family) Replaced() bool {
	for pid, started := range f.spared {
		if info, ok := statOf(pid); ok && !info.over() && info.started == started {
			continue
		}
		for _, p := range f.last {
			if p.Parent == 0 && p.Program == f.works[pid] && !f.earlier.has(p.PID, procInfo{started: p.Started}) {
				return true
			}
		}
	}
	return false
}

// Parts lists the interpreter's own processes: itself and those it works through.
func (f *Family) Parts() []int {
	var all []int
	if f.interpreter != 0 {
		all = append(all, f.interpreter)
	}
	for pid := range f.spared {
		all = append(all, pid)
	}
	return all
}

// BeginStep notes that a step begins: processes that run now were left by earlier steps.
func (f *Family) BeginStep() {
	f.earlier = nil
	if len(f.last) > 0 {
		f.earlier = procs{}
		for _, p := range f.last {
			f.earlier[p.PID] = p.Started
		}
	}
}

// passing is how long a finished step waits for the processes it left. Most exit on their own at once (the end of a
// pipeline, tee behind a redirection), and their output belongs to the step.
const passing = 100 * time.Millisecond

// Left lists the processes still running when a step has ended. It first waits a moment for those that the step itself
// left.
func (f *Family) Left() []Info {
	f.last = f.Running()
	var fresh []unix.PollFd
	again := false // also when one has ended since it was listed and cannot be waited for
	for _, p := range f.last {
		if f.earlier.has(p.PID, procInfo{started: p.Started}) {
			continue
		}
		again = true
		if fd, err := unix.PidfdOpen(p.PID, 0); err == nil {
			defer unix.Close(fd)
			fresh = append(fresh, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	if again {
		await(fresh, passing)
		f.last = f.Running()
	}
	return f.last
}

// Running lists the processes that the interpreter started and that still run.
func (f *Family) Running() []Info {
	roots := f.roots()
	if len(roots) == 0 {
		return nil
	}
	var all []Info
	tops := map[int]bool{}
	for _, pid := range roots {
		tops[pid] = true
	}
	walkTree(roots, nil, func(pid int, info procInfo) {
		p := Info{PID: pid, Parent: info.parent, Program: programOf(pid, info), Started: info.started}
		if tops[pid] {
			p.Parent = 0
		}
		f.mine[pid] = info.started
		all = append(all, p)
	})
	return all
}

// End ends everything that the interpreter left running and returns the number of processes. It sends SIGTERM, and
// SIGKILL to those left after grace.
func (f *Family) End(grace time.Duration) int {
	clear(f.strange)
	n := f.end(nil, grace)
	f.last, f.earlier = nil, nil
	return n
}

// EndStep is like End, but only for processes that the last step started.
func (f *Family) EndStep(grace time.Duration) int { return f.end(f.earlier, grace) }

func (f *Family) end(but procs, grace time.Duration) int {
	ended := map[int]bool{}
	for round := 0; round < 1000; round++ {
		all := tree(f.roots(), but)
		if len(all) == 0 {
			break
		}
		sig, patience := unix.SIGKILL, time.Second
		if round == 0 {
			sig, patience = unix.SIGTERM, grace
		}
		f.know(all)
		for _, pid := range all {
			ended[pid] = true
		}
		end(all, sig, patience, nil)
	}
	return len(ended)
}

// know records running processes as the session's.
func (f *Family) know(pids []int) {
	for _, pid := range pids {
		if info, ok := statOf(pid); ok {
			f.mine[pid] = info.started
		}
	}
}

// SignalStep sends sig to the interpreter's group and, if all is true, to its descendants that left the group.
// Processes left by earlier steps do not get it. It sends SIGCONT after SIGTERM: a stopped process handles no other
// signal.
func (f *Family) SignalStep(sig syscall.Signal, all bool) {
	if sig == syscall.SIGTERM {
		defer f.SignalStep(syscall.SIGCONT, all)
	}
	if len(f.earlier) == 0 {
		if all {
			f.SignalAll(sig)
		} else if f.group != 0 {
			syscall.Kill(-f.group, sig)
		}
		return
	}
	group := f.group
	walkTree(f.everything(), f.earlier, func(pid int, info procInfo) {
		if all || info.group == group {
			syscall.Kill(pid, sig)
		}
	})
}

// SignalChildren sends sig to the members of the interpreter's group except the interpreter.
func (f *Family) SignalChildren(sig syscall.Signal) {
	walkTree(f.everything(), f.earlier, func(pid int, info procInfo) {
		if pid != f.group && pid != f.interpreter && info.group == f.group {
			syscall.Kill(pid, sig)
		}
	})
}

func (f *Family) everything() []int { return append([]int{f.group, f.interpreter}, f.roots()...) }

// SignalAll sends sig to the interpreter's group and to every descendant that left it.
func (f *Family) SignalAll(sig syscall.Signal) {
	all := tree(f.roots(), nil)
	if f.group != 0 {
		syscall.Kill(-f.group, sig)
	}
	f.know(all)
	for _, pid := range all {
		syscall.Kill(pid, sig)
	}
}

// roots are the running children of the interpreter, and the running children that came to Markmill from this session.
// It reaps those that have ended.
func (f *Family) roots() []int {
	var found []int
	for below := childrenOf(f.interpreter); len(below) > 0; below = below[1:] {
		switch info, ok := statOf(below[0]); {
		case !ok || info.over():
		case f.spared.has(below[0], info):
			below = append(below, childrenOf(below[0])...)
		default:
			found = append(found, below[0])
		}
	}
	self := os.Getpid()
	session, _ := unix.Getsid(0)
	// Orphans come to the first thread of the reaper, so only its list matters.
	for _, pid := range childrenOfThread(self, self) {
		if _, warden := wardens.Load(pid); warden || pid == f.interpreter || pid == f.group {
			continue
		}
		info, ok := statOf(pid)
		switch {
		case !ok:
		case info.over():
			// Only reparented orphans: a program that Markmill started itself is in its own session, and leads its
			// group or shares Markmill's.
			if f.mine.has(pid, info) || f.mark != 0 && markOf(pid) == f.mark || f.group != 0 && info.group == f.group ||
				info.session != session {
				syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
				delete(f.mine, pid)
			}
		case f.mine.has(pid, info):
			found = append(found, pid)
		case f.strange.has(pid, info): // checked once: other sessions' processes may be many and long-lived
		case f.recognizes(pid):
			found = append(found, pid)
		default:
			f.strange[pid] = info.started
		}
	}
	return found
}

// recognizes looks for the session's mark or tag on a process. A process in the middle of execve(2) briefly shows no
// environment, longer on a busy machine, so recognizes looks again.
func (f *Family) recognizes(pid int) bool {
	if f.mark != 0 {
		switch mark := markOf(pid); {
		case mark == f.mark:
			return true
		case mark.run() == f.mark.run(): // of another session
			return false
		}
	}
	for begin := time.Now(); time.Since(begin) < execPatience; time.Sleep(100 * time.Microsecond) {
		has, empty := hasTag(pid, f.tag)
		if has || !empty {
			return has
		}
		if info, ok := statOf(pid); !ok || info.over() {
			return false
		}
	}
	return false
}

// execPatience is how long to look again at a process without an environment. Most have just called execve(2); very few
// have an empty one.
const execPatience = 200 * time.Millisecond

// end sends sig to every process and waits until all have ended or patience runs out. If still is set, it skips
// processes for which still returns false. It calls still once the process's number can no longer be reused.
func end(pids []int, sig syscall.Signal, patience time.Duration, still func(pid int) bool) {
	var fds []unix.PollFd
	defer func() {
		for _, fd := range fds {
			unix.Close(int(fd.Fd))
		}
	}()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		if still != nil && !still(pid) {
			continue
		}
		if err != nil || unix.PidfdSendSignal(fd, sig, nil, 0) == unix.ENOSYS {
			syscall.Kill(pid, sig)
		}
		if sig == unix.SIGTERM {
			syscall.Kill(pid, syscall.SIGCONT) // a stopped process handles no other signal
		}
	}
	await(fds, patience)
}

// await waits until all processes have ended or patience runs out.
func await(fds []unix.PollFd, patience time.Duration) {
	deadline := time.Now().Add(patience)
	for waiting := fds; len(waiting) > 0; {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		if _, err := unix.Poll(waiting, int(left.Milliseconds())+1); err == unix.EINTR {
			continue // Go's own signal for switching goroutines; Revents still holds old values
		} else if err != nil {
			return
		}
		var still []unix.PollFd
		for _, fd := range waiting {
			if fd.Revents == 0 {
				still = append(still, fd)
			}
		}
		waiting = still
	}
}

// Descendants lists the running processes that a process started, and those that they started. One whose starter has
// ended belongs to another process by then, and is not found.
func Descendants(pid int) (all []Info) {
	listed := map[int]bool{}
	walkTree(childrenOf(pid), nil, func(pid int, info procInfo) {
		p := Info{PID: pid, Parent: info.parent, Program: programOf(pid, info), Started: info.started}
		if !listed[p.Parent] {
			p.Parent = 0
		}
		listed[pid] = true
		all = append(all, p)
	})
	return all
}

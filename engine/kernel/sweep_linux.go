package kernel

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweeper finds and ends the processes of one session, other than its interpreter.
//
// A process stays findable however it detaches itself: as long as its parent lives it is below
// the interpreter, and when the parent is gone it becomes a child of Markmill, which is made
// the "child subreaper" of all that it starts. A child that came this way is a session's own
// when the session's tag is in its environment: other sessions and other children are left alone.
type sweeper struct {
	tag     []byte
	mark    Mark
	group   int   // process group of the interpreter
	interp  int   // process of the interpreter, below which everything of the step is
	mine    procs // known to be the session's
	strange procs // known not to be
	// spared are processes that belong to the interpreter itself, which works through them.
	spared procs
	works  map[int]string // the programs of those
	last   []Process      // what was left when the last step ended
	// earlier are what earlier steps left: the limit of a step does not end them.
	earlier procs
}

func newSweeper(tag string, mark Mark) *sweeper {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return &sweeper{tag: []byte(tag), mark: mark, mine: procs{}, strange: procs{}}
}

// adopt names the interpreter: its process group and its own process (another one when a
// wrapper stays as its parent).
func (s *sweeper) adopt(group, interp int) { s.group, s.interp = group, interp }

// bereave says that the interpreter has ended: its number may be anyone's from now on.
func (s *sweeper) bereave() { s.group, s.interp = 0, 0 }

// spare takes what the interpreter has started up to now as a part of it.
func (s *sweeper) spare() {
	s.spared, s.works = procs{}, map[int]string{}
	walkTree(childrenOf(s.interp), nil, func(pid int, info procInfo) {
		s.spared[pid], s.works[pid] = info.started, programOf(pid, info)
	})
}

// replaced says whether a part of the interpreter has ended and the interpreter has started that program again: the
// shell that a kernel works through, say. What it held is gone.
func (s *sweeper) replaced() bool {
	for pid, started := range s.spared {
		if info, ok := statOf(pid); ok && !info.over() && info.started == started {
			continue
		}
		for _, p := range s.last {
			if p.Parent == 0 && p.Program == s.works[pid] && !s.earlier.has(p.PID, procInfo{started: p.Started}) {
				return true
			}
		}
	}
	return false
}

// parts are the processes of the interpreter: itself, and what it works through.
func (s *sweeper) parts() []int {
	var all []int
	if s.interp != 0 {
		all = append(all, s.interp)
	}
	for pid := range s.spared {
		all = append(all, pid)
	}
	return all
}

// begin says that a step begins: what runs now is of earlier ones.
func (s *sweeper) begin() {
	s.earlier = nil
	if len(s.last) > 0 {
		s.earlier = procs{}
		for _, p := range s.last {
			s.earlier[p.PID] = p.Started
		}
	}
}

// passing is how long a step waits for the end of what it left: most of that ends by itself (the last of
// a pipeline, tee behind a redirection), and its output belongs to the step.
const passing = 100 * time.Millisecond

// left lists what runs when a step has ended. It waits a moment for what the step itself has left.
func (s *sweeper) left() []Process {
	s.last = s.running()
	var fresh []unix.PollFd
	for _, p := range s.last {
		if s.earlier.has(p.PID, procInfo{started: p.Started}) {
			continue
		}
		if fd, err := unix.PidfdOpen(p.PID, 0); err == nil {
			defer unix.Close(fd)
			fresh = append(fresh, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	if len(fresh) > 0 {
		await(fresh, passing)
		s.last = s.running()
	}
	return s.last
}

// running lists the processes that the session's interpreter has started and that run.
func (s *sweeper) running() []Process {
	roots := s.roots()
	if len(roots) == 0 {
		return nil
	}
	var all []Process
	tops := map[int]bool{}
	for _, pid := range roots {
		tops[pid] = true
	}
	walkTree(roots, nil, func(pid int, info procInfo) {
		p := Process{PID: pid, Parent: info.parent, Program: programOf(pid, info), Started: info.started}
		if tops[pid] {
			p.Parent = 0
		}
		s.mine[pid] = info.started
		all = append(all, p)
	})
	return all
}

// sweep ends everything that the session's interpreter left running and returns how many
// processes that were. It asks them to end, and kills what is still there after grace.
func (s *sweeper) sweep(grace time.Duration) int {
	clear(s.strange)
	n := s.end(nil, grace)
	s.last, s.earlier = nil, nil
	return n
}

// sweepStep is sweep for what the last step started: what earlier ones left goes on.
func (s *sweeper) sweepStep(grace time.Duration) int { return s.end(s.earlier, grace) }

func (s *sweeper) end(but procs, grace time.Duration) int {
	ended := map[int]bool{}
	for round := 0; round < 1000; round++ {
		all := tree(s.roots(), but)
		if len(all) == 0 {
			break
		}
		sig, patience := unix.SIGKILL, time.Second
		if round == 0 {
			sig, patience = unix.SIGTERM, grace
		}
		for _, pid := range all {
			if info, ok := statOf(pid); ok {
				s.mine[pid] = info.started
			}
			ended[pid] = true
		}
		end(all, sig, patience)
	}
	return len(ended)
}

// signalStep sends sig to the interpreter's group, and to its descendants that left it where all is true. What earlier
// steps left does not get it.
func (s *sweeper) signalStep(sig syscall.Signal, all bool) {
	if len(s.earlier) == 0 {
		if all {
			s.signalAll(sig)
		} else if s.group != 0 {
			syscall.Kill(-s.group, sig)
		}
		return
	}
	group := s.group
	walkTree(append([]int{s.group, s.interp}, s.roots()...), s.earlier, func(pid int, info procInfo) {
		if all || info.group == group {
			syscall.Kill(pid, sig)
		}
	})
}

// signalChildren sends sig to the members of the interpreter's group, but not to the interpreter.
func (s *sweeper) signalChildren(sig syscall.Signal) {
	walkTree(append([]int{s.group, s.interp}, s.roots()...), s.earlier, func(pid int, info procInfo) {
		if pid != s.group && pid != s.interp && info.group == s.group {
			syscall.Kill(pid, sig)
		}
	})
}

// signalAll sends sig to the interpreter's group and to every descendant that left it.
func (s *sweeper) signalAll(sig syscall.Signal) {
	all := tree(s.roots(), nil)
	if s.group != 0 {
		syscall.Kill(-s.group, sig)
	}
	for _, pid := range all {
		if info, ok := statOf(pid); ok {
			s.mine[pid] = info.started
		}
		syscall.Kill(pid, sig)
	}
}

// roots are the running children of the interpreter, and the running children that came to
// Markmill from this session. Those of them that have ended are reaped on the way.
func (s *sweeper) roots() []int {
	var found []int
	for below := childrenOf(s.interp); len(below) > 0; below = below[1:] {
		switch info, ok := statOf(below[0]); {
		case !ok || info.over():
		case s.spared.has(below[0], info):
			below = append(below, childrenOf(below[0])...)
		default:
			found = append(found, below[0])
		}
	}
	self := os.Getpid()
	// Orphans come to the first thread of the reaper, so its list is the only one to read.
	for _, pid := range childrenOfThread(self, self) {
		if _, warden := wardens.Load(pid); warden || pid == s.interp || pid == s.group {
			continue
		}
		info, ok := statOf(pid)
		switch {
		case !ok:
		case info.over():
			// Only what came from below: a program that Markmill started itself is in its own
			// session, and leads its group or shares Markmill's.
			if s.mine.has(pid, info) || s.mark != 0 && markOf(pid) == s.mark || s.group != 0 && info.group == s.group || info.session != sessionID() {
				syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
				delete(s.mine, pid)
			}
		case s.mine.has(pid, info):
			found = append(found, pid)
		case s.strange.has(pid, info): // it is asked once: processes of other sessions may be many, and run long
		case s.knows(pid):
			found = append(found, pid)
		default:
			s.strange[pid] = info.started
		}
	}
	return found
}

// knows looks for the session's mark, or its tag, at a process. One that is in the middle of execve(2)
// has no environment to show for a moment, which on a busy machine is a long one: it is asked again.
func (s *sweeper) knows(pid int) bool {
	if s.mark != 0 {
		switch mark := markOf(pid); {
		case mark == s.mark:
			return true
		case mark.run() == s.mark.run(): // another session's
			return false
		}
	}
	for begin := time.Now(); time.Since(begin) < execPatience; time.Sleep(100 * time.Microsecond) {
		has, empty := hasTag(pid, s.tag)
		if has || !empty {
			return has
		}
		if info, ok := statOf(pid); !ok || info.over() {
			return false
		}
	}
	return false
}

// execPatience is how long a process without an environment is asked again: that of most is empty
// because they have just called execve(2), and of very few because they were given none.
const execPatience = 200 * time.Millisecond

func sessionID() int {
	sid, _ := unix.Getsid(0)
	return sid
}

// end sends sig to every process and waits until all have ended or patience is over.
func end(pids []int, sig syscall.Signal, patience time.Duration) {
	endIf(pids, sig, patience, func(int) bool { return true })
}

// endIf is end, for those that are still what they were taken for once they cannot become anything else:
// the number of a process that ends meanwhile may be another's.
func endIf(pids []int, sig syscall.Signal, patience time.Duration, still func(pid int) bool) {
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
		if !still(pid) {
			continue
		}
		if err != nil || unix.PidfdSendSignal(fd, sig, nil, 0) == unix.ENOSYS {
			syscall.Kill(pid, sig)
		}
		if sig == unix.SIGTERM {
			syscall.Kill(pid, syscall.SIGCONT) // a stopped process takes no other signal
		}
	}
	await(fds, patience)
}

// await waits until all processes have ended or patience is over, and says whether they have.
func await(fds []unix.PollFd, patience time.Duration) bool {
	deadline := time.Now().Add(patience)
	for waiting := fds; len(waiting) > 0; {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		if _, err := unix.Poll(waiting, int(left.Milliseconds())+1); err == unix.EINTR {
			continue // Go's own signal for switching goroutines; what stands in Revents is of the time before
		} else if err != nil {
			return false
		}
		var still []unix.PollFd
		for _, fd := range waiting {
			if fd.Revents == 0 {
				still = append(still, fd)
			}
		}
		waiting = still
	}
	return true
}

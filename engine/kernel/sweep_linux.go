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
	tag    []byte
	mark   Mark
	group  int // process group of the interpreter
	interp int // process of the interpreter, below which everything of the step is
	mine   map[int]bool
	// spared are processes that belong to the interpreter itself, which works through them.
	spared map[int]bool
}

func newSweeper(tag string, mark Mark) *sweeper {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return &sweeper{tag: []byte(tag), mark: mark, mine: map[int]bool{}}
}

// adopt names the interpreter: its process group and its own process (another one when a
// wrapper stays as its parent).
func (s *sweeper) adopt(group, interp int) { s.group, s.interp = group, interp }

// bereave says that the interpreter has ended: its number may be anyone's from now on.
func (s *sweeper) bereave() { s.group, s.interp = 0, 0 }

// spare takes what the interpreter has started up to now as a part of it.
func (s *sweeper) spare() {
	s.spared = map[int]bool{}
	for _, pid := range tree(childrenOf(s.interp)) {
		s.spared[pid] = true
	}
}

// sweep ends everything that the session's interpreter left running and returns how many
// processes that were. It asks them to end, and kills what is still there after grace.
func (s *sweeper) sweep(grace time.Duration) int {
	roots := s.roots()
	if len(roots) == 0 {
		return 0
	}
	ended := map[int]bool{}
	for round := 0; len(roots) > 0 && round < 1000; round++ {
		all := tree(roots)
		sig, patience := unix.SIGKILL, time.Second
		if round == 0 {
			sig, patience = unix.SIGTERM, grace
		}
		for _, pid := range all {
			ended[pid], s.mine[pid] = true, true
		}
		end(all, sig, patience)
		roots = s.roots()
	}
	return len(ended)
}

// signalAll sends sig to the interpreter's group and to every descendant that left it.
func (s *sweeper) signalAll(sig syscall.Signal) {
	all := tree(s.roots())
	if s.group != 0 {
		syscall.Kill(-s.group, sig)
	}
	for _, pid := range all {
		s.mine[pid] = true
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
		case s.spared[below[0]]:
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
			if s.mine[pid] || s.mark != 0 && markOf(pid) == s.mark || s.group != 0 && info.group == s.group || info.session != sessionID() {
				syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
				delete(s.mine, pid)
			}
		case s.mine[pid] || s.knows(pid):
			found = append(found, pid)
		}
	}
	return found
}

// knows looks for the session's mark, or its tag, at a process. One that is in the middle of execve(2)
// has no environment to show for a moment, which on a busy machine is a long one: it is asked again.
func (s *sweeper) knows(pid int) bool {
	if s.mark != 0 && markOf(pid) == s.mark {
		return true
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

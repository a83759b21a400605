package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Warden is a small process that ends the processes of runs if Markmill is killed and cannot.
//
// The warden holds one end of a socket and Markmill the other. It is told the marks of the runs that are alive: the
// first ones as an argument, later ones through the socket, which keeps what was written even if Markmill is killed at
// once. When Markmill is gone, however it went, the system closes its end, and the warden looks through all processes
// for those with one of the marks, in their limits or in their environment, until there are none. It is in a session of
// its own, so that neither a terminal's signals nor one to Markmill's group reach it. From Landlock 6 on no step can
// signal it.
type Warden struct {
	program, name string

	mu     sync.Mutex // guards the fields below
	marks  []Mark
	closed bool
	proc   *os.Process // nil: it has not been started
	line   *os.File
	ended  chan struct{}
	hello  *atomic.Bool // it has said that it is a warden
}

// wardenVariable is set in a warden's environment. Without it, a program that does not know WardenName and runs
// notebooks instead would start itself endlessly.
const wardenVariable = "MARKMILL_WARDEN"

// wardens are the wardens that this process started, which no Family may take for a step's.
var wardens sync.Map

// patience is how long a warden may take to read a mark. One that does not was stopped by a step, and is replaced.
// Tests wait less.
var patience = 5 * time.Second

// NewWarden returns a warden, which the first Guard starts. program must call WardenMain when it is started as
// WardenName. name is shown in lists of processes.
func NewWarden(program, name string) *Warden { return &Warden{program: program, name: name} }

// Guard makes the warden end the run with this mark, too. It starts the warden if that does not run.
func (w *Warden) Guard(mark Mark) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, mark)
	return w.tell('+', mark)
}

// Release takes a mark back: the run has ended, and so have its processes.
func (w *Warden) Release(mark Mark) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = slices.DeleteFunc(w.marks, func(m Mark) bool { return m == mark })
	return w.tell('-', mark)
}

// tell sends the warden a mark. One that cannot be told is replaced by one that knows all marks; w.mu is held.
func (w *Warden) tell(sign byte, mark Mark) error {
	switch {
	case w.closed:
		return nil
	case w.proc == nil:
		return w.start()
	}
	_ = w.line.SetWriteDeadline(time.Now().Add(patience)) // an error of it is one of the next call
	if _, err := w.line.Write(append([]byte{sign}, mark.word()...)); err == nil {
		return nil
	}
	w.proc.Kill()
	<-w.ended
	return w.replace()
}

// start starts the program; w.mu is held.
func (w *Warden) start() error {
	if os.Getenv(wardenVariable) != "" {
		return errors.New("this program was started as a run's warden, but runs a notebook: it must call WardenMain")
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the line to the run's warden: %w", err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "warden")
	defer theirs.Close()
	// Waiting on our end must not block a thread.
	if err := unix.SetNonblock(ends[0], true); err != nil {
		return err
	}
	line := os.NewFile(uintptr(ends[0]), "warden")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		line.Close()
		return err
	}
	defer null.Close()
	words := make([]string, 0, len(w.marks))
	for _, mark := range w.marks {
		words = append(words, mark.word())
	}
	env := []string{wardenVariable + "=1", "GOMAXPROCS=1"}
	if outer := os.Getenv(sessionVariable); outer != "" {
		env = append(env, sessionVariable+"="+outer) // so that the enclosing run also finds this warden
	}
	proc, err := os.StartProcess(w.program, []string{WardenName, w.name, strings.Join(words, ",")}, &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{theirs, null, null}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		line.Close()
		return fmt.Errorf("starting the run's warden, %s: %w", w.program, err)
	}
	wardens.Store(proc.Pid, true)
	ended := make(chan struct{})
	hello := new(atomic.Bool)
	w.proc, w.line, w.ended, w.hello = proc, line, ended, hello
	go func() {
		var word [1]byte
		n, _ := line.Read(word[:])
		hello.Store(n == 1)
		state, err := proc.Wait()
		killed := err == nil && state.Sys().(syscall.WaitStatus).Signaled()
		if killed {
			hello.Store(true) // something killed it, perhaps before it could say so
		}
		wardens.Delete(proc.Pid)
		close(ended)
		if killed {
			// at once, because the step that killed it may still run; an error is reported before the next step
			w.Stand()
		}
	}()
	return nil
}

// Stand makes sure that the warden still runs: it replaces one that was killed.
func (w *Warden) Stand() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.proc == nil {
		return nil
	}
	select {
	case <-w.ended:
		return w.replace()
	default:
		return nil
	}
}

// replace starts another warden for one that has ended; w.mu is held.
func (w *Warden) replace() error {
	w.line.Close()
	if !w.hello.Load() {
		return fmt.Errorf("%s did not become the run's warden", w.program)
	}
	return w.start()
}

// Close ends the warden.
func (w *Warden) Close() {
	w.mu.Lock()
	w.closed = true
	proc, ended, line := w.proc, w.ended, w.line
	w.mu.Unlock()
	if proc == nil {
		return
	}
	proc.Kill()
	<-ended
	line.Close()
}

// WardenMain is the warden's main function: it waits until the other end of its standard input is closed, and then
// ends every process with one of the marks.
func WardenMain(args []string) int {
	if len(args) != 2 {
		return 2
	}
	var marks []Mark
	for word := range strings.SplitSeq(args[1], ",") {
		if mark := markOfWord(word); mark != 0 {
			marks = append(marks, mark)
		} else if word != "" {
			return 2
		}
	}
	dropInherited()
	// Open these now, because later no descriptor may be free: /proc, and what the first timer makes Go's scheduler
	// open.
	look := openProcesses()
	time.Sleep(time.Nanosecond)
	for _, err := unix.Write(0, []byte{'.'}); err == unix.EINTR; {
		_, err = unix.Write(0, []byte{'.'})
	}
	const size = 1 + 16 // of what Warden.tell writes
	var told []byte
	for buf := make([]byte, 64*size); ; {
		n, err := unix.Read(0, buf)
		if n == 0 || err != nil && err != unix.EINTR {
			break
		}
		for told = append(told, buf[:max(n, 0)]...); len(told) >= size; told = told[size:] {
			mark := markOfWord(string(told[1:size]))
			marks = slices.DeleteFunc(marks, func(m Mark) bool { return m == mark })
			if told[0] == '+' && mark != 0 {
				marks = append(marks, mark)
			}
		}
	}
	for _, mark := range marks {
		mark.endAll(look, time.Minute)
	}
	return 0
}

// dropInherited closes the descriptors that Markmill inherited: a pipe left open here would keep its reader waiting.
func dropInherited() {
	for _, fd := range descriptors() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 { // the rest are Go's own
			unix.Close(fd)
		}
	}
}

// endAll kills every process of the run until it finds none. It gives up after patience: a process blocked on a disk
// cannot be killed.
func (m Mark) endAll(look processes, patience time.Duration) {
	// One scan can miss a process in the middle of execve(2), or one started behind the scan's position by a process
	// that had ended when the scan reached it.
	const clean = 3
	deadline, word := time.Now().Add(patience), []byte(m.word())
	for looks := 0; looks < clean && time.Now().Before(deadline); looks++ {
		if found := m.found(look); len(found) > 0 {
			end(found, unix.SIGKILL, time.Second, func(pid int) bool { return m.owns(pid, word) })
			looks = -1
		}
		time.Sleep(time.Millisecond)
	}
}

// found lists the processes of the run that one scan sees.
func (m Mark) found(look processes) []int {
	var found []int
	word := []byte(m.word())
	for _, pid := range look.list() {
		if pid != os.Getpid() && m.owns(pid, word) {
			found = append(found, pid)
		}
	}
	return found
}

// processes is the open folder /proc. It stays open because a process that may no longer open anything (RLIMIT_NOFILE
// 0) can still read what is open.
type processes struct{ fd int }

func openProcesses() processes {
	fd, err := openAt(unix.AT_FDCWD, "/proc", unix.O_DIRECTORY)
	if err != nil {
		fd = -1
	}
	return processes{fd}
}

func (p processes) list() []int {
	unix.Seek(p.fd, 0, 0)
	return slices.Collect(numbersIn(p.fd))
}

// owns reports whether a process runs and belongs to the run.
func (m Mark) owns(pid int, word []byte) bool {
	if ended(pid) {
		return false
	}
	if markOf(pid).run() == m.run() {
		return true
	}
	has, _ := hasTag(pid, word)
	return has
}

// ended reports whether a process has ended. It needs no free descriptor: an ended process has no program.
func ended(pid int) bool {
	if info, ok := statOf(pid); ok {
		return info.over()
	}
	_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return errors.Is(err, unix.ENOENT)
}

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Place is a mount namespace of a run's own: what is mounted in it, the run's processes see, and nobody else.
//
// Its first process makes the mounts and starts the others on request, because no program with several threads, such as
// Markmill, can join the user namespace that a place needs where the user is not root. What it starts are children of
// Markmill all the same (CLONE_PARENT), so that a Family finds and ends them as any others. When Markmill is gone,
// however it went, the system closes its end of the socket between them. Then the first process is the run's warden: it
// ends every process with the run's mark, and itself, and with the last process the system removes the namespace and
// its mounts. If a step ended it, a warden takes its place at once.
type Place struct {
	proc   *os.Process
	warden *Warden       // for when proc has ended before it was to
	guard  error         // of warden
	ended  chan struct{} // closed when proc has ended, and warden is there

	mu   sync.Mutex
	line int // -1: closed
	made bool
}

// placeFlag comes before the name. A program that does not know PlaceName refuses it, instead of taking the name for
// something to do.
const placeFlag = "--place"

// slow is how long the first process of a place may take for a request. Mounting takes milliseconds, and so does the
// start of a program.
const slow = 30 * time.Second

// NewPlace makes a place, in which nothing is mounted yet. program must call PlaceMain when it is started as PlaceName.
// mark is the run's, and name is shown in lists of processes.
func NewPlace(program, name string, mark Mark) (*Place, error) {
	if os.Getenv(wardenVariable) != "" {
		return nil, errors.New("this program was started as a run's place, but runs a notebook: it must call PlaceMain")
	}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	p, err := newPlace(program, name, mark, os.Geteuid() != 0)
	if os.Geteuid() == 0 && errors.Is(err, unix.EPERM) { // a root that may not mount, as in a container
		p, err = newPlace(program, name, mark, true)
	}
	return p, err
}

func newPlace(program, name string, mark Mark, userNamespace bool) (*Place, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(ends[1]), "place")
	defer theirs.Close()
	limit := unix.NsecToTimeval(int64(slow))
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(ends[0], unix.SOL_SOCKET, option, &limit); err != nil {
			unix.Close(ends[0])
			return nil, err
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		unix.Close(ends[0])
		return nil, err
	}
	defer null.Close()
	tag := mark.word() // by which the warden finds it
	if outer := os.Getenv(sessionVariable); outer != "" {
		tag = outer + "/" + tag
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNS}
	if userNamespace {
		sys.Cloneflags |= syscall.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		// DAC_OVERRIDE: the folder in which an overlay prepares its files has no rights.
		sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE}
	}
	p := &Place{line: ends[0], ended: make(chan struct{}), warden: NewWarden(program, name)}
	started := make(chan error)
	// The children that the first process starts are those of the thread that started it.
	go onThread(func() {
		var err error
		p.proc, err = os.StartProcess(program, []string{PlaceName, placeFlag, name, mark.word()}, &os.ProcAttr{Dir: "/",
			Env:   []string{wardenVariable + "=1", "GOMAXPROCS=2", sessionVariable + "=" + tag},
			Files: []*os.File{theirs, null, null}, Sys: sys})
		if err == nil {
			wardens.Store(p.proc.Pid, true)
		}
		started <- err
		if err == nil {
			p.proc.Wait()
			wardens.Delete(p.proc.Pid)
			if p.stands() {
				p.guard = p.warden.Guard(mark)
			}
			close(p.ended)
		}
	}, false)
	if err := <-started; err != nil {
		unix.Close(ends[0])
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno // without the program's path
		}
		return nil, fmt.Errorf("no mount namespace can be made: %w", err)
	}
	theirs.Close() // so that the end of the process is the end of what it says
	p.mu.Lock()
	_, err = p.answer()
	p.made = err == nil
	p.mu.Unlock()
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("no mount namespace can be made: %w", err)
	}
	return p, nil
}

// Mount makes mounts, in their order. What was made stays if one of them fails. refused says why an optional one could
// not be made at its path.
func (p *Place) Mount(list []Mount) (refused map[string]string, err error) {
	words := []string{"mount"}
	for _, m := range list {
		words = append(words, m.words()...)
	}
	answer, err := p.ask(words, nil)
	refused = map[string]string{}
	for line := range strings.Lines(answer) {
		at, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if at, err := strconv.Unquote(at); err == nil {
			refused[at] = why
		}
	}
	return refused, err
}

// Outside is a path of the place as the rest of the system reaches it while the place lives. That of no place is the
// path itself.
func (p *Place) Outside(path string) string {
	if p == nil {
		return path
	}
	return "/proc/" + strconv.Itoa(p.proc.Pid) + "/root" + path
}

// Stand reports whether the place still takes requests. A step that nothing confines may have ended it.
func (p *Place) Stand() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		return errPlaceGone
	default:
		return nil
	}
}

var errPlaceGone = errors.New("the first process of the run's mount namespace has ended")

// Guarded returns an error if nothing would end the processes of the run if Markmill were killed.
func (p *Place) Guarded() error {
	if p.Stand() == nil {
		return nil
	}
	return errors.Join(p.guard, p.warden.Stand())
}

// stands reports whether the place was made and is not to end yet.
func (p *Place) stands() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made && p.line >= 0
}

// Leave lets the place end, whose other processes have ended.
func (p *Place) Leave() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line >= 0 {
		_ = send(p.line, []string{"leave"}, nil) // one that has ended hears nothing
		unix.Close(p.line)
		p.line = -1
	}
}

// Close waits for the end of the place.
func (p *Place) Close() {
	if p == nil {
		return
	}
	p.Leave()
	select {
	case <-p.ended:
	case <-time.After(slow):
		p.proc.Kill()
		<-p.ended
	}
	p.warden.Close()
}

// launch starts a program in the place.
func (p *Place) launch(program string, argv, env []string, dir string, files []*os.File, order string) (*Child, error) {
	words := []string{"start", program, dir, order, strconv.Itoa(len(argv))}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	answer, err := p.ask(append(append(words, argv...), env...), fds)
	if _, bare := err.(syscall.Errno); bare {
		err = &os.PathError{Op: "fork/exec", Path: program, Err: err}
	}
	if err != nil {
		return nil, err
	}
	pid, _ := strconv.Atoi(answer)
	proc, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	c := &Child{PID: pid, Ended: make(chan struct{})}
	go func() {
		if state, err := proc.Wait(); err == nil {
			c.state = state.Sys().(syscall.WaitStatus)
		}
		close(c.Ended)
	}()
	return c, nil
}

func (p *Place) ask(words []string, fds []int) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line < 0 {
		return "", os.ErrClosed
	}
	if err := send(p.line, words, fds); err != nil {
		return "", fmt.Errorf("%w: %w", errPlaceGone, err)
	}
	return p.answer()
}

// answer reads an answer: the number of a system call's error, what it was about, and what was asked for.
func (p *Place) answer() (string, error) {
	words, _, err := receive(p.line)
	if err == nil && len(words) != 3 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("the first process of the run's mount namespace does not answer: %w", err)
	}
	errno, _ := strconv.Atoi(words[0])
	switch {
	case errno == 0 && words[1] == "":
		return words[2], nil
	case errno == 0:
		return "", errors.New(words[1])
	case words[1] == "":
		return "", syscall.Errno(errno)
	}
	return "", fmt.Errorf("%s: %w", words[1], syscall.Errno(errno))
}

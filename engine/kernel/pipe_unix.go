//go:build unix

package kernel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	pipeSize   = 1 << 20   // what a pipe holds, where the system lets it grow
	bufferSize = 256 << 10 // what is read from a stream at once
)

// pipe is a named pipe in the session's private directory. A name instead of a bare descriptor
// means that an interpreter can open it again after the author's code closed or redirected its
// own, and that the author's children inherit nothing of the engine's. The engine holds it open in
// both directions: it never sees an end of file, and opening the other end never blocks.
type pipe struct {
	path string
	f    *os.File
	raw  syscall.RawConn

	// Of a stream of output.
	mu     sync.Mutex
	buf    []byte
	to     io.Writer // gets what is read; nil while no step runs
	failed error     // of to, or of reading
}

func newPipe(dir, name string) (*pipe, error) {
	path := filepath.Join(dir, name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("making the pipe %s: %w", path, err)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the pipe %s: %w", path, err)
	}
	p := &pipe{path: path, f: os.NewFile(uintptr(fd), path)}
	if p.raw, err = p.f.SyscallConn(); err != nil {
		p.f.Close()
		return nil, err
	}
	return p, nil
}

// newStream is a pipe for a stream of output: large, with a buffer to read it by and a goroutine that does. That one
// lives as long as the pipe: most steps print little, and starting and stopping it for each would cost more than that.
func newStream(dir, name string) (*pipe, error) {
	p, err := newPipe(dir, name)
	if err != nil {
		return nil, err
	}
	p.buf = make([]byte, bufferSize)
	growPipe(p.raw)
	// Read calls again when something has come, until the pipe is closed.
	go p.raw.Read(func(fd uintptr) (done bool) {
		for p.hand(fd) > 0 {
		}
		return false
	})
	return p, nil
}

// writer opens the end that an interpreter is started with.
func (p *pipe) writer() (*os.File, error) {
	fd, err := unix.Open(p.path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the pipe %s: %w", p.path, err)
	}
	return os.NewFile(uintptr(fd), p.path), nil
}

// hand reads once and hands on what it got, which it counts. A writer that fails does not stall the step: the stream is
// read on.
func (p *pipe) hand(fd uintptr) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil {
		return 0
	}
	n, err := syscall.Read(int(fd), p.buf)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), p.buf)
	}
	if err != nil && err != syscall.EAGAIN && p.failed == nil {
		p.failed = err
	}
	if n > 0 && p.failed == nil {
		_, p.failed = p.to.Write(p.buf[:n])
	}
	return max(n, 0)
}

// drain hands on what is in the pipe now, which is no more than it holds, so that a thread that keeps writing cannot
// keep a step from its end. It says whether there was more.
func (p *pipe) drain() (more bool, err error) {
	err = p.raw.Control(func(fd uintptr) {
		for left := pipeSize; left > 0; {
			n := p.hand(fd)
			if n == 0 {
				return
			}
			left -= n
		}
		more = true
	})
	return more, err
}

// begin hands the stream on to w, and first what came since the last step.
func (p *pipe) begin(w io.Writer) error {
	p.mu.Lock()
	p.to, p.failed = w, nil
	p.mu.Unlock()
	more, err := p.drain()
	if more { // it need not be told of again: the pipe was never empty
		go func() {
			for more, err := p.drain(); more && err == nil; {
				more, err = p.drain()
			}
		}()
	}
	return err
}

// end hands on the last of a step's, and gives the first error.
func (p *pipe) end() error {
	_, err := p.drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = nil
	return cmp.Or(p.failed, err)
}

func (p *pipe) close() { p.f.Close() }

// pumpBoth hands both streams on until the returned function is called.
func pumpBoth(out, err *pipe, stdout, stderr io.Writer) (finish func() error) {
	begun := errors.Join(out.begin(stdout), err.begin(stderr))
	return func() error { return errors.Join(begun, out.end(), err.end()) }
}

// tail keeps the last bytes that an interpreter printed while it failed to start.
type tail struct{ b bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.b.Write(p)
	if n := t.b.Len() - most; n > 0 {
		t.b.Next(n)
	}
	return len(p), nil
}

func (t *tail) text() string { return t.b.String() }

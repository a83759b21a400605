//go:build unix

package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

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
	buf  []byte
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

// newStream is a pipe for a stream of output: large, with a buffer to read it by.
func newStream(dir, name string) (*pipe, error) {
	p, err := newPipe(dir, name)
	if err != nil {
		return nil, err
	}
	p.buf = make([]byte, bufferSize)
	growPipe(p.raw)
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

// pump copies the stream to w until stop is called, and then what the pipe still holds. A writer
// that fails does not stall the step: the stream is read on and the first error returned.
func (p *pipe) pump(w io.Writer) (failed error) {
	hand := func(b []byte) {
		if failed == nil {
			_, failed = w.Write(b)
		}
	}
	for {
		n, err := p.f.Read(p.buf)
		if n > 0 {
			hand(p.buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return errors.Join(failed, err)
		}
	}
	// What was written before the step ended is in the pipe now and is no more than it holds, so
	// a thread that keeps writing cannot keep the step from ending.
	var readErr error
	err := p.raw.Control(func(fd uintptr) {
		for left := pipeSize; left > 0; {
			n, err := syscall.Read(int(fd), p.buf[:min(left, len(p.buf))])
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 {
				if err != syscall.EAGAIN {
					readErr = err
				}
				return
			}
			hand(p.buf[:n])
			left -= n
		}
	})
	return errors.Join(failed, readErr, err)
}

// stop makes a running or coming pump end; ready undoes it.
func (p *pipe) stop()  { p.f.SetReadDeadline(time.Unix(1, 0)) }
func (p *pipe) ready() { p.f.SetReadDeadline(time.Time{}) }
func (p *pipe) close() { p.f.Close() }

// pumpBoth hands both streams on until the returned function is called.
func pumpBoth(out, err *pipe, stdout, stderr io.Writer) (finish func() error) {
	out.ready()
	err.ready()
	done := make(chan error, 2)
	go func() { done <- out.pump(stdout) }()
	go func() { done <- err.pump(stderr) }()
	return func() error {
		out.stop()
		err.stop()
		return errors.Join(<-done, <-done)
	}
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

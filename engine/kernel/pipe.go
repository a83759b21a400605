package kernel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"markmill/notebooks/codec"
	"markmill/runs"
)

const (
	pipeSize   = 1 << 20   // capacity of a pipe, if the system lets it grow
	bufferSize = 256 << 10 // what is read from a stream at once
)

// pipe is a named pipe in the session's private folder. Unlike a bare descriptor, an interpreter can open it again
// after the author's code closed or redirected its own, and the author's children inherit nothing of the engine's. The
// engine holds it open in both directions: it never sees an end of file, and opening the other end never blocks.
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
	p := &pipe{path: filepath.Join(dir, name)}
	var err error
	if p.f, err = makeFIFO(p.path); err != nil {
		return nil, fmt.Errorf("making the pipe %s: %w", p.path, err)
	}
	if p.raw, err = p.f.SyscallConn(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// newStream makes a pipe for a stream of output: large, with a buffer and a goroutine that reads it. The goroutine
// lives as long as the pipe: most steps print little, and starting and stopping it for each would cost more than that.
func newStream(dir, name string) (*pipe, error) {
	p, err := newPipe(dir, name)
	if err != nil {
		return nil, err
	}
	p.buf = make([]byte, bufferSize)
	growFIFO(p.raw)
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
	f, err := openFIFO(p.path)
	if err != nil {
		return nil, fmt.Errorf("opening the pipe %s: %w", p.path, err)
	}
	return f, nil
}

// hand reads once, forwards the bytes and returns their number. A failing writer does not stall the step: reading
// continues.
func (p *pipe) hand(fd uintptr) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil {
		return 0
	}
	n, err := readFIFO(fd, p.buf)
	if err != nil && err != syscall.EAGAIN && p.failed == nil {
		p.failed = err
	}
	if n > 0 && p.failed == nil {
		_, p.failed = p.to.Write(p.buf[:n])
	}
	return max(n, 0)
}

// drain forwards the pipe's current contents. It reads no more than a pipe holds, so that a thread that keeps writing
// cannot keep a step from ending, and reports whether there was more.
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

// begin starts forwarding the stream to w, beginning with the bytes since the last step.
func (p *pipe) begin(w io.Writer) error {
	p.mu.Lock()
	p.to, p.failed = w, nil
	p.mu.Unlock()
	more, err := p.drain()
	if more { // the pipe was never empty, so the reading goroutine may not be woken
		go func() {
			for more, err := p.drain(); more && err == nil; {
				more, err = p.drain()
			}
		}()
	}
	return err
}

// end forwards the rest of a step's output and returns the first error.
func (p *pipe) end() error {
	_, err := p.drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = nil
	return cmp.Or(p.failed, err)
}

func (p *pipe) close() {
	if p != nil {
		p.f.Close()
		os.Remove(p.path)
	}
}

// pumpBoth forwards both streams until the returned function is called.
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

// reportedOutput is a line of the file of outputs: a result, how many bytes of standard output the interpreter had
// printed before it, and how many are the result's own. Output of programs that the interpreter starts is not counted;
// it is placed late.
type reportedOutput struct {
	At      int64           `json:"at"`
	Printed int64           `json:"printed"`
	Output  runs.OutputData `json:"output"`
}

// readOutputs puts results and streams in their order. The order of the two streams is not known: stderr comes last,
// as it mostly does.
func (d *script) readOutputs(reported bool, failed *ExecError, stdout, stderr int64) ([]runs.OutputData, error) {
	list := []runs.OutputData{}
	at := int64(0)
	put := func(kind, name string, n int64) {
		if n > 0 {
			list = append(list, runs.OutputData{Type: kind, Name: name, Bytes: n})
		}
	}
	if reported {
		raw, err := os.ReadFile(d.s.path(fileOuts))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		os.Remove(d.s.path(fileOuts))
		for line := range bytes.Lines(raw) {
			var o reportedOutput
			if err := codec.UnmarshalForeign(line, &o); err != nil {
				return nil, err
			}
			begin := min(max(o.At, at), stdout)
			put(runs.OutputStream, "stdout", begin-at)
			list = append(list, o.Output)
			end := min(begin+max(o.Printed, 0), stdout)
			put(runs.OutputCleared, "stdout", end-begin)
			at = end
		}
	}
	put(runs.OutputStream, "stdout", stdout-at)
	if failed == nil {
		put(runs.OutputStream, "stderr", stderr)
		return list, nil
	}
	text := int64(len(failed.Traceback)) // printed last, unless the author's hook printed something else
	if text > stderr {
		text = 0
	}
	put(runs.OutputStream, "stderr", stderr-text)
	list = append(list, runs.OutputData{Type: runs.OutputError, Ename: failed.Name, Evalue: failed.Value,
		Traceback: jupyterTraceback(failed.Traceback)})
	put(runs.OutputCleared, "stderr", text)
	return list, nil
}

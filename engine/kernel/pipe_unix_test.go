//go:build unix

package kernel

import (
	"bytes"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// tally counts the bytes written to it and signals when there are enough.
type tally struct {
	most   int64
	n      atomic.Int64
	enough chan struct{}
}

func (c *tally) Write(p []byte) (int, error) {
	if n := c.n.Add(int64(len(p))); n >= c.most && n-int64(len(p)) < c.most {
		close(c.enough)
	}
	return len(p), nil
}

func stream(t *testing.T) (*pipe, *os.File) {
	t.Helper()
	p, err := newStream(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	w, err := p.writer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return p, w
}

// A process writes all the time, even between steps: each step begins, gets some of the output, and ends.
func TestAStreamThatNeverPauses(t *testing.T) {
	p, w := stream(t)
	go func() {
		for block := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}()
	for range 5 {
		got := &tally{most: 8 * pipeSize, enough: make(chan struct{})}
		if err := p.begin(got); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got.enough:
		case <-time.After(time.Minute):
			t.Fatalf("the stream stopped after %d bytes", got.n.Load())
		}
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		n := got.n.Load()
		time.Sleep(time.Millisecond)
		if later := got.n.Load(); later != n {
			t.Errorf("%d bytes came after the end", later-n)
		}
	}
}

// A stream that is never empty, because everything read from it is written back: a step still begins and ends.
func TestAStreamThatIsNeverEmpty(t *testing.T) {
	p, w := stream(t)
	if _, err := w.Write(make([]byte, 4<<10)); err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	go func() { over <- errors.Join(p.begin(w), p.end()) }()
	select {
	case err := <-over:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the step does not end")
	}
}

func TestAStreamIsReadOnWhenItsWriterFails(t *testing.T) {
	p, w := stream(t)
	broken := errors.New("broken")
	if err := p.begin(failing{broken}); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(make([]byte, 4*pipeSize)); err != nil || n != 4*pipeSize {
		t.Fatalf("%d %v", n, err)
	}
	if err := p.end(); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	var got bytes.Buffer
	if err := errors.Join(p.begin(&got), p.end()); err != nil || got.Len() > 0 {
		t.Errorf("the next step got %d bytes, %v", got.Len(), err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWhatComesBetweenStepsIsTheNextOnes(t *testing.T) {
	p, w := stream(t)
	for _, text := range []string{"one", "two", ""} {
		w.WriteString(text)
		var got bytes.Buffer
		if err := errors.Join(p.begin(&got), p.end()); err != nil || got.String() != text {
			t.Errorf("%q %v; want %q", got.String(), err, text)
		}
	}
}

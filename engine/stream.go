package engine

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"markmill/engine/mask"
	"markmill/notebooks"
	"markmill/notebooks/keys"
	"markmill/runs"
)

// tailSize is how much of a stream's end is kept in memory, to read a test runner's counts from.
const tailSize = 16 << 10

// liveOutput is who follows a stream: what is written, and the line that is not complete.
type liveOutput struct {
	output, unfinished func(step notebooks.StepID, stream string, text []byte)
}

// streamNames are the streams of a step in their order.
var streamNames = []string{"stdout", "stderr"}

// liveAfter is how long a line is held before a live view is shown what is safe of it.
const liveAfter = 200 * time.Millisecond

// stream writes what a step prints to its file as it comes, and computes the digest. The file is made at the first
// byte: a silent step leaves none.
type stream struct {
	dir, name string // the step's folder in the run directory, "stdout" or "stderr"
	rel       string // the file, relative to the run directory
	step      notebooks.StepID
	live      liveOutput
	mask      *mask.Stream
	keys      *keys.Stream // after mask

	mu    sync.Mutex  // with the timer
	timer *time.Timer // shows an unfinished line

	file *os.File
	sum  *runs.Hasher
	size int64
	tail []byte
	err  error
}

// Write never returns an error to the kernel: on a full disk the step must still end in order. finish returns the
// error.
func (s *stream) Write(b []byte) (int, error) {
	n := len(b)
	if s.mask == nil {
		s.put(s.keys.Next(b))
		return n, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(s.keys.Next(s.mask.Next(b)))
	if s.live.unfinished != nil && s.timer == nil {
		s.timer = time.AfterFunc(liveAfter, s.showUnfinished)
	}
	return n, nil
}

// showUnfinished shows what the mask holds and no value may contain. It is not written.
func (s *stream) showUnfinished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer = nil
		s.live.unfinished(s.step, s.name, s.keys.Peek(s.mask.Unfinished()))
	}
}

func (s *stream) put(b []byte) {
	if len(b) == 0 || s.err != nil {
		return
	}
	if s.file == nil {
		if s.file, s.err = runs.Create(filepath.Join(s.dir, s.name)); s.err != nil {
			return
		}
		s.sum = runs.NewHasher()
	}
	var n int
	n, s.err = s.file.Write(b)
	b = b[:n] // on a full disk a part of it is there, and is recorded
	_, _ = s.sum.Write(b)
	s.size += int64(len(b))
	s.keepTail(b)
	if s.live.output != nil {
		s.live.output(s.step, s.name, b)
	}
}

func (s *stream) keepTail(b []byte) {
	if len(b) >= tailSize {
		s.tail = append(s.tail[:0], b[len(b)-tailSize:]...)
		return
	}
	if over := len(s.tail) + len(b) - tailSize; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	s.tail = append(s.tail, b...)
}

// at is the offset in the file of byte n of what was printed. They differ because a masked value has another length.
func (s *stream) at(n int64) (at int64, known bool) {
	known = true
	if s.mask != nil {
		n, known = s.mask.At(n)
	}
	return s.keys.At(n), known
}

// finish closes the file and describes it.
func (s *stream) finish() (runs.StreamData, error) {
	if s.mask != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.timer != nil {
			s.timer.Stop()
			s.timer = nil
		}
		s.put(s.keys.Next(s.mask.Rest()))
	}
	s.put(s.keys.Rest())
	if s.file == nil {
		return runs.StreamData{}, s.err
	}
	if err := s.file.Close(); s.err == nil {
		s.err = err
	}
	return runs.StreamData{File: s.rel, Bytes: s.size, Digest: s.sum.Digest()}, s.err
}

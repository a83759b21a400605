package engine

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/mask"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/keys"
	"markmill/runs"
	"markmill/runs/scrapbook"
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

// jupyter reports whether the notebook is a Jupyter notebook.
func (p *Plan) jupyter() bool { return p.notebook.Form == ipynb.Form }

// ordered reports whether an output notebook is a Jupyter notebook, which keeps the order and all forms of results.
func (p *Plan) ordered() bool { return p.jupyter() || p.request.OutputForm == ipynb.Form }

// writeOutputs records the results of a step in their order, besides its streams.
func (r *run) writeOutputs(step notebooks.StepID, dir string, out kernel.Outcome, streams [2]*stream,
	done *runs.StepFinishedData) error {
	if !r.plan.ordered() {
		return nil
	}
	list := masked(out.Outputs, streams)
	if list == nil {
		list = unorderedOutputs(out, done)
	}
	if len(list) == 0 {
		return nil
	}
	kept := map[string]string{} // a name that showed a secret was replaced
	for i, d := range out.Displays {
		kept[d.File] = path.Base(done.Displays[i].File)
	}
	var b bytes.Buffer
	for _, o := range list {
		if o.File != "" {
			o.File = kept[o.File]
		}
		o, err := r.withoutHidden(o)
		if err != nil {
			return err
		}
		if o.Type == runs.OutputDisplay && o.File == "" && len(o.Data) == 0 {
			continue
		}
		line, err := r.rec.clean(o)
		if err != nil {
			return err
		}
		b.WriteString(r.rec.hide(step, "result", string(line)))
		b.WriteByte('\n')
	}
	file, err := r.rec.keep(path.Join(filepath.ToSlash(dir), runs.OutputsFile), b.Bytes())
	if err != nil {
		return err
	}
	done.Outputs = runs.StreamData{File: file.File, Bytes: int64(b.Len()), Digest: file.Digest}
	return nil
}

// withoutHidden removes packed tables from an output if they show a secret once unpacked. The scrap is masked and
// appears in the output notebook like one that was glued.
func (r *run) withoutHidden(o runs.OutputData) (runs.OutputData, error) {
	if r.plan.mask == nil || !scrapbook.Holds(o.Data, o.Metadata) {
		return o, nil
	}
	for mime, raw := range o.Data {
		for _, s := range scrapbook.Read(map[string]codec.Raw{mime: raw}, nil) {
			if s.Type != runs.ScrapTable {
				continue
			}
			clean, err := r.plan.mask.JSON(s.Value, true)
			if err != nil {
				return o, err
			}
			if !scrapbook.Same(clean, s.Value) {
				o.Data = maps.Clone(o.Data)
				delete(o.Data, mime)
			}
		}
	}
	return o, nil
}

// masked adjusts the byte counts of the streams to their files, in which secrets are masked; nil if that is not
// possible.
func masked(list []runs.OutputData, streams [2]*stream) []runs.OutputData {
	var raw, written [2]int64
	for i := range list {
		o := &list[i]
		if o.Type != runs.OutputStream && o.Type != runs.OutputCleared {
			continue
		}
		which := slices.Index(streamNames, o.Name)
		raw[which] += o.Bytes
		at, known := streams[which].at(raw[which])
		if !known {
			return nil
		}
		o.Bytes, written[which] = at-written[which], at
	}
	return list
}

// unorderedOutputs are the outputs of a kernel that does not report their order: the whole streams, then the results.
func unorderedOutputs(out kernel.Outcome, done *runs.StepFinishedData) []runs.OutputData {
	var list []runs.OutputData
	for i, s := range []runs.StreamData{done.Stdout, done.Stderr} {
		if s.Bytes > 0 {
			list = append(list, runs.OutputData{Type: runs.OutputStream, Name: streamNames[i], Bytes: s.Bytes})
		}
	}
	for _, d := range out.Displays {
		o := runs.OutputData{Type: runs.OutputDisplay, File: d.File, MIME: d.MIME}
		if alt, err := codec.Marshal(d.Alt); err == nil && d.Alt != "" {
			o.Data = map[string]codec.Raw{"text/plain": alt}
		}
		list = append(list, o)
	}
	return list
}

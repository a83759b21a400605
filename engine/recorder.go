package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/mask"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/keys"
	"markmill/runs"
)

// recorder writes the record of a run: its journal and the files of the run directory. Everything that it writes is
// masked; a secret that cannot be masked goes into the verdict.
type recorder struct {
	eng     *Engine
	plan    *Plan
	verdict *verdict
	sinks   Sinks

	id       runs.RunID
	record   *runs.Record
	journal  *runs.Journal
	reserve  *runs.Reserve // room for the verdict on a full disk
	events   []runs.Event
	trace    *trace
	traceErr error    // why the trace could not be written
	loose    []string // folders of the record, slash-separated, whose files unnamed lists
	hurried  context.Context

	hidden hidden
}

// create makes and locks the run directory. The caller calls release when the record is closed.
func (c *recorder) create() (release func(), err error) {
	record, unlock, err := c.plan.Store(c.eng).Create(c.id)
	if err != nil {
		return nil, artifact(err)
	}
	c.record = record
	if from := c.plan.interrupted; from == nil || runs.At(from.Dir).Made() { // what is carried came from elsewhere
		if err := record.MarkBegun(); err != nil {
			unlock()
			return nil, artifact(err)
		}
	}
	return func() {
		if c.journal != nil {
			c.journal.Close()
		}
		c.reserve.Release()
		unlock()
	}, nil
}

// open copies the notebook into the run directory and begins the journal.
func (c *recorder) open() (err error) {
	source := c.plan.notebook.Source
	if c.reserve, err = runs.NewReserve(c.record.Path()); err != nil {
		return err
	}
	c.journal, err = c.record.Begin(c.plan.sourceFile(), source, c.eng.Now)
	if err == nil {
		c.journal.StepSync = c.plan.notebook.Front.Durability == "step"
	}
	return err
}

// emit appends an event to the journal and passes it to the observers. When the disk is full, the event is written
// into the reserve and emit still returns the error, which ends the run.
func (c *recorder) emit(t runs.EventType, step notebooks.StepID, data any) error {
	event, full := c.journal.Append(t, step, data)
	if full != nil {
		if !c.reserve.Release() {
			return artifact(full)
		}
		var err error
		if event, err = c.journal.Append(t, step, data); err != nil {
			return artifact(err)
		}
		full = artifact(full)
	}
	c.events = append(c.events, event)
	c.sinks.event(event)
	return full
}

// commit appends the last event, which prepare made, and syncs the journal.
func (c *recorder) commit(event runs.Event) error {
	err := c.journal.Commit(event)
	if err != nil && c.reserve.Release() {
		err = c.journal.Commit(event)
	}
	if err != nil {
		return artifact(err)
	}
	c.sinks.event(event)
	return artifact(c.journal.Sync())
}

// fold derives the run from the journal, as if next had been appended to it.
func (c *recorder) fold(next ...runs.Event) (*runs.Run, error) {
	return runs.Fold(append(slices.Clip(c.events), next...))
}

// has reports whether the journal has an event of a type.
func (c *recorder) has(t runs.EventType) bool {
	return slices.ContainsFunc(c.events, func(e runs.Event) bool { return e.Type == t })
}

// leak records in the verdict that the value of a secret would have been written.
func (c *recorder) leak(step notebooks.StepID, where string) { c.verdict.leak(step, c.conceal(where)) }

// clean is the JSON of v, masked.
func (c *recorder) clean(v any) (codec.Raw, error) {
	return c.plan.writer().JSON(v)
}

// conceal masks secrets in a text.
func (c *recorder) conceal(s string) string { return c.plan.mask.Text(s) }

// keep writes a file of the run directory and returns its name and digest.
func (c *recorder) keep(name string, data []byte) (runs.SealedFile, error) {
	file, err := c.record.Keep(name, data)
	return file, artifact(err)
}

// writeResult writes a step's result.json and sets its digest in done.
func (c *recorder) writeResult(dir string, done *runs.StepFinishedData) error {
	raw, err := c.clean(done)
	if err != nil {
		return err
	}
	b, err := codec.Indent(raw)
	if err != nil {
		return err
	}
	done.Result = path.Join(filepath.ToSlash(dir), runs.ResultFile)
	done.ResultDigest = runs.DigestOf(b)
	return c.record.WriteNew(done.Result, b)
}

func (c *recorder) prepare(data *runs.CompletedData) (runs.Event, error) {
	event, err := c.journal.Prepare(runs.RunCompleted, "", data)
	return event, artifact(err)
}

// unnamed writes the trace, and returns the digests of the files of the record that no event names.
func (c *recorder) unnamed() ([]runs.SealedFile, error) {
	c.traceErr = c.trace.write(c.record, c.id, c.eng.Version, c.clean) // reported with the errors of the views
	record, err := runs.Fold(c.events)
	if err != nil {
		return nil, err
	}
	files, err := c.record.Unnamed(record, func(name string) bool {
		return name == runs.TraceFile || name == runs.PatchFile || // without its event if the run broke off
			slices.ContainsFunc(c.loose, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
	})
	return files, artifact(err)
}

// keepFile copies a regular file into the record, to the file name, and follows no link that a step put in its place.
// Text is masked; a binary file that shows a secret is replaced by a note.
func (c *recorder) keepFile(step notebooks.StepID, from, name string) (int64, runs.Digest, error) {
	info, err := os.Lstat(from)
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() {
		return 0, "", fmt.Errorf("%s is not a regular file", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	return c.keepFrom(step, in, name)
}

// keepFrom is keepFile for bytes in memory, or for an open file.
func (c *recorder) keepFrom(step notebooks.StepID, in io.ReadSeeker, name string) (n int64, _ runs.Digest, err error) {
	source, err := c.cleanFile(step, hurriedReader{in, c.hurried}, name)
	if err != nil {
		return 0, "", err
	}
	sum := runs.NewHasher()
	err = c.record.WriteStream(name, func(w io.Writer) (err error) {
		n, err = io.Copy(io.MultiWriter(w, sum), source)
		return err
	})
	return n, sum.Digest(), err
}

// cleanFile reads a file once to see whether it is text and holds a secret or a key, and returns what may be recorded.
func (c *recorder) cleanFile(step notebooks.StepID, in io.ReadSeeker, name string) (io.Reader, error) {
	find, hidden, kind := c.plan.mask.Find(), c.hidden.shown.Stream(), &textTest{text: true}
	if _, err := io.Copy(io.MultiWriter(find, hidden, kind), in); err != nil {
		return nil, err
	}
	hidden.Rest()
	secret := find.Found()
	if secret && !kind.text {
		c.leak(step, name)
		return strings.NewReader(runs.LeakNote), nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil || !kind.text || !secret && len(hidden.Found) == 0 {
		return in, err
	}
	c.noteHidden(step, "result", hidden.Found)
	m := &maskReader{from: in, keys: c.hidden.shown.Stream()}
	if secret {
		m.mask = c.plan.mask.Stream()
	}
	return m, nil
}

// textTest detects text: no NUL and no byte that never occurs in UTF-8.
type textTest struct{ text bool }

func (t *textTest) Write(b []byte) (int, error) {
	for i := 0; i < len(b) && t.text; i++ {
		t.text = b[i] != 0 && b[i] != 0xc0 && b[i] != 0xc1 && b[i] < 0xf5
	}
	return len(b), nil
}

// maskReader masks what is read through it.
type maskReader struct {
	from io.Reader
	mask *mask.Stream // nil where there is no secret
	keys *keys.Stream
	out  []byte
	buf  [32 << 10]byte
	err  error
}

func (m *maskReader) Read(b []byte) (int, error) {
	for len(m.out) == 0 && m.err == nil {
		n, err := m.from.Read(m.buf[:])
		piece := m.buf[:n]
		if m.mask != nil {
			piece = m.mask.Next(piece)
		}
		m.out, m.err = m.keys.Next(piece), err
		if err != nil {
			m.out = slices.Clone(m.out)
			if m.mask != nil {
				m.out = append(m.out, m.keys.Next(m.mask.Rest())...)
			}
			m.out = append(m.out, m.keys.Rest()...)
		}
	}
	if len(m.out) == 0 {
		return 0, m.err
	}
	n := copy(b, m.out)
	m.out = m.out[n:]
	return n, nil
}

// trace is what the engine did and how long each part took. A run does one thing at a time: a span belongs to the one
// that is open when it begins.
type trace struct {
	now   func() time.Time
	spans []runs.Span
	open  int
}

// newTrace begins the trace of a run with the making of its plan.
func newTrace(now func() time.Time, p *Plan) *trace {
	return &trace{now: now, spans: []runs.Span{{Name: "run", Parent: -1, Begin: p.began},
		{Name: "planning", Begin: p.began, End: p.ended}}}
}

// start begins a span and returns the function that ends it.
func (t *trace) start(name string) func() {
	i := len(t.spans)
	t.spans = append(t.spans, runs.Span{Name: name, Parent: t.open, Begin: t.now()})
	t.open = i
	return func() { t.spans[i].End, t.open = t.now(), t.spans[i].Parent }
}

// span runs f and records it.
func (t *trace) span(name string, f func() error) error {
	i := len(t.spans)
	end := t.start(name)
	err := f()
	end()
	if err != nil {
		t.spans[i].Failed = err.Error()
	}
	return err
}

// write writes the trace so far, in one line. clean masks secrets.
func (t *trace) write(record *runs.Record, id runs.RunID, version string, clean func(any) (codec.Raw, error)) error {
	t.spans[0].End = t.now()
	b, err := clean(&runs.Trace{Run: id, Version: version, Spans: t.spans})
	if err != nil {
		return err
	}
	return record.Write(runs.TraceFile, append(b, '\n'))
}

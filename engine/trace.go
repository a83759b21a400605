package engine

import (
	"time"

	"markmill/notebooks/codec"
	"markmill/runs"
)

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

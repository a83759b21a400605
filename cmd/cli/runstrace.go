package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/markmill/remote/otlp"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// tracedRun is what show --trace --json prints.
type tracedRun struct {
	Run     runs.RunID `json:"run_id"`
	Seconds float64    `json:"seconds"` // that the whole run took
	// Spans are the parts of the run, the run itself first, and each before those that it holds.
	Spans []tracedSpan `json:"spans"`
}

// tracedSpan is a part of a run.
type tracedSpan struct {
	Name    string    `json:"name"`  // a step's is step and its id
	Depth   int       `json:"depth"` // in how many others it is; the run's is 0
	Begin   time.Time `json:"begin"`
	Seconds float64   `json:"seconds"`
	Self    float64   `json:"self"`             // seconds that are in none of the parts which it holds
	Share   float64   `json:"share"`            // of the time of the run, from 0 to 1
	Failed  string    `json:"failed,omitempty"` // why it failed: of a step its status, else the error
}

// showTrace shows where the time of a run went, or sends its trace.
func (a *app) showTrace(c *cobra.Command, word string, o showOptions) error {
	record, err := a.lookup().Record(word)
	if err != nil {
		return err
	}
	trace, err := record.Trace()
	if err != nil {
		return err
	}
	switch {
	case o.json:
		err = a.printJSON("runs-trace", tracedDocument(trace))
	case !o.export:
		err = a.printTrace(tracedDocument(trace))
	}
	if err != nil || !o.export {
		return err
	}
	return a.export(c, trace)
}

func tracedDocument(trace *runs.Trace) tracedRun {
	total := trace.Spans[0].Took().Seconds()
	doc := tracedRun{Run: trace.Run, Seconds: total}
	parts := make([][]int, len(trace.Spans))
	for i, s := range trace.Spans[1:] {
		parts[s.Parent] = append(parts[s.Parent], i+1)
	}
	var add func(i, depth int)
	add = func(i, depth int) {
		s := trace.Spans[i]
		took := s.Took().Seconds()
		one := tracedSpan{Name: s.Name, Depth: depth, Begin: s.Begin, Seconds: took, Self: took, Failed: s.Failed}
		if total > 0 {
			one.Share = took / total
		}
		at := len(doc.Spans)
		doc.Spans = append(doc.Spans, one)
		for _, part := range parts[i] {
			doc.Spans[at].Self -= trace.Spans[part].Took().Seconds()
			add(part, depth+1)
		}
		doc.Spans[at].Self = max(0, doc.Spans[at].Self)
	}
	add(0, 0)
	return doc
}

// barWidth is the width of the time of a whole run, in characters.
const barWidth = 32

// printTrace prints a line for each span: when it was stands at the end of the line.
func (a *app) printTrace(doc tracedRun) error {
	t := newGrid("part", "took", "share", "when")
	line := func(name string, depth int, seconds float64, bar string) {
		share := 0.0
		if doc.Seconds > 0 {
			share = 100 * seconds / doc.Seconds
		}
		t.add(strings.Repeat("│ ", depth)+name, took(seconds), fmt.Sprintf("%.1f%%", share), bar)
	}
	column := func(at float64) int { return min(barWidth, max(0, int(at/max(doc.Seconds, 1e-9)*barWidth+0.5))) }
	first := doc.Spans[0].Begin
	var rest func(i int) int
	rest = func(i int) int { // prints the span i and those in it, and returns the next behind them
		s := doc.Spans[i]
		name := plain.OneLine(s.Name)
		if s.Failed != "" {
			name += " ✗ " + plain.OneLine(s.Failed)
		}
		from := min(barWidth-1, column(s.Begin.Sub(first).Seconds()))
		to := max(from+1, column(s.Begin.Sub(first).Seconds()+s.Seconds))
		line(name, s.Depth, s.Seconds, strings.Repeat("·", from)+strings.Repeat("█", to-from))
		next := i + 1
		for next < len(doc.Spans) && doc.Spans[next].Depth > s.Depth {
			next = rest(next)
		}
		if next > i+1 && s.Self >= doc.Seconds/100 {
			line("else", s.Depth+1, s.Self, "")
		}
		return next
	}
	rest(0)
	if err := say(a.stdout, "run %s\n\n", string(doc.Run)); err != nil {
		return err
	}
	return t.Write(a.stdout, "table")
}

func (a *app) export(c *cobra.Command, trace *runs.Trace) error {
	collector, err := otlp.FromEnv(a.getenv)
	if err == nil && collector == nil {
		err = errors.New("there is no collector: set OTEL_EXPORTER_OTLP_ENDPOINT to its address, such as " +
			"http://localhost:4318")
	}
	if err != nil {
		return usage{err}
	}
	text, err := codec.Marshal(trace)
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(c.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := collector.Send(ctx, text); err != nil {
		return err
	}
	a.tell("sent %s to %s\n", plain.Counted(len(trace.Spans), "span"), plain.Escape(collector.Host()))
	return nil
}

// exports are the traces of runs that have ended, on their way to the collector. After one failure no more are sent: a
// sweep does not wait for a collector that is away.
type exports struct {
	sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// exportLimit is how long a command waits at most for the trace of its last run to be sent.
const exportLimit = time.Second

// exporter sends the trace of each run of an engine; nil where there is no collector.
func (p *places) exporter() func(dir string) {
	collector, err := otlp.FromEnv(p.getenv)
	e := &p.exports
	switch {
	case err != nil:
		return func(string) { e.fail(err) }
	case collector == nil:
		return nil
	}
	return func(dir string) {
		if e.why() != nil {
			return
		}
		e.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), exportLimit)
			defer cancel()
			trace, err := runs.At(dir).Trace()
			if err != nil {
				e.fail(err)
				return
			}
			text, err := codec.Marshal(trace)
			if err == nil {
				err = collector.Send(ctx, text)
			}
			e.fail(err)
		})
	}
}

func (e *exports) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = err
	}
}

func (e *exports) why() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// exported waits for the traces that are being sent, and tells of the first one that was not.
func (a *app) exported() {
	a.exports.Wait()
	if err := a.exports.why(); err != nil {
		a.tell("markmill: the trace was not sent: %s\n", plain.OneLine(err.Error()))
	}
}

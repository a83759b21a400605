package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote/otlp"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// TracedRun is what show --trace --json prints.
type TracedRun struct {
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
func showTrace(a *program.App, c *cobra.Command, word string, o showOptions) error {
	record, err := a.Lookup().Record(word)
	if err != nil {
		return err
	}
	trace, err := record.Trace()
	if err != nil {
		return err
	}
	switch {
	case o.json:
		err = a.PrintJSON("runs-trace", tracedDocument(trace))
	case !o.export:
		err = printTrace(a, tracedDocument(trace))
	}
	if err != nil || !o.export {
		return err
	}
	return export(a, c, trace)
}

func tracedDocument(trace *runs.Trace) TracedRun {
	total := trace.Spans[0].Took().Seconds()
	doc := TracedRun{Run: trace.Run, Seconds: total}
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
func printTrace(a *program.App, doc TracedRun) error {
	t := program.NewGrid("part", "took", "share", "when")
	line := func(name string, depth int, seconds float64, bar string) {
		share := 0.0
		if doc.Seconds > 0 {
			share = 100 * seconds / doc.Seconds
		}
		t.Add(strings.Repeat("│ ", depth)+name, program.Took(seconds), fmt.Sprintf("%.1f%%", share), bar)
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
	if err := program.Say(a.Stdout, "run %s\n\n", string(doc.Run)); err != nil {
		return err
	}
	return t.Write(a.Stdout, "table")
}

func export(a *program.App, c *cobra.Command, trace *runs.Trace) error {
	collector, err := otlp.FromEnv(a.Getenv)
	if err == nil && collector == nil {
		err = errors.New("there is no collector: set OTEL_EXPORTER_OTLP_ENDPOINT to its address, such as " +
			"http://localhost:4318")
	}
	if err != nil {
		return program.AsUsage(err)
	}
	text, err := codec.Marshal(trace)
	if err != nil {
		return err
	}
	ctx, stop := program.UntilInterrupted(c.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := collector.Send(ctx, text); err != nil {
		return err
	}
	a.Tell("sent %s to %s\n", plain.Counted(len(trace.Spans), "span"), plain.Escape(collector.Host()))
	return nil
}

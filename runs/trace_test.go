package runs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

// traced is a record that did not pass, with a trace.
func traced(t *testing.T, spans ...Span) *record {
	t.Helper()
	r := newRecord(t, newStore(t), aTime, 1)
	mustAppend(t, r.Journal, ContractCreated, "", ContractData{ContractRules: ContractRules{TaskID: "fix"}})
	mustAppend(t, r.Journal, PlanUpdated, "", PlanData{Steps: []PlannedStep{{ID: "change", Lang: "bash",
		Action: ActionRun}}})
	mustAppend(t, r.Journal, StepFinished, "change", StepFinishedData{Status: StepTimeout})
	mustAppend(t, r.Journal, RunCompleted, "", CompletedData{Status: Fail})
	text, err := codec.Marshal(&Trace{Run: r.id, Spans: spans})
	if err != nil {
		t.Fatal(err)
	}
	r.write(TraceFile, string(text)+"\n")
	return r
}

func someSpans() []Span {
	at := func(s int) time.Time { return aTime.Add(time.Duration(s) * time.Second) }
	return []Span{{Name: "run", Parent: -1, Begin: at(0), End: at(9)}, {Name: "planning", Begin: at(0), End: at(1)},
		{Name: "step change", Begin: at(2), End: at(8)}, {Name: "code", Parent: 2, Begin: at(3), End: at(2)},
		{Name: "checks", Begin: at(8), End: at(9), Failed: "no disk"}}
}

// What was written is read, with the statuses that the journal has.
func TestTrace(t *testing.T) {
	r := traced(t, someSpans()...)
	got, err := At(r.dir).Trace()
	if err != nil {
		t.Fatal(err)
	}
	want := someSpans()
	want[0].Failed, want[2].Failed = "fail", "timeout"
	if !reflect.DeepEqual(got.Spans, want) || got.Run != r.id {
		t.Errorf("got  %+v\nwant %+v", got.Spans, want)
	}
	if took := got.Spans[3].Took(); took != 0 {
		t.Errorf("a span that ended before it began took %s", took)
	}
}

// The views are in the trace if the files have the times of their making, and only then.
func TestTraceViews(t *testing.T) {
	for name, one := range map[string]struct {
		trace, sums time.Duration // after the end of the trace
		want        time.Duration
	}{
		"as made":          {time.Millisecond, 3 * time.Second, 3 * time.Second},
		"by a coarse time": {-4 * time.Millisecond, 3 * time.Second, 3 * time.Second},
		"copied later":     {time.Hour, time.Hour + time.Second, 0},
		"in whole seconds": {-300 * time.Millisecond, 700 * time.Millisecond, 0},
		"no later":         {0, 0, 0},
	} {
		r := traced(t, someSpans()...)
		r.write(SumsFile, "")
		end := someSpans()[0].End
		for file, at := range map[string]time.Duration{TraceFile: one.trace, SumsFile: one.sums} {
			if err := os.Chtimes(filepath.Join(r.dir, file), end.Add(at), end.Add(at)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := At(r.dir).Trace()
		if err != nil {
			t.Fatal(err)
		}
		took := time.Duration(0)
		if last := got.Spans[len(got.Spans)-1]; last.Name == "views" {
			took = last.Took()
		}
		if took != one.want || got.Spans[0].End != end.Add(one.want) {
			t.Errorf("%s: the views took %s, want %s", name, took, one.want)
		}
	}
}

// A trace that is none of a run is an error.
func TestTraceMistakes(t *testing.T) {
	good := traced(t, someSpans()...)
	text, err := os.ReadFile(filepath.Join(good.dir, TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	deep := []Span{{Name: "run", Parent: -1}}
	for i := range 40 {
		deep = append(deep, Span{Name: "in", Parent: i})
	}
	second := append(someSpans(), Span{Name: "run", Parent: -1})
	many, err := codec.Marshal(&Trace{Run: good.id, Spans: deep})
	if err != nil {
		t.Fatal(err)
	}
	two, err := codec.Marshal(&Trace{Run: good.id, Spans: second})
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s is not in it", old)
		}
		return strings.Replace(string(text), old, new, 1)
	}
	for name, bad := range map[string]string{
		"empty": "", "cut": string(text[:200]), "no spans": `{"resourceSpans":[]}`, "deep": string(many),
		"two runs":   string(two),
		"time":       change(`"startTimeUnixNano":"`, `"startTimeUnixNano":"x`),
		"a stranger": change(`"parentSpanId":"`, `"parentSpanId":"0`),
	} {
		good.write(TraceFile, bad)
		if got, err := At(good.dir).Trace(); err == nil || !strings.Contains(err.Error(), TraceFile) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if err := os.Remove(filepath.Join(good.dir, TraceFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := At(good.dir).Trace(); err == nil || !strings.Contains(err.Error(), "has no trace") {
		t.Error(err)
	}
}

package terminal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

func event(t *testing.T, typ runs.EventType, step notebooks.StepID, data any) runs.Event {
	t.Helper()
	raw, err := codec.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return runs.Event{Type: typ, Step: step, Data: raw}
}

// play shows a run of two steps; each prints output, and the second fails.
func play(t *testing.T, p *Progress, output string) {
	p.Event(event(t, runs.PlanUpdated, "", runs.PlanData{Steps: []runs.PlannedStep{
		{ID: "build", Action: runs.ActionRun}, {ID: "skipped", Action: runs.ActionSkip},
		{ID: "verify", Action: runs.ActionRun}}}))
	p.Event(event(t, runs.StepStarted, "build", runs.StepStartedData{Attempt: 1}))
	p.Output("build", "stdout", []byte(output))
	p.Tick()
	p.Event(event(t, runs.PatchApplied, "build", runs.PatchData{Files: []runs.ChangedFile{{Path: "a", Added: 2,
		Deleted: 1}}}))
	p.Event(event(t, runs.StepFinished, "build", runs.StepFinishedData{Status: runs.StepPassed, DurationNS: 12e8,
		Attempts: 1}))
	p.Event(event(t, runs.StepFinished, "skipped", runs.StepFinishedData{Status: runs.StepSkipped, Reason: "skip tag"}))
	p.Event(event(t, runs.StepStarted, "verify", runs.StepStartedData{Attempt: 1}))
	p.Tick()
	p.Event(event(t, runs.StepFinished, "verify", runs.StepFinishedData{Status: runs.StepFailed, Exit: 1,
		DurationNS: 5e6, Attempts: 1,
		Tests: &runs.TestCounts{Passed: 2, Failed: 1}}))
	p.Done("the end")
}

func stopped() time.Time { return time.Unix(0, 0) }

func TestPlainLines(t *testing.T) {
	var b bytes.Buffer
	play(t, New(&b, Options{Now: stopped}), "compiling\n")
	want := `✓ build · exit 0 · 1.2s · 1 file +2 −1
○ skipped · skipped: skip tag
✗ verify · exit 1 · 5ms · 2 passed, 1 failed
the end
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestQuietSaysOnlyTheEnd(t *testing.T) {
	for log, want := range map[bool]string{false: "the end\n", true: "build │ compiling\nthe end\n"} {
		var b bytes.Buffer
		play(t, New(&b, Options{Now: stopped, Quiet: true, Terminal: true, Log: log}), "compiling\n")
		if b.String() != want {
			t.Errorf("log %v: got %q", log, b.String())
		}
	}
}

func TestLogPrefixesEveryLine(t *testing.T) {
	var b bytes.Buffer
	p := New(&b, Options{Now: stopped, Log: true})
	p.Event(event(t, runs.StepStarted, "s", runs.StepStartedData{Attempt: 1}))
	for _, chunk := range []string{"one\ntw", "o\n\x1b[31mred\x1b[0m\n", "50%\r100%\nla", "st"} {
		p.Output("s", "stdout", []byte(chunk))
	}
	p.Output("s", "stderr", []byte("warned\n"))
	p.Event(event(t, runs.StepFinished, "s", runs.StepFinishedData{Status: runs.StepPassed}))
	want := "s │ one\ns │ two\ns │ red\ns │ 100%\ns ! warned\ns │ last\n✓ s · exit 0 · 0ms\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// screen returns what a terminal shows after text: its lines, the last one being live.
func screen(text string) []string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = l[strings.LastIndex(l, eraseLine)+1:]
		if strings.Contains(l, eraseLine) {
			lines[i] = l[strings.LastIndex(l, eraseLine)+len(eraseLine):]
		}
	}
	return lines
}

func TestLiveLine(t *testing.T) {
	var b bytes.Buffer
	now := stopped()
	p := New(&b, Options{Terminal: true, Total: 3, Width: func() int { return 60 },
		Now: func() time.Time { return now }})
	p.Event(event(t, runs.StepStarted, "build", runs.StepStartedData{Attempt: 1}))
	p.Output("build", "stdout", []byte("first\nsecond line\n"))
	now = now.Add(3700 * time.Millisecond)
	p.Tick()
	live := screen(b.String())
	if want := "⠙ 1/3 build · 3s · 2 left · second line"; live[0] != want {
		t.Errorf("live line %q, want %q", live[0], want)
	}
	p.Output("build", "stdout", []byte(strings.Repeat("wide 漢字 ", 100)))
	p.Tick()
	live = screen(b.String())
	if w := lipgloss.Width(live[0]); w > 59 || w < 50 {
		t.Errorf("live line is %d columns wide on 60: %q", w, live[0])
	}
	p.Event(event(t, runs.StepFinished, "build", runs.StepFinishedData{Status: runs.StepPassed, DurationNS: 37e8}))
	p.Done("end")
	if got := strings.Join(screen(b.String()), "\n"); got != "✓ build · exit 0 · 3.7s\nend\n" {
		t.Errorf("what stays is %q", got)
	}
}

func TestRetriesAreOneStep(t *testing.T) {
	var b bytes.Buffer
	p := New(&b, Options{Terminal: true, Total: 2, Now: stopped})
	p.Event(event(t, runs.StepStarted, "a", runs.StepStartedData{Attempt: 1}))
	p.Event(event(t, runs.StepStarted, "a", runs.StepStartedData{Attempt: 2}))
	if got := screen(b.String())[0]; !strings.Contains(got, "1/2 a") || !strings.Contains(got, "1 left") {
		t.Errorf("live line %q", got)
	}
}

// TestNothingRawReachesTheTerminal: no control character of a step's output gets through, however it is chunked, on a
// terminal or not.
func TestNothingRawReachesTheTerminal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Terminal: rapid.Bool().Draw(rt, "terminal"),
			Log: rapid.Bool().Draw(rt, "log"), Now: stopped, Total: 1}
		var b bytes.Buffer
		p := New(&b, o)
		p.Event(event(t, runs.StepStarted, "s", runs.StepStartedData{Attempt: 1}))
		for i := range rapid.IntRange(1, 5).Draw(rt, "chunks") {
			chunk := rapid.OneOf(
				rapid.SampledFrom([]string{"\x1b[2J", "\x1b]0;t\x07", "\x1b[", "31m", "\u202e", "\x9b", "ok\n", "\r"}),
				rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 9), func(b []byte) string { return string(b) }),
			).Draw(rt, fmt.Sprint("chunk", i))
			p.Output("s", "stdout", []byte(chunk))
			p.Tick()
		}
		p.Event(event(t, runs.StepFinished, "s", runs.StepFinishedData{Status: runs.StepPassed}))
		for _, r := range strings.ReplaceAll(b.String(), eraseLine, "") {
			if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r <= 0x9f || r == 0x202e {
				rt.Fatalf("%q holds %U", b.String(), r)
			}
		}
		if !o.Terminal && strings.Contains(b.String(), "\x1b") {
			rt.Fatalf("a control sequence without a terminal: %q", b.String())
		}
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []byte
		var tl tail
		for i := range rapid.IntRange(1, 6).Draw(t, "chunks") {
			chunk := bytes.Repeat([]byte{byte('a' + i)}, rapid.IntRange(0, 3*tailBytes).Draw(t, "n"))
			all = append(all, chunk...)
			tl.keep(chunk)
			if want := all[max(0, len(all)-tailBytes):]; !bytes.Equal(tl.buf, want) {
				t.Fatalf("kept %d bytes, want the last %d", len(tl.buf), len(want))
			}
		}
	})
}

func TestColorOnlyWhereAsked(t *testing.T) {
	run := &runs.Run{Completed: &runs.CompletedData{Status: runs.Fail,
		Blockers: []runs.Blocker{{Code: runs.CodeNoDiff, Message: "nothing changed"}}}}
	if s := Summary(run, "x", false); strings.Contains(s, "\x1b") {
		t.Errorf("colour without a terminal: %q", s)
	}
	if s := Summary(run, "x", true); !strings.Contains(s, "\x1b[") {
		t.Errorf("no colour on a terminal: %q", s)
	}
}

func TestDetectOnAFile(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if o := Detect(f, func(string) string { return "" }); o.Terminal || o.Color {
		t.Errorf("a file is detected as a terminal: %+v", o)
	}
}

// TestManyGoroutines sends events, output and ticks concurrently (go test -race).
func TestManyGoroutines(t *testing.T) {
	var b bytes.Buffer
	p := New(&b, Options{Terminal: true, Total: 1, Now: stopped})
	p.Event(event(t, runs.StepStarted, "s", runs.StepStartedData{Attempt: 1}))
	var wg sync.WaitGroup
	for _, do := range []func(){p.Tick, func() { p.Output("s", "stdout", []byte("out\n")) },
		func() { p.Output("s", "stderr", []byte("err\n")) }} {
		wg.Go(func() {
			for range 100 {
				do()
			}
		})
	}
	wg.Wait()
	p.Done("end")
	if got := screen(b.String()); got[0] != "end" {
		t.Errorf("the live line was left: %q", got)
	}
}

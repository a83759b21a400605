package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
)

const raised = "Traceback (most recent call last):\n  File \"a.md\", line 10, in <module>\n    f(3)\n    " +
	"~^^^\nValueError: 3\n"

// lines returns the numbers from 1 to n, one per line.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// TestFailureIsTracebackOrTail checks what is shown of a failed step, without colour.
func TestFailureIsTracebackOrTail(t *testing.T) {
	long := "Traceback (most recent call last):\n" + strings.Repeat("  File \"a.md\", line 2, in f\n    f()\n", 400) +
		"RecursionError: too deep\n"
	for _, c := range []struct {
		name           string
		stdout, stderr string
		err            *runs.ErrorData
		status         runs.StepStatus
		logged         bool
		tests          bool
		want           string // the lines without the rule; "…" stands for a line that names the file
		lines          int    // number of lines of want if it is only the tail
	}{
		{name: "an exception", stdout: "out\n", stderr: raised,
			err: &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised}, want: raised},
		{name: "behind warnings", stderr: lines(50) + raised,
			err: &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised}, want: raised},
		{name: "a hook of its author's", stderr: "my hook: no\n",
			err: &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised}, want: raised},
		{name: "a hint behind it", stderr: raised + "give it with -p\n",
			err:  &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised},
			want: raised + "give it with -p\n"},
		{name: "a shell", stdout: "out\n", stderr: "sh: no\n", want: "sh: no\n"},
		{name: "a test runner", stdout: "FAIL: x\n", want: "FAIL: x\n"},
		{name: "colours on standard error", stdout: "[ERROR] x\n", stderr: "\x1b[0m\n \x1b[0m", want: "[ERROR] x\n"},
		{name: "counts on standard output", stdout: "coverage is less\n1 failed, 2 passed in 0.1s\n",
			stderr: "Installed 46\n",
			tests:  true, want: "coverage is less\n1 failed, 2 passed in 0.1s\n"},
		{name: "a runner that nobody knows", stdout: "2 checks failed\n", stderr: "Installed 46 packages\n",
			want: "2 checks failed\n"},
		{name: "errors on both", stdout: "2 checks failed\n", stderr: "error: no\n", want: "error: no\n"},
		{name: "counts on standard error", stdout: "out\n", stderr: "Ran 2 tests in 0.1s\nFAILED (failures=1)\n",
			tests: true, want: "Ran 2 tests in 0.1s\nFAILED (failures=1)\n"},
		{name: "a long stream", stderr: lines(2000), want: "…steps/01-s/stderr\n" + lines(2000)[len(lines(1970)):]},
		{name: "a long traceback", stderr: long, err: &runs.ErrorData{Name: "RecursionError", Traceback: long},
			want: "    f()\nRecursionError: too deep\n", lines: render.FailureLines + 1},
		{name: "one long line", stderr: strings.Repeat("x", 99999), want: "…steps/01-s/stderr\n" +
			strings.Repeat("x", render.FailureWidth) + "…\n"},
		{name: "control characters", stderr: "\x1b[31mred\x1b]0;t\x07\n10%\r20%\n\x1b[2J\u202e\n",
			want: "red\n20%\n\\u202e\n"},
		{name: "shown already", stderr: raised, err: &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised},
			logged: true},
		{name: "shown already, a long one", stderr: long, err: &runs.ErrorData{Name: "RecursionError", Traceback: long},
			logged: true},
		{name: "shown already, but for the exception", stderr: "my hook: no\n",
			err: &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised}, logged: true, want: raised},
		{name: "expected", stderr: raised, err: &runs.ErrorData{Name: "ValueError", Value: "3", Traceback: raised},
			status: runs.StepAllowed},
		{name: "passed", stderr: "warning\n", status: runs.StepPassed},
		{name: "a limit", stderr: "waiting\n", status: runs.StepTimeout, want: "waiting\n"},
		{name: "nothing printed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{}
			stream := func(name, text string) runs.StreamData {
				if text == "" {
					return runs.StreamData{}
				}
				file := "steps/01-s/" + name
				files[file] = &fstest.MapFile{Data: []byte(text)}
				return runs.StreamData{File: file, Bytes: int64(len(text))}
			}
			if c.status == "" {
				c.status = runs.StepFailed
			}
			f := &runs.StepFinishedData{Status: c.status, Exit: 1, Stdout: stream("stdout", c.stdout),
				Stderr: stream("stderr", c.stderr), Error: c.err}
			if c.tests {
				f.Tests = &runs.TestCounts{Failed: 1}
			}
			got := Record{Files: files, Path: "runs/x"}.failure(f, "  ", c.logged, false)
			want := ""
			for line := range strings.Lines(c.want) {
				if file, ok := strings.CutPrefix(line, "…"); ok {
					line = "… the end of runs/x/" + file
				}
				want += "  │ " + line
			}
			if c.lines > 0 {
				if n := strings.Count(got, "\n"); n != c.lines {
					t.Errorf("%d lines, want %d", n, c.lines)
				}
				got = got[max(0, len(got)-len(want)):]
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestFailureInColour: the exception, the frames and the marks are highlighted, and the text is unchanged.
func TestFailureInColour(t *testing.T) {
	files := fstest.MapFS{"stderr": {Data: []byte(raised)}}
	f := &runs.StepFinishedData{Status: runs.StepFailed, Stderr: runs.StreamData{File: "stderr"},
		Error: &runs.ErrorData{Name: "ValueError", Traceback: raised}}
	rec := Record{Files: files}
	got := rec.failure(f, "", false, true)
	for _, want := range []string{"\x1b[31m│\x1b[m ", "\x1b[31mTraceback (most recent call last):\x1b[m\n",
		"\x1b[36m  File \"a.md\", line 10, in <module>\x1b[m\n",
		"\x1b[31m    ~^^^\x1b[m\n", "\x1b[1;31mValueError\x1b[m: 3\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	bare := rec.failure(f, "", false, false)
	var without string
	for line := range strings.Lines(got) {
		without += plain.Resolve([]byte(strings.TrimSuffix(line, "\n"))) + "\n"
	}
	if strings.Contains(bare, "\x1b") || without != bare {
		t.Errorf("%q is not %q in colour", got, bare)
	}
}

// TestProgressShowsWhyAStepFailed: the reason stands below the step's line, also without progress.
func TestProgressShowsWhyAStepFailed(t *testing.T) {
	files := fstest.MapFS{"stderr": {Data: []byte("sh: no such thing\n")}}
	done := runs.StepFinishedData{Status: runs.StepFailed, Exit: 127, Stderr: runs.StreamData{File: "stderr"}}
	const step, why = "✗ s · exit 127 · 0ms\n", "  │ sh: no such thing\n"
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, step + why}, {Options{Quiet: true}, step + why}, {Options{Log: true}, "s ! sh: no such thing\n" +
			step}, {Options{Shown: true}, step},
		{Options{Quiet: true, Log: true}, "s ! sh: no such thing\n"},
	} {
		var b bytes.Buffer
		c.o.Now, c.o.Record = stopped, Record{Files: files}
		p := New(&b, c.o)
		p.Event(event(t, runs.StepStarted, "s", runs.StepStartedData{Attempt: 1}))
		p.Output("s", "stderr", files["stderr"].Data)
		p.Event(event(t, runs.StepFinished, "s", done))
		if b.String() != c.want {
			t.Errorf("%+v: got\n%s\nwant\n%s", c.o, b.String(), c.want)
		}
	}
}

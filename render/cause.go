package render

import (
	"io/fs"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// Bounds of a shown failure. Its end is kept, where the exception and the last call are.
const (
	FailureLines = 30
	failureBytes = 16 << 10
	FailureWidth = 400 // characters of a line
)

// Cause is the first reason why a run did not pass, with all that a reader needs to fix it.
type Cause struct {
	Code  string           `json:"code"`
	Step  notebooks.StepID `json:"step,omitzero"`
	File  string           `json:"file"`          // the notebook, as it was given
	Line  int              `json:"line,omitzero"` // of the notebook: that of the error, else that of the step
	Words string           `json:"words"`
	Fix   string           `json:"fix,omitzero"`
	// Command is the line of code that failed, empty if the interpreter did not name it.
	Command  string      `json:"command,omitzero"`
	ExitCode *int        `json:"exit_code,omitempty"` // of the step
	Error    *CauseError `json:"error,omitempty"`
	// Tail is the end of the output that best explains the failure, as a terminal would show it.
	Tail string `json:"tail,omitzero"`
}

// CauseError is the exception that an interpreter reported.
type CauseError struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Consequence follows from the cause: another blocker, or a step that did not run.
type Consequence struct {
	Code  string           `json:"code"` // of the blocker; step_skipped for a step that did not run
	Step  notebooks.StepID `json:"step,omitzero"`
	Words string           `json:"words"`
}

// stepSkipped is the code of a Consequence that is not a blocker.
const stepSkipped = "step_skipped"

// Causes returns why a run did not pass and what followed from that, nil for a run that passed. nb is the source
// that ran and files the run directory; both may be nil.
func Causes(run *runs.Run, nb *notebooks.Notebook, files fs.FS) (*Cause, []Consequence) {
	reasons := run.Causes()
	if len(reasons) == 0 {
		return nil, nil
	}
	first := reasons[0]
	first.Blocker = run.Located(first.Blocker)
	c := &Cause{Code: first.Code, Step: first.Step, File: run.Started.Notebook, Words: first.Message,
		Fix: first.Advice()}
	if c.Fix == "" && run.Resumable() {
		c.Fix = "markmill resume " + string(run.ID) + " goes on from there"
	}
	var led []Consequence
	for _, r := range reasons[1:] {
		if r.Consequence {
			led = append(led, Consequence{r.Code, r.Step, r.Message})
		}
	}
	behind := false
	for i := range run.Steps {
		s := &run.Steps[i]
		switch {
		case s.Planned.ID == first.Step:
			behind = true
			c.of(s, nb, files)
		case behind && s.Planned.Action != runs.ActionSkip &&
			(s.Status() == runs.StepSkipped || s.Status() == runs.StepPending):
			_, words := result.StepLine(*s)
			led = append(led, Consequence{stepSkipped, s.Planned.ID, words})
		}
	}
	return c, led
}

// of fills in the outcome of the step that caused it.
func (c *Cause) of(s *runs.StepRecord, nb *notebooks.Notebook, files fs.FS) {
	var step *notebooks.Step
	if nb != nil {
		step = nb.Step(s.Planned.ID)
	}
	if step != nil {
		c.Line = step.Line
	}
	f := s.Finished
	if f == nil || f.Status != runs.StepFailed && f.Status != runs.StepTimeout {
		return
	}
	if s.Step != nil {
		c.ExitCode = &f.Exit
	}
	if e := f.Error; e != nil {
		c.Error = &CauseError{e.Name, e.Value}
		if e.Line > 0 {
			c.Line = e.Line
			c.Command = codeLine(step, e.Line)
		}
	}
	if files == nil {
		return
	}
	text, _, _ := FailureText(files, f)
	lines, _ := TailLines(text)
	c.Tail = strings.Join(lines, "\n")
}

// codeLine returns the line of a step's code at a line number of the notebook.
func codeLine(step *notebooks.Step, line int) string {
	if step == nil || line < step.CodeLine {
		return ""
	}
	if lines := strings.Split(string(step.Code), "\n"); line-step.CodeLine < len(lines) {
		return strings.TrimSpace(lines[line-step.CodeLine])
	}
	return ""
}

// TailLines returns the last lines of a text, each as a terminal would show it, nil of an empty text. more says that
// there are others before.
func TailLines(text string) (lines []string, more bool) {
	if text = strings.TrimRight(text, "\r\n\t "); text == "" {
		return nil, false
	}
	lines = strings.Split(text, "\n")
	from := max(0, len(lines)-FailureLines)
	lines = lines[from:]
	for i, l := range lines {
		lines[i] = plain.Cut(plain.Line([]byte(l)), FailureWidth)
	}
	return lines, from > 0
}

// FailureText returns the text that best explains why a step failed: the traceback of its exception, else the end of
// standard output where a test runner counted there and not on standard error, or where only standard output speaks of
// a failure, else the end of standard error, else of standard output. file holds the whole text, and cut says that more
// comes before. A file that cannot be read counts as empty, because only views use this.
func FailureText(files fs.FS, f *runs.StepFinishedData) (text, file string, cut bool) {
	raised := ""
	if f.Error != nil {
		raised = strings.TrimSpace(f.Error.Traceback)
	}
	stderr, more := endOf(files, f.Stderr)
	if raised != "" {
		if i := strings.LastIndex(stderr, raised); i >= 0 { // what was printed before is not why
			stderr, more = stderr[i:], false
			// its author's own hook has printed otherwise, or nothing
		} else if !strings.Contains(stderr, raised[strings.LastIndexByte(raised, '\n')+1:]) {
			return raised, f.Result, false
		}
	}
	summary := func(text string) bool { return f.Tests != nil && runs.CountTests([]byte(text)) != nil }
	stdout, moreOut := endOf(files, f.Stdout)
	elsewhere := summary(stdout) && !summary(stderr) ||
		!summary(stderr) && !ofFailure.MatchString(stderr) && ofFailure.MatchString(stdout)
	if !blank(stderr) && (raised != "" || !elsewhere) {
		return stderr, f.Stderr.File, more
	}
	return stdout, f.Stdout.File, moreOut
}

// ofFailure is a text that speaks of a failure.
var ofFailure = lazyregexp.New(`(?i)\b(?:assert\w*|cannot|denied|\w*error|exception|fail(?:ed|ures?|s)?|fatal|not found|` +
	`not ok|panic|traceback|undefined)\b`)

// blank reports whether a terminal shows nothing of a text: a program may print colours alone.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(plain.Resolve([]byte(strings.TrimSpace(line)))) != "" {
			return false
		}
	}
	return true
}

// endOf returns the end of a stream, and whether there is more.
func endOf(files fs.FS, s runs.StreamData) (text string, more bool) {
	if s.File == "" {
		return "", false
	}
	b, more, err := safe.End(files, s.File, failureBytes)
	if err != nil {
		return "", false
	}
	return string(b), more
}

package render

import (
	"bytes"
	"io/fs"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// How much of what a step printed a Cause holds: the end, where the error stands.
const (
	causeLines = 30
	causeBytes = 16 << 10
	causeWidth = 400 // characters of a line
)

// Cause is the first reason why a run did not pass, with what a reader needs to mend it without looking elsewhere.
type Cause struct {
	Code  string           `json:"code"`
	Step  notebooks.StepID `json:"step,omitzero"`
	File  string           `json:"file"`          // the notebook, as it was given
	Line  int              `json:"line,omitzero"` // of the notebook: that of the error, else that of the step
	Words string           `json:"words"`
	Fix   string           `json:"fix,omitzero"`
	// Command is the line of code that failed; empty where the interpreter did not name it.
	Command  string      `json:"command,omitzero"`
	ExitCode *int        `json:"exit_code,omitempty"` // of the step
	Error    *CauseError `json:"error,omitempty"`
	// Tail is the end of what the step printed that says best why it failed, as a terminal shows it.
	Tail string `json:"tail,omitzero"`
}

// CauseError is the exception that an interpreter reported.
type CauseError struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Consequence is what the cause led to: a further blocker, or a step that did not run.
type Consequence struct {
	Code  string           `json:"code"` // of the blocker; step_skipped for a step that did not run
	Step  notebooks.StepID `json:"step,omitzero"`
	Words string           `json:"words"`
}

// stepSkipped is the code of a Consequence that is no blocker.
const stepSkipped = "step_skipped"

// Causes returns why a run did not pass and what that led to; nil for a run with nothing against it. nb is the source
// that ran, nil where it is not at hand; files is the run directory, nil likewise.
func Causes(run *runs.Run, nb *notebooks.Notebook, files fs.FS) (*Cause, []Consequence) {
	reasons := run.Causes()
	if len(reasons) == 0 {
		return nil, nil
	}
	first := reasons[0]
	first.Blocker = run.Located(first.Blocker)
	c := &Cause{Code: first.Code, Step: first.Step, File: run.Started.Notebook, Words: first.Message, Fix: first.Fix}
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
		case behind && s.Planned.Action != runs.ActionSkip && (s.Status() == runs.StepSkipped || s.Status() == runs.StepPending):
			_, words := Verdict(*s)
			led = append(led, Consequence{stepSkipped, s.Planned.ID, words})
		}
	}
	return c, led
}

// of fills in what the step of the cause left.
func (c *Cause) of(s *runs.StepRecord, nb *notebooks.Notebook, files fs.FS) {
	var step *notebooks.Step
	if nb != nil {
		for _, one := range nb.Steps {
			if one.ID == s.Planned.ID {
				step = one
			}
		}
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
	c.Tail = tailText(text)
}

// codeLine is the line of a step's code that stands at a line of the notebook.
func codeLine(step *notebooks.Step, line int) string {
	if step == nil || line < step.CodeLine {
		return ""
	}
	for i, text := range strings.Split(string(step.Code), "\n") {
		if step.CodeLine+i == line {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// tailText is the end of a text, each line as a terminal shows it.
func tailText(text string) string {
	lines := bytes.Split(bytes.TrimRight([]byte(text), "\r\n\t "), []byte("\n"))
	lines = lines[max(0, len(lines)-causeLines):]
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = plain.Line(l)
		if r := []rune(out[i]); len(r) > causeWidth {
			out[i] = string(r[:causeWidth]) + "…"
		}
	}
	return strings.Join(out, "\n")
}

// FailureText returns the text that says best why a step failed: the traceback of its exception, else the end of its
// standard error, else that of its standard output. file is the file that has all of it, and cut says that it has more
// before that. A file that cannot be read counts as empty: this is for views.
func FailureText(files fs.FS, f *runs.StepFinishedData) (text, file string, cut bool) {
	raised := ""
	if f.Error != nil {
		raised = strings.TrimSpace(f.Error.Traceback)
	}
	stderr, more := endOf(files, f.Stderr)
	if raised != "" {
		if i := strings.LastIndex(stderr, raised); i >= 0 { // what was printed before is not why
			stderr, more = stderr[i:], false
		} else if !strings.Contains(stderr, raised[strings.LastIndexByte(raised, '\n')+1:]) { // its author's own hook has printed otherwise, or nothing
			return raised, f.Result, false
		}
	}
	if strings.TrimSpace(stderr) != "" {
		return stderr, f.Stderr.File, more
	}
	stdout, more := endOf(files, f.Stdout)
	return stdout, f.Stdout.File, more
}

// endOf is the end of a stream, and whether it has more.
func endOf(files fs.FS, s runs.StreamData) (text string, more bool) {
	if s.File == "" {
		return "", false
	}
	b, more, err := End(files, s.File, causeBytes)
	if err != nil {
		return "", false
	}
	return string(b), more
}

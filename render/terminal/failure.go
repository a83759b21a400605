package terminal

import (
	"io/fs"
	"path"
	"strings"

	"charm.land/lipgloss/v2"

	"markmill/notebooks/lazyregexp"
	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
)

// Record is the run directory.
type Record struct {
	Files     fs.FS       // nil: it is not at hand, and it is not shown why a step failed
	Path      string      // as a reader of the terminal finds it
	Sums      runs.Digest // of SHA256SUMS; "" without one
	Decisions []string    // of operators on the run, in words
	Reruns    []string    // which run it repeats, and which repeat it, in words
}

// failure explains why a step failed: by the traceback of its exception, else the end of its standard error, else of
// its standard output. Each line has a prefix, so that no step can imitate Markmill's own lines. logged says that
// the streams were already shown; then only an exception that they lack is shown. The result is "" if the step did
// not fail, if there is nothing to show, and if a file cannot be read.
func (rec Record) failure(f *runs.StepFinishedData, indent string, logged, color bool) string {
	if rec.Files == nil || f == nil || f.Status != runs.StepFailed && f.Status != runs.StepTimeout {
		return ""
	}
	text, file, cutOff := render.FailureText(rec.Files, f)
	lines, more := render.TailLines(text)
	if lines == nil || logged && file != f.Result {
		return ""
	}
	name := ""
	if f.Error != nil {
		name = f.Error.Name
	}
	rule := indent + paint("│", red, color) + " "
	var b strings.Builder
	if cutOff || more {
		b.WriteString(rule + paint("… the end of "+plain.Escape(path.Join(rec.Path, file)), dim, color) + "\n")
	}
	for _, l := range lines {
		b.WriteString(strings.TrimRight(rule+tracebackLine(l, name, color), " ") + "\n")
	}
	return b.String()
}

var (
	tracebackHead  = lazyregexp.New(`Traceback \(most recent call last\)|^-{20,}$`)
	tracebackFrame = lazyregexp.New(`^\s*File ("[^"]*"|\S+)(, line |:)\d+|^(Cell|Input) ` +
		`In ?\[\d+\]|^\s+at .*:\d+:\d+\)?$`)
	tracebackMark = lazyregexp.New(`^\s*[\^~]+\s*$|^-+> ?\d+ `)
)

// tracebackLine colors a line of a failure: exception, frames and marks stand out.
func tracebackLine(line, exception string, color bool) string {
	if !color || line == "" {
		return line
	}
	style := lipgloss.NewStyle().TabWidth(lipgloss.NoTabConversion)
	switch {
	case exception != "" && strings.HasPrefix(line, exception):
		return style.Foreground(lipgloss.Color(red)).Bold(true).Render(exception) + style.Render(line[len(exception):])
	case tracebackHead.MatchString(line), tracebackMark.MatchString(line):
		return style.Foreground(lipgloss.Color(red)).Render(line)
	case tracebackFrame.MatchString(line):
		return style.Foreground(lipgloss.Color(cyan)).Render(line)
	}
	return line
}

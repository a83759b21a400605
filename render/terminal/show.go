package terminal

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"charm.land/lipgloss/v2"

	"markmill/notebooks/lazyregexp"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// reasonWidth bounds reasons in a list of runs, in characters.
const reasonWidth = 120

// valueWidth bounds values in a list of runs, in characters.
const valueWidth = 40

// List prints runs, in the given order. names are further columns, and values those of each run.
func List(w io.Writer, entries []runs.Entry, names []string, values [][]string, color bool) error {
	if len(entries) == 0 {
		_, err := io.WriteString(w, "No runs are kept here.\n")
		return err
	}
	var t table
	titles := []string{"RUN", "STATUS", "STARTED", "TOOK", "NOTEBOOK"}
	for _, name := range names {
		titles = append(titles, shown(name))
	}
	t.header(append(titles, "REASON")...)
	for i, e := range entries {
		started, took := "", ""
		if !e.StartedAt.IsZero() {
			started = e.StartedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		if !e.FinishedAt.IsZero() {
			took = render.Duration(e.FinishedAt.Sub(e.StartedAt))
		}
		reason := e.Reason
		add := func(words string, id runs.RunID) {
			if id != "" {
				reason = strings.TrimPrefix(reason+"; "+words+" "+string(id), "; ")
			}
		}
		if e.Decision != "" {
			reason = strings.TrimSuffix(e.Decision+" by "+e.DecidedBy+"; "+reason, "; ")
		}
		if e.Agrees != nil {
			reason = strings.TrimSuffix(map[bool]string{true: "agrees", false: "differs"}[*e.Agrees]+"; "+reason, "; ")
		}
		add("a repetition of", e.RerunOf)
		add("made in a step of", e.Parent)
		add("resumed from", e.ResumedFrom)
		add("forked from", e.ForkedFrom)
		if n := len(e.ResumedBy); n > 0 {
			add("resumed by", e.ResumedBy[n-1])
		}
		row := []cell{{shown(string(e.ID)), ""}, {string(e.Status), inkOf(string(e.Status))}, {started, ""}, {took, ""},
			{shown(e.Notebook), ""}}
		for k := range names {
			row = append(row, cell{shown(plain.Cut(values[i][k], valueWidth)), ""})
		}
		t.add(append(row, cell{shown(plain.Cut(reason, reasonWidth)), ""})...)
	}
	return t.write(w, "", color)
}

// facts prints what the record of a run says of it as a whole: its change, the files that Git ignores, its checks, and
// what it began with and left.
func (p *page) facts(run *runs.Run, record Record) {
	var change table
	if run.Diff != nil {
		for _, f := range run.Diff.Files {
			change.add(cell{f.Status, ""}, cell{shown(f.Path), ""}, cell{fmt.Sprintf("+%d", f.Added), green},
				cell{fmt.Sprintf("−%d", f.Deleted), red})
		}
	}
	p.section("Change", &change)
	p.data(run, record)
	var checks table
	for _, c := range run.Checks() {
		checks.add(cell{shown(c.Name), ""}, cell{shown(plain.Cut(c.Words(), 100)), checkColor[c.State]})
	}
	p.section("Checks", &checks)
	var facts table
	fact := func(name, value string) {
		if value != "" {
			facts.add(cell{name, dim}, cell{shown(value), ""})
		}
	}
	fact("run", string(run.ID))
	if from := run.Started.ResumedFrom; from != nil {
		fact(from.Words(), string(from.Run))
	}
	fact("folder", run.Started.Folder)
	fact("record", string(record.Sums))
	fact("origin", record.Origin)
	for _, words := range record.Decisions {
		fact("decision", words)
	}
	for _, words := range record.Reruns {
		fact("rerun", words)
	}
	if d := run.Diff; d != nil {
		fact("compared", d.Unread)
		fact("patch omits", d.PatchOmits)
		var artifacts []string
		for _, a := range d.Artifacts {
			artifacts = append(artifacts, a.File)
		}
		fact("artifacts", plain.Some(artifacts, 5))
	}
	fact("base", run.Contract.BaseCommit)
	fact("copied", strings.Join(run.Contract.WorktreeInclude, ", ")) // by .worktreeinclude
	if c := run.Completed; c != nil {
		fact("result", c.ResultCommit)
		if c.Bundle != nil {
			fact("commits", c.Bundle.File)
		}
	}
	if run.Approval != runs.ApprovalNotRequired {
		fact("approval", render.ApprovalWords(run))
	}
	p.section("Record", &facts)
	p.narrowed(run.Contract.Narrowed)
}

var checkColor = map[runs.CheckState]string{runs.CheckOK: green, runs.CheckWarn: yellow, runs.CheckCritical: red,
	runs.CheckError: red}

// page prints sections, and keeps the first error.
type page struct {
	w     io.Writer
	color bool
	err   error
}

func (p *page) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *page) table(t *table, indent string) {
	if p.err == nil {
		p.err = t.write(p.w, indent, p.color)
	}
}

// section prints a table with a title, nothing if it is empty.
func (p *page) section(title string, t *table) {
	if len(t.rows) == 0 {
		return
	}
	p.printf("\n%s\n", title)
	p.table(t, "  ")
}

// shown makes text safe for a terminal, on one line.
func shown(s string) string { return plain.OneLine(s) }

// Record is the run directory.
type Record struct {
	Files     fs.FS       // nil: it is not at hand, and it is not shown why a step failed
	Path      string      // as a reader of the terminal finds it
	Sums      runs.Digest // of SHA256SUMS; "" without one
	Origin    string      // where the record came from; "" if it was made here
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

// data lists the files that Git ignores: what the run wrote, and what it read of that which an earlier run wrote.
func (p *page) data(run *runs.Run, record Record) {
	var t table
	files, _ := record.Files.(*runs.Record)
	for _, row := range result.RunData(run, files) {
		if row.Maker != "" {
			row.Words += fmt.Sprintf(" %s before, in run %s", render.Duration(row.Before), row.Maker)
		}
		t.add(cell{row.Verb, ""}, cell{shown(row.Path), ""}, cell{plain.Size(row.Bytes), ""},
			cell{shown(row.Words), dim})
	}
	p.section("Data", &t)
}

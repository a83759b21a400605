package render

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// maxListed bounds the listed files and scraps. report.json has them all.
const maxListed = 200

// ReportMarkdown renders report.md, the verdict first. Unlike the output notebook it includes times and durations.
func ReportMarkdown(run *runs.Run) ([]byte, error) {
	r := report{run: run, clean: &safe.Cleaner{}}
	r.verdict()
	r.facts()
	r.parameters()
	r.steps()
	r.tests()
	r.change()
	r.checks()
	r.scraps()
	r.evidence()
	return r.Bytes(), nil
}

type report struct {
	bytes.Buffer
	run   *runs.Run
	clean *safe.Cleaner
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.Buffer, format, args...) }

// text is words of a run as Markdown text, code as inline code.
func (r *report) text(s string) string { return safe.Inline(r.clean.OneLine(s, 1000)) }
func (r *report) code(s string) string { return safe.CodeSpan(r.clean.OneLine(s, 500)) }

// cell is code in a table: a pipe ends a cell even inside a code span (GFM, tables).
func (r *report) cell(s string) string { return strings.ReplaceAll(r.code(s), "|", `\|`) }

func (r *report) verdict() {
	status := r.run.Status()
	r.printf("# %s %s: %s\n\n", result.RunMark(status), strings.ToUpper(string(status)), r.text(r.run.Started.Notebook))
	for _, b := range r.run.Blockers() {
		r.printf("- **%s**", r.text(b.Code))
		if b.Step != "" {
			r.printf(" in %s", r.code(string(b.Step)))
		}
		r.printf(": %s\n", r.text(b.Text()))
	}
	if len(r.run.Blockers()) > 0 {
		r.printf("\n")
	}
	r.printf("%s.\n\n", r.text(strings.Join(result.VerdictOf(r.run)[1:], " · ")))
}

func (r *report) facts() {
	run := r.run
	r.printf("| | |\n| --- | --- |\n")
	row := func(name, value string) {
		if value != "" {
			r.printf("| %s | %s |\n", name, r.cell(value))
		}
	}
	row("run", string(run.ID))
	row("started", run.StartedAt.UTC().Format(time.RFC3339))
	if !run.FinishedAt.IsZero() {
		row("finished", run.FinishedAt.UTC().Format(time.RFC3339))
		row("took", run.FinishedAt.Sub(run.StartedAt).Round(time.Millisecond).String())
	}
	row("source", string(run.Source))
	row("repository", run.Started.Repository)
	if from := run.Started.ResumedFrom; from != nil {
		row(from.Words(), string(from.Run))
		row("its journal", from.File)
		if from.Fork != nil {
			row("its notebook", from.Fork.File)
		}
	}
	row("base commit", run.Contract.BaseCommit)
	if c := run.Completed; c != nil {
		row("result commit", c.ResultCommit)
		if c.Bundle != nil {
			row("commits", c.Bundle.File)
			row("their digest", string(c.Bundle.Digest))
		}
	}
	row("copied, by .worktreeinclude", strings.Join(run.Contract.WorktreeInclude, ", "))
	row("mode", run.Contract.MutationMode)
	row("approval", ApprovalWords(run))
	published, kept := result.DataWords(result.Data(run))
	row("data", published)
	row("ignored by Git", kept)
	row("tree", TreeWords(run.Tree))
	row("sandbox", SandboxWords(run.Started.Sandbox))
	row("made by", "markmill "+run.Started.Markmill+" on "+run.Started.Host)
	r.printf("\n")
	if run.Contract.DirtyFiles > 0 {
		r.printf("The checkout had %s with uncommitted changes (dirty: %s).\n\n",
			plain.Counted(run.Contract.DirtyFiles, "file"), r.text(run.Contract.Dirty))
	}
	if words := result.InPlaceWords(run.ChangedIn()); words != "" {
		r.printf("The steps changed the files%s.\n\n", words)
	} else if run.Completed != nil && run.Completed.SourceRepositoryMutated {
		r.printf("**The source repository was changed during the run.**\n\n")
	}
}

func (r *report) parameters() {
	if len(r.run.Contract.Parameters) == 0 {
		return
	}
	r.printf("## Parameters\n\n| name | type | value | from |\n| --- | --- | --- | --- |\n")
	for _, p := range r.run.Contract.Parameters {
		r.printf("| %s | %s | %s | %s |\n", r.cell(p.Name), r.text(p.Type), r.cell(string(result.ShownValue(p, nil))),
			r.text(p.From))
	}
	r.printf("\n")
}

func (r *report) steps() {
	r.printf("## Steps\n\n")
	if len(r.run.Steps) == 0 {
		r.printf("None was planned.\n\n")
		return
	}
	r.printf("| | step | how it ended | took | change |\n| --- | --- | --- | ---: | --- |\n")
	for _, s := range r.run.Steps {
		f := FactsOf(s)
		if r.run.Completed == nil && s.Step != nil && s.Finished == nil {
			f.Mark, f.Words = "…", "running" // nothing is known of its end yet
		}
		if s.Patch != nil && s.Patch.Ignored > 0 {
			f.Change += fmt.Sprintf(", %s ignored", plain.Counted(s.Patch.Ignored, "file"))
		}
		r.printf("| %s | %s | %s | %s | %s |\n", f.Mark, r.cell(string(s.Planned.ID)), r.text(f.Words), f.Took,
			r.text(f.Change))
	}
	r.printf("\n")
}

func (r *report) tests() {
	r.printf("## Tests\n\n")
	v := r.run.Verification
	switch {
	case v == nil:
		r.printf("Not checked: the run did not get there.\n\n")
	case v.Skipped != "":
		r.printf("Not checked: %s.\n\n", r.text(v.Skipped))
	case len(v.Steps) == 0:
		r.printf("No step has the tag %s: nothing was tested.\n\n", safe.CodeSpan(notebooks.TagTest))
	default:
		for _, s := range v.Steps {
			r.printf("- %s %s: exit %d, %s", result.StatusMark(string(s.Status)), r.code(string(s.Step)), s.Exit,
				Duration(time.Duration(s.DurationNS)))
			if s.Tests != nil {
				r.printf(", %s", result.TestWords(s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped, s.Tests.From,
					r.text(s.Tests.Runner)))
			}
			r.printf("\n")
		}
		r.printf("\nThe whole log: %s\n\n", safe.CodeSpan(runs.TestLogFile))
	}
}

func (r *report) change() {
	r.printf("## Change\n\n")
	d := r.run.Diff
	switch {
	case d == nil:
		r.printf("Not checked: the run did not get there.\n\n")
		return
	case d.Skipped != "":
		r.printf("Not checked: %s.\n\n", r.text(d.Skipped))
		return
	case len(d.Files) == 0:
		r.printf("Nothing changed.\n\n")
		return
	}
	r.printf("%s:\n\n| | file | + | − |\n| --- | --- | ---: | ---: |\n", ChangeWords(d.Files))
	for i, f := range d.Files {
		if i == maxListed {
			break
		}
		name := r.cell(f.Path)
		if f.OldPath != "" {
			name = r.cell(f.OldPath) + " → " + name
		}
		if f.Binary {
			name += " (binary)"
		}
		r.printf("| %s | %s | %d | %d |\n", r.text(f.Status), name, f.Added, f.Deleted)
	}
	r.printf("\n")
	if n := len(d.Files) - maxListed; n > 0 {
		r.printf("… and %s.\n\n", plain.Counted(n, "file"))
	}
	for _, path := range d.Disallowed {
		r.printf("- not allowed: %s\n", r.code(path))
	}
	if len(d.Disallowed) > 0 {
		r.printf("\n")
	}
	r.printf("As a patch: %s\n\n", r.code(d.Patch))
}

func (r *report) checks() {
	checks := r.run.Checks()
	if len(checks) == 0 {
		return
	}
	r.printf("## Checks\n\n| check | step | state | value | message |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range checks[:min(len(checks), maxListed)] {
		r.printf("| %s | %s | %s | %s | %s |\n", r.cell(c.Name), r.code(string(c.Step)), r.text(string(c.State)),
			r.cell(strings.TrimSpace(string(c.Value)+" "+c.Unit)), r.cell(c.Message))
	}
	r.printf("\n")
	if n := len(checks) - maxListed; n > 0 {
		r.printf("… and %s.\n\n", plain.Counted(n, "check"))
	}
}

func (r *report) scraps() {
	scraps := r.run.Scraps()
	if len(scraps) == 0 {
		return
	}
	r.printf("## Scraps\n\n| name | type | value |\n| --- | --- | --- |\n")
	for i, s := range scraps {
		if i == maxListed {
			break
		}
		value := string(s.Value)
		if s.File != "" {
			value = s.File
		}
		r.printf("| %s | %s | %s |\n", r.cell(s.Name), r.text(s.Type), r.cell(value))
	}
	r.printf("\n")
	if n := len(scraps) - maxListed; n > 0 {
		r.printf("… and %s.\n\n", plain.Counted(n, "scrap"))
	}
}

// evidence lists what stands beside the report, and how to check it.
func (r *report) evidence() {
	r.printf("## Evidence\n\n")
	type file struct{ name, what string }
	id := r.clean.OneLine(strings.ReplaceAll(string(r.run.ID), "`", ""), 200)
	list := []file{
		{r.run.Started.SourceFile, "the exact source that ran"},
		{runs.JournalFile, "the journal, one event a line, each linked to the one before by its hash"},
	}
	for i, name := range r.run.OutputFiles() {
		what := "the output notebook"
		if i > 0 {
			what = "the same in the form of OUTPUT"
		}
		if r.run.Left(name) != nil {
			what += fmt.Sprintf(", not kept here: `markmill convert %s %s` makes it again", id, name)
		}
		list = append(list, file{name, what})
	}
	for _, f := range append(list, []file{
		{runs.StepsDir + "/", "what every step printed, whole, and its patch"},
		{runs.PatchFile, "the whole change, for `git apply`"},
		{runs.TestLogFile, "the output of the test steps"},
		{runs.ReportFile, "this report for machines"},
		{runs.SumsFile, "digests of all of these, for `sha256sum -c`"},
	}...) {
		if f.name != "" {
			r.printf("- %s: %s\n", r.code(f.name), f.what)
		}
	}
	r.printf("\nTo check it all again: `markmill verify %s`\n", id)
}

package runview

import (
	"fmt"
	"path/filepath"
	"strings"

	"markmill/cmd/internal/program"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/result"
	"markmill/runs"
)

// RunDocument is what run --json and show --json print: report.json, and what a program needs to continue.
type RunDocument struct {
	*runs.Report
	RunDir       string               `json:"run_dir"` // absolute
	Verdict      string               `json:"verdict"` // how it ended, in the words of every view
	Blockers     []runs.Cause         `json:"blockers"`
	Cause        *render.Cause        `json:"cause"` // null for a run with nothing against it
	Consequences []render.Consequence `json:"consequences"`
	// Decisions are those of operators on the run, the oldest first.
	Decisions []runs.DecisionSummary `json:"decisions,omitempty"`
}

// PrintRun prints the document of one run.
func PrintRun(a *program.App, run *runs.Run, dir string) error {
	doc, err := Document(a, run, dir)
	if err != nil {
		return err
	}
	return a.PrintJSON("run", doc)
}

// Document is the document of one run. The report is made when the record has none.
func Document(a *program.App, run *runs.Run, dir string) (*RunDocument, error) {
	report, err := runs.At(dir).ReadReport()
	if err != nil {
		if report, err = runs.At(dir).Report(run, nil); err != nil {
			return nil, err
		}
	}
	doc := &RunDocument{Report: report, Verdict: strings.Join(result.VerdictOf(run), " · "),
		Blockers: []runs.Cause{}, Consequences: []render.Consequence{}}
	if doc.RunDir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, c := range run.Causes() {
		c.Blocker = run.Located(c.Blocker)
		doc.Blockers = append(doc.Blockers, c)
	}
	if doc.Decisions, err = decisions(a, dir); err != nil {
		return nil, err
	}
	nb, _ := recorded(run, dir) // without it the cause has no line of code
	cause, led := render.Causes(run, nb, runs.At(dir))
	doc.Cause, doc.Consequences = cause, append(doc.Consequences, led...)
	return doc, nil
}

// recorded is the notebook of a run, from its copy in the record.
func recorded(run *runs.Run, dir string) (*notebooks.Notebook, error) {
	source, err := runs.At(dir).ReadFile(run.Started.SourceFile)
	if err != nil {
		return nil, fmt.Errorf("the source of the run: %w", err)
	}
	return render.Recorded(run, source)
}

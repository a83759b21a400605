package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"markmill/cmd/api"
	"markmill/cmd/markmill/child"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
)

// printJSON prints an object for programs (api.Document). A command prints one, so a later error goes to standard error
// only.
func (con *console) printJSON(document string, v any) error {
	text, err := api.Document(document, v)
	if err != nil {
		return err
	}
	con.printed = true
	if term.IsTerminal(int(con.stdout.Fd())) {
		text = []byte(plain.EscapeJSON(string(text)))
	}
	_, err = con.stdout.Write(text)
	return err
}

// schemaLine is room for the line that printJSON adds.
const schemaLine = 64

// jsonFlag is the option of a command that can print one document.
func jsonFlag(c *cobra.Command, to *bool, document string) {
	c.Flags().BoolVar(to, "json", false, jsonWords(document))
}

func jsonWords(document string) string {
	return "print one JSON object (docs/schemas/" + document + ".json)"
}

// wantsJSON reports whether a command line asks for JSON. It looks at the words, because the flag package stops at the
// first wrong option.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// errorDocument is the document of a command that failed.
func errorDocument(err error) child.Errors {
	doc := child.Errors{ExitCode: exitOf(err)}
	for _, e := range flatten(err) {
		kind := string(e.Kind)
		if e.Kind == notebooks.KindInternal && doc.ExitCode == exitUsage {
			kind = "usage"
		}
		doc.Errors = append(doc.Errors, child.Mistake{Kind: kind, File: e.File, Line: e.Line, Column: e.Col,
			Step: string(e.Step), Message: e.Msg, Hint: e.Hint})
	}
	doc.Error = doc.Errors[0]
	return doc
}

// runDocument is what run --json and show --json print: report.json, and what a program needs to continue.
type runDocument struct {
	*runs.Report
	RunDir       string               `json:"run_dir"` // absolute
	Blockers     []runs.Cause         `json:"blockers"`
	Cause        *render.Cause        `json:"cause"` // null for a run with nothing against it
	Consequences []render.Consequence `json:"consequences"`
	// Decisions are those of operators on the run, the oldest first.
	Decisions []runs.DecisionSummary `json:"decisions,omitempty"`
}

// printRun prints the document of one run. The report is made when the record has none.
func (a *app) printRun(run *runs.Run, dir string) error {
	report, err := runs.At(dir).ReadReport()
	if err != nil {
		if report, err = runs.At(dir).Report(run, nil); err != nil {
			return err
		}
	}
	doc := runDocument{Report: report, Blockers: []runs.Cause{}, Consequences: []render.Consequence{}}
	if doc.RunDir, err = filepath.Abs(dir); err != nil {
		return err
	}
	for _, c := range run.Causes() {
		c.Blocker = run.Located(c.Blocker)
		doc.Blockers = append(doc.Blockers, c)
	}
	if doc.Decisions, err = a.decisions(dir); err != nil {
		return err
	}
	nb, _ := recorded(run, dir) // without it the cause has no line of code
	cause, led := render.Causes(run, nb, runs.At(dir))
	doc.Cause, doc.Consequences = cause, append(doc.Consequences, led...)
	return a.printJSON("run", doc)
}

// recorded is the notebook of a run, from its copy in the record.
func recorded(run *runs.Run, dir string) (*notebooks.Notebook, error) {
	source, err := runs.At(dir).ReadFile(run.Started.SourceFile)
	if err != nil {
		return nil, fmt.Errorf("the source of the run: %w", err)
	}
	return render.Recorded(run, source)
}

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/render"
)

// finding is one line of check --json.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitzero"`
	Col      int    `json:"col,omitzero"`
	Step     string `json:"step,omitzero"`
	Severity string `json:"severity"` // error, warning
	Kind     string `json:"kind"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitzero"`
}

func (a *app) checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "check NOTEBOOK…", Short: "Name everything that run would refuse before it starts",
		Long: `Reads notebooks and prints every mistake with file, line and column, what was expected and how to
mend it. Nothing runs and nothing is written.

Exit codes: 0 no errors (there may be warnings), 2 errors.`,
		Example: "  markmill check examples/*.md\n  markmill check --json task.md",
		Args:    args(1, -1),
		RunE: func(_ *cobra.Command, files []string) error {
			var all []finding
			failed := false
			for _, file := range files {
				warnings, err := a.check(file)
				for _, w := range warnings {
					all = append(all, newFinding(w, "warning"))
				}
				for _, e := range flatten(err) {
					failed = true
					all = append(all, newFinding(e, "error"))
				}
			}
			if err := a.printFindings(all, asJSON); err != nil {
				return err
			}
			if failed {
				return exit(exitUsage)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return c
}

func newFinding(e *notebooks.Error, severity string) finding {
	return finding{File: e.File, Line: e.Line, Col: e.Col, Step: string(e.Step), Severity: severity, Kind: string(e.Kind), Message: e.Msg, Hint: e.Hint}
}

func (a *app) printFindings(all []finding, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []finding{}
		}
		return a.printJSON(all)
	}
	for _, f := range all {
		e := notebooks.Error{File: f.File, Line: f.Line, Col: f.Col, Step: notebooks.StepID(f.Step), Msg: f.Severity + ": " + f.Message, Hint: f.Hint}
		if _, err := fmt.Fprintln(a.stdout, escapeLines(e.Error())); err != nil {
			return err
		}
	}
	return nil
}

// check plans a run of one notebook, required parameters left open.
func (a *app) check(file string) ([]*notebooks.Error, error) {
	src, err := a.readSource(file, false, false)
	if err != nil {
		return nil, err
	}
	eng, repo, err := a.engineFor(file, "")
	if err != nil {
		return nil, err
	}
	req := engine.Request{Path: name(file), Source: src, Repository: repo}
	warnings, err := eng.Check(req)
	if err != nil {
		return warnings, err
	}
	nb, err := forms.Parse(req.Path, req.Source)
	if err != nil {
		return warnings, err
	}
	return warnings, render.CheckNormalize(nb)
}

// flatten is every error of one.
func flatten(err error) []*notebooks.Error {
	var list notebooks.ErrorList
	var one *notebooks.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list):
		return list
	case errors.As(err, &one):
		return []*notebooks.Error{one}
	}
	return []*notebooks.Error{{Kind: notebooks.KindInternal, Msg: err.Error(), Err: err}}
}

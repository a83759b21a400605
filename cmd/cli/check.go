package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/safe"
)

// checkedNotebooks is what check --json prints.
type checkedNotebooks struct {
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`
}

// finding is one mistake or warning.
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
	var asJSON, show bool
	c := &cobra.Command{
		Use: "check PATH…", Short: "Report every mistake with its place, before anything runs",
		Long: `Reads notebooks and prints every mistake with file, line and column, what was expected and how to fix it.
Nothing runs and nothing is written. In a folder it checks all notebooks: the files that have steps or are
the output of a run, except those that Git ignores, those in hidden folders and those in node_modules.

--show shows what a notebook takes instead (parameters with type, default and help), what it would run, and what must
be true before and after.

Exit codes: 0 no errors (there may be warnings), 2 errors.`,
		Example: "  markmill check examples/*.md\n  markmill check notebooks\n  markmill check --show task.md\n" +
			"  markmill check --show --json task.md | jq '.steps[].id'",
		Args: args(1, -1),
		RunE: func(c *cobra.Command, paths []string) error {
			list, err := a.checkFiles(c.Context(), paths)
			if err != nil {
				return err
			}
			if show {
				return a.showFiles(list, asJSON)
			}
			doc, read, steps := checkedNotebooks{Findings: []finding{}}, 0, 0
			for _, file := range list {
				nb, err := a.check(file)
				if nb == nil && err == nil {
					continue
				}
				read++
				if nb != nil {
					steps += len(nb.Steps)
				}
				doc.add(nb, err)
			}
			if read == 0 {
				return usagef("there is no notebook in %s: no file with a step", strings.Join(paths, ", "))
			}
			if err := a.printFindings(doc, asJSON); err != nil {
				return err
			}
			words := "no mistakes"
			if doc.Errors > 0 {
				words = plain.Counted(doc.Errors, "mistake")
			}
			if doc.Warnings > 0 {
				words += ", " + plain.Counted(doc.Warnings, "warning")
			}
			fmt.Fprintf(a.stderr, "%s, %s: %s\n", plain.Counted(read, "notebook"), plain.Counted(steps, "step"), words)
			if doc.Errors > 0 {
				return exit(exitUsage)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&show, "show", false, "show the parameters, steps and gates of each notebook")
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON object (docs/schemas/check.json; with --show, of one notebook, inspect.json)")
	return c
}

// showFiles shows the parameters, steps and gates of notebooks.
func (a *app) showFiles(list []files.File, asJSON bool) error {
	if asJSON && len(list) != 1 {
		return usagef("--show --json prints one notebook, and there are %d", len(list))
	}
	shown := 0
	for _, file := range list {
		if !file.Named { // what was only found may be no notebook
			if nb, err := a.check(file); nb == nil && err == nil {
				continue
			}
		}
		src, err := a.readSource(file.Path, false, false)
		if err != nil {
			return err
		}
		eng, repo, err := a.engineFor(file.Path, "")
		if err != nil {
			return err
		}
		if shown++; shown > 1 {
			fmt.Fprintln(a.stdout)
		}
		req := engine.Request{Path: name(file.Path), Source: src, Repository: api.RootOf(repo)}
		if err := a.inspect(eng, req, asJSON); err != nil {
			return err
		}
	}
	if shown == 0 {
		return usagef("there is no notebook there: no file with a step")
	}
	return nil
}

// add adds what was found in a notebook, which is nil where it cannot be read.
func (d *checkedNotebooks) add(nb *notebooks.Notebook, err error) {
	if nb != nil {
		d.Warnings += len(nb.Warnings)
		for _, w := range nb.Warnings {
			d.Findings = append(d.Findings, newFinding(w, "warning"))
		}
	}
	for _, e := range flatten(err) {
		d.Errors++
		d.Findings = append(d.Findings, newFinding(e, "error"))
	}
}

// checkFiles lists the files to check. Those that were only found are left out where Git ignores them.
func (a *app) checkFiles(ctx context.Context, paths []string) (list []files.File, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if folder := err == nil && info.IsDir(); path == "-" || remote.Is(path) || !folder && !files.IsPattern(path) {
			list = append(list, files.File{Path: path, Named: true})
			continue
		}
		found, err := files.Find([]string{path})
		if err != nil {
			return nil, usage{err}
		}
		for _, f := range files.WithoutIgnored(ctx, path, found) {
			same := func(g files.File) bool { return files.Absolute(f.Path) == files.Absolute(g.Path) }
			if !slices.ContainsFunc(list, same) {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

func newFinding(e *notebooks.Error, severity string) finding {
	return finding{File: e.File, Line: e.Line, Col: e.Col, Step: string(e.Step), Severity: severity,
		Kind:    string(e.Kind),
		Message: e.Msg, Hint: e.Hint}
}

func (a *app) printFindings(doc checkedNotebooks, asJSON bool) error {
	if asJSON {
		return a.printJSON("check", doc)
	}
	for _, f := range doc.Findings {
		e := notebooks.Error{File: f.File, Line: f.Line, Col: f.Col, Step: notebooks.StepID(f.Step),
			Msg: f.Severity + ": " + f.Message, Hint: f.Hint}
		if _, err := fmt.Fprintln(a.stdout, escapeLines(e.Error())); err != nil {
			return err
		}
	}
	return nil
}

// check checks a file. It returns nil for one that was only found and is no notebook.
func (a *app) check(file files.File) (*notebooks.Notebook, error) {
	raw, err := a.readAny(file.Path)
	if err != nil {
		if !file.Named {
			return nil, nil
		}
		return nil, err
	}
	markdown := !isJupyter(file.Path, raw) && !isScript(file.Path, raw)
	output := markdown && region.Strip(name(file.Path), raw).Manifest != nil
	src, _, err := sourceOf(file.Path, raw, false, false)
	if err != nil {
		if !file.Named && !output {
			return nil, nil
		}
		return nil, err
	}
	nb, err := a.checkSource(file.Path, src)
	if nb != nil && !file.Named && !output && len(nb.Steps) == 0 && len(nb.Params) == 0 {
		return nil, nil
	}
	return nb, err
}

// checkSource plans a run of the notebook that a file has, or is to have, without values for required parameters.
func (a *app) checkSource(path string, src []byte) (*notebooks.Notebook, error) {
	eng, repo, err := a.engineFor(path, "")
	if err != nil {
		return nil, err
	}
	nb, err := eng.Check(engine.Request{Path: name(path), Source: src, Repository: api.RootOf(repo)})
	return nb, errors.Join(err, safe.CheckNormalize(nb))
}

// flatten lists the errors that an error joins.
func flatten(err error) []*notebooks.Error {
	var list notebooks.ErrorList
	var one *notebooks.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*notebooks.Error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		slices.SortStableFunc(all, func(a, b *notebooks.Error) int { return cmp.Compare(a.Line, b.Line) })
		return all
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list) && len(list) > 0:
		return list
	case errors.As(err, &one):
		return []*notebooks.Error{one}
	}
	return []*notebooks.Error{{Kind: notebooks.KindInternal, Msg: err.Error(), Err: err}}
}

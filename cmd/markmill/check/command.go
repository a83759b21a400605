package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/render/terminal"
)

// CheckedNotebooks is what check --json prints.
type CheckedNotebooks struct {
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`

	read, steps int
}

// Finding is one mistake or warning.
type Finding struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitzero"`
	Col      int    `json:"col,omitzero"`
	Step     string `json:"step,omitzero"`
	Severity string `json:"severity"` // error, warning
	Kind     string `json:"kind"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitzero"`
}

func Command(a *program.App) *cobra.Command {
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
		Args: program.Args(1, -1),
		RunE: func(c *cobra.Command, paths []string) error {
			if show {
				return showFiles(c.Context(), a, paths, asJSON)
			}
			doc, err := Paths(c.Context(), a, paths, nil)
			if err != nil {
				return err
			}
			if err := printFindings(a, doc, asJSON); err != nil {
				return err
			}
			words := "no mistakes"
			if doc.Errors > 0 {
				words = plain.Counted(doc.Errors, "mistake")
			}
			if doc.Warnings > 0 {
				words += ", " + plain.Counted(doc.Warnings, "warning")
			}
			fmt.Fprintf(a.Stderr, "%s, %s: %s\n", plain.Counted(doc.read, "notebook"),
				plain.Counted(doc.steps, "step"), words)
			if doc.Errors > 0 {
				return program.Exit(program.ExitUsage)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&show, "show", false, "show the parameters, steps and gates of each notebook")
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON object (docs/schemas/check.json; with --show, of one notebook, inspect.json)")
	return c
}

// Paths checks the notebooks that paths name. read says which of the files are read; nil is all.
func Paths(ctx context.Context, a *program.App, paths []string, read func(path string) bool) (doc CheckedNotebooks,
	err error) {
	list, err := checkFiles(ctx, a, paths)
	doc.Findings = []Finding{}
	for _, file := range list {
		if read != nil && !read(file.Path) {
			continue
		}
		nb, err := Check(a, file)
		if nb == nil && err == nil {
			continue
		}
		doc.read++
		if nb != nil {
			doc.steps += len(nb.Steps)
		}
		doc.Add(nb, err)
		if ctx.Err() != nil {
			return doc, context.Cause(ctx)
		}
	}
	if err == nil && doc.read == 0 {
		err = program.Usagef("there is no notebook in %s: no file with a step", strings.Join(paths, ", "))
	}
	return doc, err
}

// showFiles shows the parameters, steps and gates of notebooks.
func showFiles(ctx context.Context, a *program.App, paths []string, asJSON bool) error {
	list, err := checkFiles(ctx, a, paths)
	if err != nil {
		return err
	}
	if asJSON && len(list) != 1 {
		return program.Usagef("--show --json prints one notebook, and there are %d", len(list))
	}
	shown := 0
	for _, file := range list {
		if !file.Named { // what was only found may be no notebook
			if nb, err := Check(a, file); nb == nil && err == nil {
				continue
			}
		}
		eng, req, err := requestOf(a, file.Path)
		if err != nil {
			return err
		}
		if shown++; shown > 1 {
			fmt.Fprintln(a.Stdout)
		}
		if err := Inspect(a, eng, req, asJSON); err != nil {
			return err
		}
	}
	if shown == 0 {
		return program.Usagef("there is no notebook there: no file with a step")
	}
	return nil
}

// requestOf is the run of a notebook that a path names, without values.
func requestOf(a *program.App, path string) (eng *engine.Engine, req engine.Request, err error) {
	src, err := a.ReadSource(path, false, false)
	if err != nil {
		return nil, req, err
	}
	eng, repo, err := a.EngineFor(path, "")
	return eng, engine.Request{Path: program.Name(path), Source: src, Repository: engines.RootOf(repo)}, err
}

// Inspected is what check --show --json prints of a notebook.
func Inspected(a *program.App, path string) (doc api.Inspected, err error) {
	eng, req, err := requestOf(a, path)
	if err != nil {
		return doc, err
	}
	nb, narrowed, err := eng.Narrow(req)
	if err != nil {
		return doc, err
	}
	return api.NewInspected(nb, narrowed), nil
}

// Add adds what was found in a notebook, which is nil where it cannot be read.
func (d *CheckedNotebooks) Add(nb *notebooks.Notebook, err error) {
	if nb != nil {
		d.Warnings += len(nb.Warnings)
		for _, w := range nb.Warnings {
			d.Findings = append(d.Findings, newFinding(w, "warning"))
		}
	}
	for _, e := range program.Flatten(err) {
		d.Errors++
		d.Findings = append(d.Findings, newFinding(e, "error"))
	}
}

// checkFiles lists the files to check. Those that were only found are left out where Git ignores them.
func checkFiles(ctx context.Context, a *program.App, paths []string) (list []files.File, err error) {
	for _, path := range paths {
		info, err := os.Stat(a.Path(path))
		if folder := err == nil && info.IsDir(); path == "-" || remote.Is(path) || !folder && !files.IsPattern(path) {
			list = append(list, files.File{Path: path, Named: true})
			continue
		}
		found, err := files.Find([]string{a.Path(path)})
		if err != nil {
			return nil, program.AsUsage(err)
		}
		for _, f := range files.WithoutIgnored(ctx, a.Path(path), found) {
			same := func(g files.File) bool { return files.Absolute(f.Path) == files.Absolute(a.Path(g.Path)) }
			if !slices.ContainsFunc(list, same) {
				list = append(list, files.File{Path: a.Word(f.Path), Named: f.Named})
			}
		}
	}
	return list, nil
}

func newFinding(e *notebooks.Error, severity string) Finding {
	return Finding{File: e.File, Line: e.Line, Col: e.Col, Step: string(e.Step), Severity: severity,
		Kind:    string(e.Kind),
		Message: e.Msg, Hint: e.Hint}
}

func printFindings(a *program.App, doc CheckedNotebooks, asJSON bool) error {
	if asJSON {
		return a.PrintJSON("check", doc)
	}
	for _, f := range doc.Findings {
		e := notebooks.Error{File: f.File, Line: f.Line, Col: f.Col, Step: notebooks.StepID(f.Step),
			Msg: f.Severity + ": " + f.Message, Hint: f.Hint}
		if _, err := fmt.Fprintln(a.Stdout, program.EscapeLines(e.Error())); err != nil {
			return err
		}
	}
	return nil
}

// Check checks a file. It returns nil for one that was only found and is no notebook.
func Check(a *program.App, file files.File) (*notebooks.Notebook, error) {
	raw, err := a.ReadAny(file.Path)
	if err != nil {
		if !file.Named {
			return nil, nil
		}
		return nil, err
	}
	markdown := !program.IsJupyter(file.Path, raw) && !program.IsScript(file.Path, raw)
	output := markdown && region.Strip(program.Name(file.Path), raw).Manifest != nil
	src, _, err := program.SourceOf(file.Path, raw, false, false)
	if err != nil {
		if !file.Named && !output {
			return nil, nil
		}
		return nil, err
	}
	nb, err := CheckSource(a, file.Path, src)
	if nb != nil && !file.Named && !output && len(nb.Steps) == 0 && len(nb.Params) == 0 {
		return nil, nil
	}
	return nb, err
}

// CheckSource plans a run of the notebook that a file has, or is to have, without values for required parameters.
func CheckSource(a *program.App, path string, src []byte) (*notebooks.Notebook, error) {
	eng, repo, err := a.EngineFor(path, "")
	if err != nil {
		return nil, err
	}
	nb, err := eng.Check(engine.Request{Path: program.Name(path), Source: src, Repository: engines.RootOf(repo)})
	return nb, errors.Join(err, safe.CheckNormalize(nb))
}

// Inspect shows a notebook, with the values of the command line instead of the defaults.
func Inspect(a *program.App, eng *engine.Engine, req engine.Request, asJSON bool) error {
	nb, narrowed, err := eng.Narrow(req)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON("inspect", api.NewInspected(nb, narrowed))
	}
	// A notebook is shown without values for its required parameters.
	declared := slices.Clone(nb.Params)
	for i := range declared {
		declared[i].Required = false
	}
	bound, err := params.Bind(req.Path, declared, req.Given,
		params.Options{AllowUnknown: req.AllowUnknown, Getenv: a.Getenv})
	if err != nil {
		return err
	}
	return terminal.Inspect(a.Stdout, nb, bound, narrowed, a.Colour(a.Stdout))
}

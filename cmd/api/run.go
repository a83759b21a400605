package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/render/safe"
	"markmill/runs"
)

// Options configure a run. The zero value runs a notebook in its folder, as `markmill run NOTEBOOK` does.
type Options struct {
	// Parameters are values by name. They must marshal to JSON: numbers, strings, booleans, slices, maps. A name that
	// the notebook does not declare is an error.
	Parameters map[string]any
	// Repository is a folder in a Git repository. If it is empty, the run uses the repository around the notebook, or
	// outside of one the notebook's folder.
	Repository string
	Store      string // folder that keeps the records; "": .markmill of the repository, else a folder of the user's
	// Request may change the engine's request before it is planned. It may be nil.
	Request func(*engine.Request)
	// Observe receives every event as it is recorded, on the run's goroutine. It may be nil.
	Observe func(runs.Event)
}

// Result is a finished run with its record on disk.
type Result struct {
	*engine.Result
	Notebook []byte // the output notebook, in the form of the source
}

// Run runs a notebook of any form. A notebook that failed gives a Result whose Status says so; Run returns an error
// only if the notebook could not be run, for mistakes in it a notebooks.ErrorList. Canceling ctx stops the running
// step.
func Run(ctx context.Context, notebook string, o Options) (*Result, error) {
	folder := o.Repository
	if folder == "" {
		folder = filepath.Dir(notebook)
	}
	eng, repo, err := engines.New(folder)
	if err != nil {
		return nil, err
	}
	if o.Store != "" {
		dir, err := filepath.Abs(o.Store)
		if err != nil {
			return nil, err
		}
		eng.Store = func(string) runs.Store { return runs.Store{Dir: dir} }
	}
	req := engine.Request{Path: filepath.ToSlash(notebook)}
	if req.Given, err = given(o.Parameters); err != nil {
		return nil, err
	}
	if req.Source, err = files.Source(notebook, len(req.Given) > 0); err != nil {
		return nil, err
	}
	if repo != nil {
		req.Repository = repo.Root()
	} else if req.Folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	if !forms.IsJupyter(req.Path, req.Source) {
		req.Assets = views.AssetsFolder("")
	}
	if src, err := os.ReadFile(notebook); err == nil {
		req.MadeOf = forms.MadeOf(req.Path, src)
	}
	if o.Request != nil {
		o.Request(&req)
	}
	plan, err := eng.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := safe.CheckNormalize(plan.Notebook()); err != nil {
		return nil, err
	}
	got, err := eng.Run(ctx, plan, engine.Sinks{Views: views.Views(), Observers: []engine.Observer{{Event: o.Observe}}})
	if err != nil {
		return nil, err
	}
	b, err := runs.At(got.Dir).ReadFile(got.Run.OutputFile())
	return &Result{Result: got, Notebook: b}, err
}

// given converts a program's values to parameters.
func given(values map[string]any) ([]params.Given, error) {
	if len(values) == 0 {
		return nil, nil
	}
	b, err := codec.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("the parameters cannot be written as JSON: %w", err)
	}
	return params.ParseGiven("program", "", b)
}

// Status is how the run ended.
func (r *Result) Status() runs.Status { return r.Run.Status() }

// Scraps returns the recorded values by name; if a name was recorded more than once, the last value.
func (r *Result) Scraps() map[string]runs.ScrapData {
	out := map[string]runs.ScrapData{}
	for _, s := range r.Run.Scraps() {
		out[s.Name] = s
	}
	return out
}

// Output returns what a step wrote to standard output and standard error, nothing if it did not run.
func (r *Result) Output(step notebooks.StepID) (stdout, stderr []byte, err error) {
	i := slices.IndexFunc(r.Run.Steps, func(s runs.StepRecord) bool { return s.Planned.ID == step })
	if i < 0 {
		return nil, nil, fmt.Errorf("the notebook has no step %q", step)
	}
	read := func(stream runs.StreamData) (text []byte) {
		if err == nil && stream.File != "" {
			text, err = runs.At(r.Dir).ReadFile(stream.File)
		}
		return text
	}
	if f := r.Run.Steps[i].Finished; f != nil {
		stdout, stderr = read(f.Stdout), read(f.Stderr)
	}
	return stdout, stderr, err
}

// Verify checks the record in a run directory, as `markmill verify` does.
func Verify(dir string) (*runs.Verification, error) {
	return runs.At(dir).Verify(views.FoldView, runs.Signers{})
}

package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/lookup"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/status"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/render/documents"
	"markmill/render/review"
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

// Status is which outputs still hold.
type Status = status.Status

// NewEngine returns an engine with the settings of the repository around a folder, and that repository (nil outside of
// one). If the program markmill is on the PATH, steps have the commands glue and scrap, and the sandbox is complete.
func NewEngine(folder string) (*engine.Engine, *worktree.Source, error) { return engines.New(folder) }

// Rebuild writes the files again that follow from a journal, for runs.Record.Reconcile.
func Rebuild(record *runs.Record, run *runs.Run) error { return records.Rebuild(record, run) }

// Diff compares two notebooks, output notebooks, run directories or paths of a revision (REV:PATH), as `markmill diff`
// does.
func Diff(a, b string, how diff.Options) (*diff.Diff, error) {
	before, err := lookup.Reader{}.Side(a)
	if err != nil {
		return nil, err
	}
	after, err := lookup.Reader{}.Side(b)
	if err != nil {
		return nil, err
	}
	return diff.Compare(before.Doc, after.Doc, how), nil
}

// Scraps reads what runs recorded: of run directories, output notebooks, and folders of them. What cannot be read is in
// the errors, by its name.
func Scraps(places ...string) (list []*documents.Recorded, unread map[string]error, err error) {
	found, err := lookup.Reader{}.Places(places)
	if err != nil {
		return nil, nil, err
	}
	unread = map[string]error{}
	lookup.Reader{}.Scraps(found, func(r *documents.Recorded) { list = append(list, r) },
		func(place string, err error) { unread[place] = err })
	return list, unread, nil
}

// StatusOf says which outputs of the repository around a folder still hold, as `markmill status` does. at is a
// revision; "" is the checkout.
func StatusOf(ctx context.Context, folder, at string) (*Status, error) {
	eng, repo, err := repository(folder)
	if err != nil {
		return nil, err
	}
	return status.Of(ctx, repo, status.Options{At: at, Store: eng.Store(repo.Root())})
}

// Review compares the notebooks of two revisions of the repository around a folder, as `markmill review` does without
// its judges: BASE..HEAD, BASE...HEAD, or "" for the checkout and where it left the default branch.
func Review(ctx context.Context, folder, revisions string) (*review.Review, error) {
	eng, repo, err := repository(folder)
	if err != nil {
		return nil, err
	}
	return branchreview.Review(ctx, repo, revisions, branchreview.Options{FailOn: review.DefaultFailOn,
		Store: eng.Store(repo.Root()), Now: time.Now()})
}

// repository is that around a folder, with its engine. Outside of one it returns worktree.ErrNoRepository.
func repository(folder string) (*engine.Engine, *worktree.Source, error) {
	eng, repo, err := engines.New(folder)
	if err == nil && repo == nil {
		err = worktree.ErrNoRepository
	}
	return eng, repo, err
}

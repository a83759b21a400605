package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/runs"
)

// Options say how a notebook is run. The zero value runs it as `markmill run NOTEBOOK` does in its folder.
type Options struct {
	// Parameters are values by name. They are what JSON can hold of them: numbers, texts, truth values, slices, maps.
	// One that the notebook does not declare is an error.
	Parameters map[string]any
	Repository string // folder in a Git repository; "": the one around the notebook, and without one the notebook's folder is worked in
	Store      string // folder that keeps the records; "": .markmill of the repository, else a folder of the user's
	// Request changes what is asked of the engine before it plans; nil changes nothing.
	Request func(*engine.Request)
	// Observe gets every event as it is recorded, from the run's goroutine; nil is none.
	Observe func(runs.Event)
}

// Result is a run that has ended and stands in its folder.
type Result struct {
	*engine.Result
	Notebook []byte // the output notebook, in the form of the source
}

// Run runs a notebook of any form and returns what came of it. A notebook that failed is a Result whose Status says so;
// the error means that it could not be run: a notebooks.ErrorList names every mistake in it. Cancelling ctx ends the
// step that runs.
func Run(ctx context.Context, notebook string, o Options) (*Result, error) {
	folder := o.Repository
	if folder == "" {
		folder = filepath.Dir(notebook)
	}
	eng, repo, err := NewEngine(folder)
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
	eng.Observe = o.Observe
	req := engine.Request{Path: filepath.ToSlash(notebook), Repository: repo}
	if req.Given, err = given(o.Parameters); err != nil {
		return nil, err
	}
	if req.Source, err = Source(notebook, len(req.Given) > 0); err != nil {
		return nil, err
	}
	if repo == nil {
		if req.Folder, err = filepath.Abs(folder); err != nil {
			return nil, err
		}
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
	if err := render.CheckNormalize(plan.Notebook); err != nil {
		return nil, err
	}
	if plan.Notebook.Form != ipynb.Form {
		plan.Request.Assets = strings.TrimSuffix(runs.OutputFile, filepath.Ext(runs.OutputFile)) + "_files"
	}
	got, err := eng.Run(ctx, plan)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(got.Dir, got.Run.OutputFile()))
	return &Result{Result: got, Notebook: b}, err
}

// Source reads a notebook as a run takes it: without what earlier runs left in it. given says that values are given:
// then the cells of those of an earlier run of a Jupyter notebook go, too. Outputs that were edited are an error.
func Source(notebook string, given bool) ([]byte, error) {
	src, err := os.ReadFile(notebook)
	if err != nil {
		return nil, err
	}
	if notebooks.IsJupyterName(notebook) {
		return jupyterSource(filepath.ToSlash(notebook), src, given)
	}
	if forms.IsPercent(notebook, src) { // no run leaves anything in it
		return src, nil
	}
	s := notebooks.Strip(filepath.ToSlash(notebook), src)
	if len(s.Problems) > 0 {
		return nil, s.Problems
	}
	return s.Source, nil
}

// jupyterSource is the source of a Jupyter notebook; a run takes an old one as what nbformat's converters make of it.
func jupyterSource(name string, src []byte, given bool) ([]byte, error) {
	nb, err := ipynb.Parse(name, src)
	if err == nil && nb.NBFormat < 4 {
		if src, err = nb.Upgraded(); err == nil {
			nb, err = ipynb.Parse(name, src)
		}
	}
	if err != nil {
		return nil, err
	}
	return ipynb.Source(nb, given), nil
}

// given are values of a program as parameters are given.
func given(values map[string]any) ([]notebooks.Given, error) {
	if len(values) == 0 {
		return nil, nil
	}
	b, err := codec.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("the parameters cannot be written as JSON: %w", err)
	}
	return notebooks.ParseGivenYAML("program", "", b)
}

// Status is how the run ended.
func (r *Result) Status() runs.Status { return r.Run.Status() }

// Scraps are the values that the steps recorded, by name; of several of one name the last.
func (r *Result) Scraps() map[string]runs.ScrapData {
	out := map[string]runs.ScrapData{}
	for _, s := range r.Run.Scraps() {
		out[s.Name] = s
	}
	return out
}

// Output is what a step printed on standard output and on standard error; nothing of a step that did not run.
func (r *Result) Output(step notebooks.StepID) (stdout, stderr []byte, err error) {
	for _, s := range r.Run.Steps {
		if s.Planned.ID != step {
			continue
		}
		if s.Finished == nil {
			return nil, nil, nil
		}
		for _, stream := range []struct {
			file string
			to   *[]byte
		}{{s.Finished.Stdout.File, &stdout}, {s.Finished.Stderr.File, &stderr}} {
			if stream.file == "" {
				continue
			}
			if *stream.to, err = os.ReadFile(filepath.Join(r.Dir, filepath.FromSlash(stream.file))); err != nil {
				return nil, nil, err
			}
		}
		return stdout, stderr, nil
	}
	return nil, nil, fmt.Errorf("the notebook has no step %q", step)
}

// Verify checks the record in a run directory, as `markmill runs verify` does.
func Verify(dir string) (*runs.Verification, error) {
	return runs.Verify(dir, FoldView, runs.Signers{})
}

// NewEngine is an engine with the settings of the repository around a folder, and that repository; nil without one. Its
// steps have the commands glue and scrap, and its sandbox all that it can hold, where the program markmill is on the
// PATH.
func NewEngine(folder string) (*engine.Engine, *worktree.Source, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, nil, err
	}
	root := ""
	repo, err := worktree.Open(folder)
	switch {
	case err == nil:
		root = repo.Root()
	case errors.Is(err, worktree.ErrNoRepository):
		repo = nil
	default:
		return nil, nil, err
	}
	cfg, err := engine.LoadConfig(root)
	if err != nil {
		return nil, nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "markmill")
	tools, err := exec.LookPath("markmill")
	if err == nil {
		tools, err = filepath.Abs(tools)
	}
	if err != nil {
		tools = ""
	}
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return &engine.Engine{Version: "program", Config: cfg, Cache: cache, Tools: tools, Getenv: os.LookupEnv, Now: time.Now, Random: rand.Reader, User: who, Views: Views(),
		Store: func(root string) runs.Store {
			if root == "" {
				return runs.Store{Dir: filepath.Join(cache, "runs")}
			}
			return runs.Store{Dir: filepath.Join(root, ".markmill")}
		}}, repo, nil
}

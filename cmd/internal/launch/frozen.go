package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/retest"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// frozen compares an output notebook with a run that must not change it.
type frozen struct {
	path string // of the output notebook
	want []byte
	read func(path string) ([]byte, error)
	told bool
	diff string // what would change, for people
}

// freeze reads the output notebook that run --frozen must not change.
func freeze(a *program.App, output string, o *Options) (*frozen, error) {
	for _, other := range []struct {
		name string
		set  bool
	}{{"--branch", o.Req.Branch != ""}, {"--prepare-only", o.PrepareOnly}} {
		if other.set {
			return nil, program.Usagef("--frozen writes nothing, and %s does; leave one of them out", other.name)
		}
	}
	switch output {
	case "":
		return nil, program.Usagef("--frozen needs the OUTPUT that must not change")
	case "-":
		return nil, program.Usagef("--frozen compares with the file OUTPUT, and - is none")
	}
	f := &frozen{path: output, read: func(path string) ([]byte, error) { return a.ReadBytes(path, files.MaxJupyter) }}
	var err error
	if f.want, err = f.read(output); err != nil {
		return nil, program.Usagef("--frozen: %v", err)
	}
	return f, nil
}

// beside is the path of a picture of the output notebook.
func (f *frozen) beside(picture string) string {
	if remote.Is(f.path) {
		return remote.Beside(f.path, picture)
	}
	return filepath.Join(filepath.Dir(f.path), filepath.FromSlash(picture))
}

// views are those of a run that does not write OUTPUT, with one that refuses when OUTPUT would change. The record keeps
// what a view refuses, as the reason of the verdict.
func (f *frozen) views(all []engine.View) []engine.View {
	var out []engine.View
	for _, v := range all {
		out = append(out, v)
		if v.Name == runs.OutputFile {
			out = append(out, engine.View{Name: "--frozen", Write: f.hold})
		}
	}
	return out
}

func (f *frozen) hold(in engine.ViewInput) error {
	if status := in.Run.Status(); f.told || !status.Passed() && status != runs.Fail {
		return nil
	}
	got, err := f.fresh(in)
	if err != nil {
		return err
	}
	var what []string
	if !bytes.Equal(f.want, got) {
		f.diff, what = retest.Differences(program.Name(f.path), f.want, got, in.Notebook)
	}
	assets := render.Assets(in.Run)
	if askedFile(in.Run) != runs.OutputFile { // it contains its pictures
		assets = nil
	}
	for _, asset := range assets {
		to := f.beside(asset.To)
		a, errA := f.read(to)
		if errA != nil && !errors.Is(errA, fs.ErrNotExist) { // the picture may be the same
			return errA
		}
		b, errB := runs.At(in.Dir).ReadFile(asset.From)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			what = append(what, "the picture "+asset.To)
			f.diff += "the picture " + plain.Escape(program.Name(to)) + " would change\n"
		}
	}
	if len(what) == 0 {
		return nil
	}
	f.told = true
	words := fmt.Sprintf("%s would change: %s", program.Name(f.path), plain.Some(what, 3))
	return engine.Refused{Code: runs.CodeOutputChanged, Words: words}
}

// fresh is what the run would write. A Jupyter notebook contains its own path, which the record of this run does not
// have.
func (f *frozen) fresh(in engine.ViewInput) ([]byte, error) {
	file := askedFile(in.Run)
	if file == runs.OutputFile {
		return runs.At(in.Dir).ReadFile(file)
	}
	path, err := program.Name(f.path), error(nil)
	if !remote.Is(f.path) {
		if path, err = filepath.Abs(f.path); err != nil {
			return nil, err
		}
	}
	in.Run = new(*in.Run)
	in.Run.Started.Output = path
	return views.OutputNotebook(in, file)
}

// show prints what would change: on standard output, or on standard error when another result goes there.
func (f *frozen) show(a *program.App, o *Options) error {
	var w io.Writer = a.Stdout
	if o.JSON || o.events == "-" || o.stdoutFile == "-" || o.stderrFile == "-" {
		w = a.Stderr
	}
	text := f.diff
	if a.OnGitHub() && text != "" {
		text = program.WithoutCommands(a.Random, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// Plan plans the run of a notebook that was read, and returns the path of OUTPUT with its placeholders expanded.
func Plan(ctx context.Context, a *program.App, eng *engine.Engine, path, output string, o *Options) (
	plan *engine.Plan, to string, err error) {
	if o.Req.ID, err = eng.NewID(o.Req.Path); err != nil {
		return nil, "", err
	}
	if output, err = views.OutputPath(output, eng, o.Req); err != nil {
		return nil, "", err
	}
	if err := o.CheckTargets(a.World, output); err != nil { // the names in it stand for values now
		return nil, "", err
	}
	o.inject(program.Name(path), output)
	if err := o.SetOutput(output); err != nil {
		return nil, "", a.OutputHint(err, output)
	}
	o.Req.Empty, o.Req.Observed = o.PrepareOnly && !o.Frozen, true
	if plan, err = eng.Plan(ctx, o.Req); err != nil {
		return nil, "", err
	}
	return plan, output, CheckViews(a, plan, output)
}

// CheckViews returns an error if the views cannot show the run of a plan.
func CheckViews(a *program.App, plan *engine.Plan, output string) error {
	if err := safe.CheckNormalize(plan.Notebook()); err != nil {
		return err
	}
	if err := render.CheckForm(plan.Request().OutputForm, plan.Notebook()); err != nil {
		return a.OutputHint(err, output)
	}
	return nil
}

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/api/retest"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/render"
	"markmill/render/plain"
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
func (a *app) freeze(output string, o *runOptions) (*frozen, error) {
	for _, other := range []struct {
		name string
		set  bool
	}{{"--branch", o.req.Branch != ""}, {"--prepare-only", o.prepareOnly}} {
		if other.set {
			return nil, usagef("--frozen writes nothing, and %s does; leave one of them out", other.name)
		}
	}
	switch output {
	case "":
		return nil, usagef("--frozen needs the OUTPUT that must not change")
	case "-":
		return nil, usagef("--frozen compares with the file OUTPUT, and - is none")
	}
	f := &frozen{path: output, read: func(path string) ([]byte, error) { return a.readBytes(path, files.MaxJupyter) }}
	var err error
	if f.want, err = f.read(output); err != nil {
		return nil, usagef("--frozen: %v", err)
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
		f.diff, what = retest.Differences(name(f.path), f.want, got, in.Notebook)
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
			f.diff += "the picture " + plain.Escape(name(to)) + " would change\n"
		}
	}
	if len(what) == 0 {
		return nil
	}
	f.told = true
	words := fmt.Sprintf("%s would change: %s", name(f.path), plain.Some(what, 3))
	return engine.Refused{Code: runs.CodeOutputChanged, Words: words}
}

// fresh is what the run would write. A Jupyter notebook contains its own path, which the record of this run does not
// have.
func (f *frozen) fresh(in engine.ViewInput) ([]byte, error) {
	file := askedFile(in.Run)
	if file == runs.OutputFile {
		return runs.At(in.Dir).ReadFile(file)
	}
	path, err := name(f.path), error(nil)
	if !remote.Is(f.path) {
		if path, err = filepath.Abs(f.path); err != nil {
			return nil, err
		}
	}
	in.Run = new(*in.Run)
	in.Run.Started.Output = path
	return api.OutputNotebook(in, file)
}

// show prints what would change: on standard output, or on standard error when another result goes there.
func (f *frozen) show(a *app, o *runOptions) error {
	var w io.Writer = a.stdout
	if o.json || o.events == "-" || o.stdoutFile == "-" || o.stderrFile == "-" {
		w = a.stderr
	}
	text := f.diff
	if a.onGitHub() && text != "" {
		text = withoutCommands(a.random, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

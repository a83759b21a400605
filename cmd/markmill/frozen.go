package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"markmill/cmd/api"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/plain"
	"markmill/runs"
)

// frozen holds an output notebook against a run that must leave it as it is.
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
	f := &frozen{path: output, read: func(path string) ([]byte, error) { return a.readBytes(path, maxJupyter) }}
	var err error
	if f.want, err = f.read(output); err != nil {
		return nil, usagef("--frozen: %v", err)
	}
	return f, nil
}

// beside is where a picture of the output notebook stands.
func (f *frozen) beside(picture string) string {
	if remote.Is(f.path) {
		return remote.Beside(f.path, picture)
	}
	return filepath.Join(filepath.Dir(f.path), filepath.FromSlash(picture))
}

// views are those of a run, which leave OUTPUT alone and refuse where it would change. What a view refuses stands in
// the record, so that the verdict and its reason are kept.
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
		f.diff, what = f.differences(in.Notebook, got)
	}
	assets := render.Assets(in.Run)
	if askedFile(in.Run) != runs.OutputFile { // the pictures stand in the file itself
		assets = nil
	}
	for _, asset := range assets {
		to := f.beside(asset.To)
		a, errA := f.read(to)
		if errA != nil && !errors.Is(errA, fs.ErrNotExist) { // which says nothing of the picture
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
	return engine.Refused{Code: runs.CodeOutputChanged, Words: fmt.Sprintf("%s would change: %s", name(f.path), some(what))}
}

// fresh is what the run would write. That of a Jupyter notebook names its own path, which the record of this run has
// not.
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

// differences says what would change in the output notebook: by steps where that can be said, else by its lines.
func (f *frozen) differences(nb *notebooks.Notebook, got []byte) (diff string, what []string) {
	var b strings.Builder
	if was, now, ok := f.sides(got); ok {
		if d := compare.Unified(name(f.path)+" (source)", nb.Name, textLines(was.source), textLines(now.source)); d != "" {
			what = append(what, "its source")
			b.WriteString(d)
		}
		if d := compare.Unified(name(f.path)+" (parameters)", "this run (parameters)", was.given, now.given); d != "" {
			what = append(what, "its parameters")
			b.WriteString(d)
		}
		old, fresh := was.output, now.output
		lines := map[string]int{}
		for _, s := range nb.Steps {
			lines[string(s.ID)] = s.Line
		}
		for _, each := range compare.Pair(old, fresh) {
			if d := compare.Unified(name(f.path)+" ("+each.ID+")", "this run ("+each.ID+")", each.Was, each.Now); d != "" {
				if each.ID == render.ParametersRegion {
					what = append(what, "its parameters")
					fmt.Fprintf(&b, "%s: the parameters that were given\n%s", nb.Name, d)
					continue
				}
				what = append(what, "step "+each.ID)
				fmt.Fprintf(&b, "%s: step %q\n%s", place(nb.Name, lines[each.ID]), each.ID, d)
			}
		}
	}
	if len(what) == 0 { // marks of the tool's own, line ends, a manifest
		what = append(what, "lines outside of the steps' outputs")
		b.WriteString(compare.Unified(name(f.path), "this run", textLines(f.want), textLines(got)))
	}
	return b.String(), what
}

// frozenSide is an output notebook taken apart.
type frozenSide struct {
	source []byte
	given  []string // of a Jupyter notebook: the cell of injected parameters; that of Markdown is a region
	output compare.Output
}

// sides takes what stands there and what came apart; false where what stands there is no output notebook that is whole.
func (f *frozen) sides(got []byte) (was, now frozenSide, ok bool) {
	if !isJupyter(f.path, got) {
		a, b := notebooks.Strip(name(f.path), f.want), notebooks.Strip(name(f.path), got)
		return frozenSide{source: a.Source, output: compare.Markdown(a, "")}, frozenSide{source: b.Source, output: compare.Markdown(b, "")}, len(a.Problems) == 0
	}
	for i, raw := range [][]byte{f.want, got} {
		side := []*frozenSide{&was, &now}[i]
		file, err := ipynb.Parse(name(f.path), raw)
		if err != nil {
			return was, now, false
		}
		cells, err := file.StepCells(false)
		if err != nil {
			return was, now, false
		}
		side.source, side.output = ipynb.Source(file, false), compare.Jupyter(file, cells, compare.JupyterOptions{})
		for _, c := range file.Cells {
			if c.Tagged(notebooks.TagInjected) {
				side.given = append(side.given, textLines([]byte(c.Source))...)
			}
		}
	}
	return was, now, true
}

// textLines are the lines of a text, fit to be shown; the end of a line is part of it where it is not LF.
func textLines(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		body = plain.Escape(body)
		if !ended {
			body += " (no newline at the end)"
		}
		out = append(out, body)
	}
	return out
}

// show prints what would change, where results go, or beside them when standard output has another.
func (f *frozen) show(a *app, o *runOptions) error {
	var w io.Writer = a.stdout
	if o.json || o.events == "-" || o.stdoutFile == "-" || o.stderrFile == "-" {
		w = a.stderr
	}
	text := f.diff
	if v, _ := a.getenv("GITHUB_ACTIONS"); v == "true" && text != "" {
		text = unheard(a.random, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine"
	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/merge"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// storedOutput is what a file holds of a run: of one of Markmill's, or, in a Jupyter notebook, of another program's.
type storedOutput struct {
	raw      []byte
	manifest *notebooks.Manifest // nil where another program saved the outputs
	text     notebooks.Stripped  // of Markdown
	jupyter  *ipynb.Notebook     // nil of Markdown
	cells    []ipynb.StepCell
}

// readTest reads a file: its source, and what it holds of a run; nil where that is nothing.
func (t *tester) readTest(path string) (source []byte, out *storedOutput, err error) {
	raw, err := t.readAny(path)
	if err != nil {
		return nil, nil, err
	}
	if isJupyter(path, raw) {
		return readJupyterTest(path, raw, len(t.o.req.Given) > 0)
	}
	if isScript(path, raw) { // in which no run leaves outputs
		return raw, nil, nil
	}
	s := notebooks.Strip(name(path), raw)
	if len(s.Problems) > 0 {
		return nil, nil, s.Problems
	}
	if s.Manifest == nil || s.Manifest.Status == result.StatusPrepared {
		return s.Source, nil, nil
	}
	return s.Source, &storedOutput{raw: raw, manifest: s.Manifest, text: s}, nil
}

func readJupyterTest(path string, raw []byte, given bool) ([]byte, *storedOutput, error) {
	nb, err := ipynb.Parse(name(path), raw)
	if err != nil {
		return nil, nil, err
	}
	text := raw
	if nb.NBFormat < 4 { // a run is of nbformat 4, and so is what --update writes
		if text, err = nb.Upgraded(); err != nil {
			return nil, nil, err
		}
		if nb, err = ipynb.Parse(name(path), text); err != nil {
			return nil, nil, err
		}
	}
	m := nb.Manifest()
	if m != nil && (m.Status == result.StatusPrepared || nb.Rerun()) {
		m = nil
	}
	given = given || m != nil && len(givenNames(nb)) > 0 // the values of that run are given again
	source, err := jupyterSource(path, text, given)
	if err != nil {
		return nil, nil, err
	}
	out := &storedOutput{raw: raw, manifest: m, jupyter: nb}
	if out.cells, err = nb.StepCells(given); err != nil {
		return nil, nil, err
	}
	if m == nil && !slices.ContainsFunc(out.cells, func(c ipynb.StepCell) bool { return c.Cell.Count.Given() || len(c.Cell.Outputs) > 0 }) {
		return source, nil, nil
	}
	if m != nil {
		// That cells were edited since is told by their digest, as with Markdown; outputs that were edited are no
		// run's.
		known := func(e *notebooks.Error) bool {
			return slices.ContainsFunc(out.cells, func(c ipynb.StepCell) bool { return c.Step.ID == e.Step })
		}
		if bad := slices.DeleteFunc(nb.Damage(), func(e *notebooks.Error) bool { return !known(e) }); len(bad) > 0 {
			return nil, nil, bad
		}
	}
	return source, out, nil
}

// foreign says that another program than Markmill saved the outputs.
func (s *storedOutput) foreign() bool { return s.manifest == nil }

// merged says that a merge made it of the outputs of two runs.
func (s *storedOutput) merged() bool { return s.manifest != nil && s.manifest.Status == merge.Stale }

// of says whether it is the output of a source, as far as that is known. That of a script is of the Markdown which was
// made of it.
func (s *storedOutput) of(path string, source []byte) bool {
	if s.manifest == nil {
		return true
	}
	if isScript(path, source) {
		nb, err := forms.Parse(name(path), source)
		if err != nil {
			return false
		}
		if nb, err = render.Script(nb); err != nil {
			return false
		}
		source = nb.Source
	}
	return s.manifest.Source == string(runs.DigestOf(source))
}

// given are the names of the values that were given to the run; false where that does not stand there.
func (s *storedOutput) given() (names []string, listed bool) {
	if s.jupyter != nil {
		return givenNames(s.jupyter), true
	}
	return s.text.Given()
}

// givenNames are the parameters that a run was given, as papermill notes them in a Jupyter notebook.
func givenNames(nb *ipynb.Notebook) []string {
	var values map[string]codec.Raw
	if codec.UnmarshalForeign(papermillNote(nb, "parameters"), &values) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(values))
}

// compared is the output as it is compared. paths are those of the run that it is compared with.
func (s *storedOutput) compared(paths []runs.PathName) compare.Output {
	if s.jupyter == nil {
		return compare.Markdown(s.text, render.ParametersRegion)
	}
	return compare.Jupyter(s.jupyter, s.cells, compare.JupyterOptions{Foreign: s.foreign(), Paths: checkoutPaths(paths)})
}

// checkoutPaths puts names in the place of paths, one for the worktree and the checkout: where another program ran the
// notebook, the checkout was what the worktree is in this run.
func checkoutPaths(paths []runs.PathName) func(string) string {
	named := safe.NewNames(paths).Replace
	return func(text string) string { return strings.ReplaceAll(named(text), "<source>", "<worktree>") }
}

// line is where a line of the source stands in the file.
func (s *storedOutput) line(line int) int {
	if s.jupyter != nil {
		for _, c := range s.cells {
			if c.Step.Line == line {
				return c.Line
			}
		}
		return line
	}
	regions := s.text.Regions
	if v := s.text.Verdict; v != nil {
		if v.Line == 1 { // without an empty line before it
			line--
		}
		regions = append([]notebooks.FoundRegion{*v}, regions...)
	}
	for _, r := range regions {
		if r.Line-1 > line {
			break
		}
		line += bytes.Count(r.Body, []byte{'\n'}) + regionFrame
	}
	return line
}

// regionFrame is how many lines a region has besides its body: an empty one, its marker, an empty one, its end.
const regionFrame = 4

// asJupyter makes a run like that of the program which saved the outputs: on the notebook's own kernel, where that is
// installed, and in the folder in which the notebook stands. As with nbval every cell is tested, also behind one that
// failed. Markmill's own outputs are tested as run would run them.
func (t *tester) asJupyter(req *engine.Request, j *testJob, repo *worktree.Source) {
	req.KeepGoing = true
	if req.Kernel == "" {
		if spec, err := jupyter.Find(j.output.jupyter.Kernel(), func(name string) string { v, _ := t.getenv(name); return v }); err == nil {
			req.Kernel = kernel.JupyterPrefix + spec.Name
		}
	}
	if req.Cwd != "" {
		return
	}
	file := absolute(j.path)
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if repo == nil {
		req.Folder = filepath.Dir(file)
		return
	}
	path, err := filepath.Rel(repo.Root(), file)
	if err != nil || !filepath.IsLocal(path) || filepath.Dir(path) == "." {
		return
	}
	if req.Dirty != engine.DirtyInclude { // a folder that is not committed is not in the worktree
		base := req.Base
		if base == "" {
			base = "HEAD"
		}
		commit, err := repo.Resolve(base)
		if err != nil {
			return
		}
		if _, err := repo.File(commit, filepath.ToSlash(path)); err != nil {
			return
		}
	}
	req.Cwd = filepath.Dir(path)
}

// fresh is what the stored output would become. What another program saved keeps all that need not change: of the cells
// that differ the outputs are written, and nothing else.
func (j *testJob) fresh(raw []byte, view engine.ViewInput, results []compare.Result) ([]byte, error) {
	switch {
	case view.Notebook.Form != ipynb.Form:
		return raw, nil
	case j.hasOutput() && j.own() && j.output.foreign():
		return j.output.withOutputs(raw, results)
	}
	if j.hasOutput() && j.own() && j.path == j.file.path { // its source is not there, and is the input all the same
		return withInputPath(raw, papermillNote(j.output.jupyter, "input_path"))
	}
	return raw, nil
}

// withInputPath is an output notebook that says of which notebook it is one.
func withInputPath(raw []byte, input codec.Raw) ([]byte, error) {
	nb, err := ipynb.Parse("the output of the run", raw)
	if err != nil || len(input) == 0 {
		return raw, err
	}
	for _, m := range ipynb.Members(nb.Metadata) {
		if m.Name != "papermill" {
			continue
		}
		for _, note := range ipynb.Members(m.Value) {
			if note.Name == "input_path" {
				return ipynb.Apply(raw, []ipynb.Edit{{Span: note.Span, Text: string(input)}}), nil
			}
		}
	}
	return raw, nil
}

// papermillNote is what papermill notes in a notebook under a name; nil without it.
func papermillNote(nb *ipynb.Notebook, name string) codec.Raw {
	var meta struct {
		Papermill map[string]codec.Raw `json:"papermill"`
	}
	if !nb.Metadata.Given() || codec.UnmarshalForeign(nb.Metadata.Raw, &meta) != nil {
		return nil
	}
	return meta.Papermill[name]
}

// withOutputs is the notebook with the outputs that a run left in the cells that differ. Counts stay, where there are
// any. The state of widgets is that of the run, and so are the cells that show them.
func (s *storedOutput) withOutputs(left []byte, results []compare.Result) ([]byte, error) {
	nb, err := ipynb.Parse("the output of the run", left)
	if err != nil {
		return nil, err
	}
	cells, err := nb.StepCells(false)
	if err != nil {
		return nil, err
	}
	changed := ipynb.Result{Cells: map[int]ipynb.CellResult{}}
	widgets := nb.Widgets() != nil
	if widgets {
		changed.Metadata = []ipynb.Setting{{Name: ipynb.KeyWidgets, Value: nb.Widgets()}}
	}
	for _, r := range results {
		was := slices.IndexFunc(s.cells, func(c ipynb.StepCell) bool { return string(c.Step.ID) == r.Step })
		is := slices.IndexFunc(cells, func(c ipynb.StepCell) bool { return string(c.Step.ID) == r.Step })
		if was < 0 || is < 0 || r.Verdict != compare.Different && !(widgets && bytes.Contains(cells[is].Cell.OutputsAt.Raw, []byte(ipynb.WidgetView))) {
			continue
		}
		count := s.cells[was].Cell.Count
		if !count.Given() {
			count = cells[is].Cell.Count
		}
		got, err := cells[is].Cell.ResultAs(count)
		if err != nil {
			return nil, err
		}
		place := slices.IndexFunc(s.jupyter.Cells, func(c ipynb.Cell) bool { return c.Span == s.cells[was].Cell.Span })
		changed.Cells[place] = got
	}
	return s.jupyter.With(changed)
}

// sourceBeside is the file in the same folder that an output notebook is of, or else the output notebook itself:
// interpreters name the notebook in their messages, and should name the same one again.
func (s *storedOutput) sourceBeside(output string) string {
	if s.foreign() {
		return output
	}
	entries, err := os.ReadDir(filepath.Dir(output))
	if err != nil {
		return output
	}
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(output), e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxNotebook || path == filepath.Clean(output) {
			continue
		}
		if (isMarkdown(path) || isScript(path, nil)) != (s.jupyter == nil) || jupyterName(path) != (s.jupyter != nil) {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil && s.jupyter != nil {
			text, err = jupyterSource(path, text, len(givenNames(s.jupyter)) > 0)
		}
		if err == nil && s.of(path, text) {
			return path
		}
	}
	return output
}

// sourceElsewhere is the source of an output notebook that stands in another folder of the repository, where the output
// names it, as in the traceback of an interpreter; or else the output notebook itself.
func (t *tester) sourceElsewhere(output string, stored *storedOutput) string {
	if stored.foreign() || bytes.Contains(stored.raw, []byte(filepath.Base(output))) {
		return output
	}
	repo, err := worktree.Open(filepath.Dir(absolute(output)))
	if err != nil {
		return output
	}
	checkout, err := repo.CheckoutFiles(context.Background())
	if err != nil {
		return output
	}
	defer checkout.Close()
	named, err := checkout.All(func(name string) bool {
		return (isMarkdown(name) || isScript(name, nil)) && bytes.Contains(stored.raw, []byte(name))
	})
	if err != nil {
		return output
	}
	for _, path := range named {
		text, err := checkout.Read(path, maxNotebook)
		if err != nil || !stored.of(path, text) {
			continue
		}
		full := filepath.Join(repo.Root(), filepath.FromSlash(path))
		wd, err := os.Getwd()
		if err != nil {
			return full
		}
		if rel, err := filepath.Rel(wd, full); err == nil {
			return rel
		}
		return full
	}
	return output
}

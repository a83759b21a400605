package cli

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render"
	"markmill/runs"
)

// runOutput is an output notebook of a run, to be converted.
type runOutput struct {
	dir   string
	run   *runs.Run
	path  string // in the run directory, whether it is there or not
	text  []byte
	asked bool // it has the form that was asked for
}

// runOutput chooses the output notebook that fits OUTPUT best, of the run that a word names; nil where the word names a
// file.
func (a *app) runOutput(word, to, form string) (*runOutput, error) {
	dir, err := a.runNamed(word)
	if err != nil || dir == "" {
		return nil, err
	}
	run, source, err := runs.At(dir).Load()
	if err != nil {
		return nil, err
	}
	wanted := strings.ToLower(path.Ext(to))
	if form == notebooks.FormJupyter.Option() || form == formHTML { // which holds its pictures
		wanted = ".ipynb"
	}
	name, files := run.OutputFile(), run.OutputFiles()
	i := slices.IndexFunc(files, func(file string) bool { return path.Ext(file) == wanted })
	if i >= 0 {
		name = files[i]
	}
	asked := i >= 0 && (form == "" || form == notebooks.FormJupyter.Option())
	o := &runOutput{dir: dir, run: run, path: runs.At(dir).File(name), asked: asked}
	if o.text, err = render.RunOutput(name, run, source, runs.At(dir)); err != nil {
		return nil, err
	}
	if left := run.Left(name); left != nil && runs.DigestOf(o.text) != left.Digest {
		a.tell("markmill: %s differs from what run %s of Markmill %s wrote; markmill verify says more\n",
			name, run.ID, run.Started.Markmill)
	}
	return o, nil
}

// runNamed is the directory of the run that a word names, "" where it names a file.
func (p *places) runNamed(word string) (string, error) {
	info, err := os.Stat(word)
	switch {
	case word == "-" || remote.Is(word) || err == nil && !info.IsDir():
		return "", nil
	case err == nil:
		if _, err := runs.At(word).Stat(runs.JournalFile); err != nil {
			return "", nil
		}
		return word, nil
	case filepath.Ext(word) != "" || strings.ContainsAny(word, `/\`): // a missing file; reading it gives the error
		return "", nil
	}
	store, _, err := p.here()
	if err != nil {
		return "", err
	}
	_, dir, err := store.Find(word)
	return dir, err
}

// pictures is the run whose pictures a Markdown output notebook shows, if it is one.
func (o *runOutput) pictures() []engine.ViewInput {
	if filepath.Base(o.path) != runs.OutputFile {
		return nil
	}
	return []engine.ViewInput{{Dir: o.dir, Run: o.run}}
}

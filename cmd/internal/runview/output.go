package runview

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/internal/lookup"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/documents"
	"markmill/runs"
)

// FormHTML can be written, but not read.
const FormHTML = "html"

// FilesBeside reads the files in the folder of a notebook; nil for a notebook that is in none.
func FilesBeside(path string) documents.Files {
	if path == "-" || remote.Is(path) {
		return nil
	}
	return lookup.FilesBeside(path)
}

// PageOf makes the page of a notebook that was read from a path, and that a run left, which may be nil.
func PageOf(from string, src []byte, run *runs.Run) ([]byte, error) {
	name, beside := program.Name(from), fs.FS(nil)
	if run != nil && filepath.IsAbs(from) { // in the record: others who read the page have other folders
		name = string(run.ID) + "/" + filepath.Base(from)
	}
	if from != "-" && !remote.Is(from) {
		root, err := os.OpenRoot(filepath.Dir(from))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		beside = root.FS()
	}
	made, err := views.Page(name, src, beside, run)
	if err != nil {
		return nil, err
	}
	return made.Page, nil
}

// runOutput is an output notebook of a run, to be converted.
type runOutput struct {
	dir   string
	Run   *runs.Run
	Path  string // in the run directory, whether it is there or not
	Text  []byte
	Asked bool // it has the form that was asked for
}

// RunOutput chooses the output notebook that fits OUTPUT best, of the run that a word names; nil where the word names a
// file.
func RunOutput(a *program.App, word, to, form string) (*runOutput, error) {
	dir, err := RunNamed(&a.Places, word)
	if err != nil || dir == "" {
		return nil, err
	}
	run, source, err := runs.At(dir).Load()
	if err != nil {
		return nil, err
	}
	wanted := strings.ToLower(path.Ext(to))
	if form == notebooks.FormJupyter.Option() || form == FormHTML { // which holds its pictures
		wanted = ".ipynb"
	}
	name, files := run.OutputFile(), run.OutputFiles()
	i := slices.IndexFunc(files, func(file string) bool { return path.Ext(file) == wanted })
	if i >= 0 {
		name = files[i]
	}
	asked := i >= 0 && (form == "" || form == notebooks.FormJupyter.Option())
	o := &runOutput{dir: dir, Run: run, Path: runs.At(dir).File(name), Asked: asked}
	if o.Text, err = render.RunOutput(name, run, source, runs.At(dir)); err != nil {
		return nil, err
	}
	if left := run.Left(name); left != nil && runs.DigestOf(o.Text) != left.Digest {
		a.Tell("markmill: %s differs from what run %s of Markmill %s wrote; markmill verify says more\n",
			name, run.ID, run.Started.Markmill)
	}
	return o, nil
}

// RunNamed is the directory of the run that a word names, "" where it names a file.
func RunNamed(p *program.Places, word string) (string, error) {
	at := p.Path(word)
	info, err := os.Stat(at)
	switch {
	case word == "-" || remote.Is(word) || err == nil && !info.IsDir():
		return "", nil
	case err == nil:
		if _, err := runs.At(at).Stat(runs.JournalFile); err != nil {
			return "", nil
		}
		return at, nil
	case filepath.Ext(word) != "" || strings.ContainsAny(word, `/\`): // a missing file; reading it gives the error
		return "", nil
	}
	store, _, err := p.Here()
	if err != nil {
		return "", err
	}
	_, dir, err := store.Find(word)
	return dir, err
}

// Pictures is the run whose pictures a Markdown output notebook shows, if it is one.
func (o *runOutput) Pictures() []engine.ViewInput {
	if filepath.Base(o.Path) != runs.OutputFile {
		return nil
	}
	return []engine.ViewInput{{Dir: o.dir, Run: o.Run}}
}

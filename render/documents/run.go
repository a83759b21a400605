package documents

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// wholeBytes is the size up to which streams are compared by lines. Larger ones are compared by digest.
const wholeBytes = 64 << 20

// Run reads a run: its journal, its source notebook, and the files of its directory.
func Run(name string, run *runs.Run, src []byte, files fs.FS) (*diff.Document, error) {
	if run.OutputFile() != runs.OutputFile { // a Jupyter notebook: what it holds is compared
		return jupyterRun(name, run, src, files)
	}
	nb, err := render.Recorded(run, src)
	if err != nil {
		return nil, err
	}
	manifest := result.Manifest(nb, run)
	doc := source(nb)
	if nb.Form == notebooks.FormPercent {
		if doc, err = Script(run.Started.Notebook, src); err != nil {
			return nil, err
		}
	}
	doc.Name, doc.Status = name, string(run.Status())
	names, book := safe.NewNames(run.Started.Paths), safe.NewRuleBook(nb)
	setParams(doc, manifest.Parameters)
	at := codeCells(doc)
	steps := result.StepsOf(&manifest)
	run = render.Shown(run)
	for i := range run.Steps {
		rec := &run.Steps[i]
		c := at[string(rec.Planned.ID)]
		if c == nil {
			return nil, fmt.Errorf("the journal of %s has a step %q that its notebook has not", name, rec.Planned.ID)
		}
		rules, err := book.Of(nb.Step(rec.Planned.ID))
		if err != nil {
			return nil, fmt.Errorf("%s: step %q: %w", name, rec.Planned.ID, err)
		}
		clean := safe.Cleaner{Names: names, Rules: rules}
		setResult(c, steps[rec.Planned.ID])
		if err := (reading{files, func(raw []byte) string { return safe.Clean(raw, clean.Line) }}).step(c,
			rec); err != nil {
			return nil, fmt.Errorf("%s: step %q: %w", name, rec.Planned.ID, err)
		}
	}
	return doc, nil
}

// jupyterRun reads the output notebook of a run of a Jupyter notebook.
func jupyterRun(name string, run *runs.Run, src []byte, files fs.FS) (*diff.Document, error) {
	text, err := render.RunOutput(run.OutputFile(), run, src, files)
	if err != nil {
		return nil, err
	}
	nb, err := ipynb.Parse(run.OutputFile(), text)
	if err != nil {
		return nil, err
	}
	doc := Jupyter(nb)
	doc.Name, doc.Status = name, string(run.Status())
	return doc, nil
}

// reading reads the files of one step.
type reading struct {
	files fs.FS
	clean func([]byte) string
}

func (r reading) step(c *diff.Cell, rec *runs.StepRecord) error {
	for _, s := range rec.Scraps {
		c.Scraps = setScrap(c.Scraps, s)
	}
	if p := rec.Patch; p != nil && p.Patch != "" {
		data, err := fs.ReadFile(r.files, p.Patch)
		if err != nil {
			return err
		}
		c.Files = PatchFiles(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	f := rec.Finished
	if f == nil {
		return nil
	}
	// The order is that of a region: output, results, errors.
	if err := r.stream(c, diff.Stdout, f.Stdout); err != nil {
		return err
	}
	for _, show := range f.Displays {
		d, err := r.datum(show.MIME, show.File, show.Bytes, show.Digest)
		if err != nil {
			return err
		}
		c.Outputs = append(c.Outputs, diff.Output{Name: diff.Display, Data: []diff.Datum{d}})
	}
	if err := r.stream(c, diff.Stderr, f.Stderr); err != nil {
		return err
	}
	if e := f.Error; e != nil && f.Stderr.File == "" {
		words := cmp.Or(e.Traceback, e.Name+": "+e.Value)
		c.Outputs = append(c.Outputs, diff.Output{Name: diff.Stderr,
			Data: []diff.Datum{{MIME: "text/plain", Text: r.clean([]byte(words))}}})
	}
	c.Took = time.Duration(f.DurationNS)
	return nil
}

func (r reading) stream(c *diff.Cell, name string, s runs.StreamData) error {
	if s.File == "" {
		return nil
	}
	d, err := r.datum("text/plain", s.File, s.Bytes, s.Digest)
	c.Outputs = append(c.Outputs, diff.Output{Name: name, Data: []diff.Datum{d}})
	return err
}

// datum reads a file as text, or as bytes if it is a picture of reasonable size.
func (r reading) datum(mime, file string, size int64, digest runs.Digest) (diff.Datum, error) {
	d := diff.Datum{MIME: mime, File: file, Digest: string(digest)}
	text := strings.HasPrefix(mime, "text/") || mime == "application/json"
	if file == "" || size > wholeBytes || !text && !strings.HasPrefix(mime, "image/") {
		return d, nil
	}
	f, err := r.files.Open(file)
	if err != nil {
		return d, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, wholeBytes))
	if err != nil {
		return d, err
	}
	if text {
		return diff.Datum{MIME: mime, Text: r.clean(data)}, nil
	}
	d.Bytes = data
	return d, nil
}

// setScrap adds a scrap. The last of a name wins.
func setScrap(list []diff.Scrap, s runs.ScrapData) []diff.Scrap {
	one := diff.Scrap{Name: s.Name, Type: s.Type, File: s.File, Digest: string(s.Digest)}
	if s.File == "" {
		one.Value = canonical(s.Value)
	}
	return diff.SetScrap(list, one)
}

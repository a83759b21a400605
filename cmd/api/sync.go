package api

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/files"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/runs/outfile"
)

// paired is a file of a pair.
type paired struct {
	convert.Pair
	path string
	doc  *convert.Document // nil: it is not there
	at   time.Time
}

// Synced says what Sync did.
type Synced struct {
	From  string   // the file whose inputs all have now
	Wrote []string // the files that changed
}

// Sync brings the files of a notebook together that Jupytext has paired: the inputs are those of the side that changed
// since the last time (where nobody noted that: of the newer one), the outputs are those of the Jupyter notebook. Where
// another file of the pair is named as well, the inputs are those of the first, whatever the others hold.
func Sync(file string, other ...string) (*Synced, error) {
	all, err := readPairs(file)
	if err != nil {
		return nil, err
	}
	for _, name := range other {
		if !slices.ContainsFunc(all, func(p *paired) bool { return filepath.Clean(p.path) == filepath.Clean(name) }) {
			return nil, fmt.Errorf("%s is not paired with %s", name, file)
		}
	}
	from, book, err := source(all, file, len(other) > 0)
	if err != nil {
		return nil, err
	}
	if len(other) == 0 && book != nil {
		if err := unlost(all, from, book); err != nil {
			return nil, err
		}
	}
	return writePairs(all, from, book)
}

// readPairs reads the files of a pair that are there.
func readPairs(file string) ([]*paired, error) {
	src, err := files.Read(file, file, files.MaxNotebook)
	if err != nil {
		return nil, err
	}
	doc, err := convert.Read("", file, src)
	if err != nil {
		return nil, err
	}
	pairs, bad := doc.Pairs()
	if bad != "" {
		return nil, fmt.Errorf("%s: the format %q of jupytext: formats is not read: ipynb, md, md:myst, Rmd, qmd and "+
			"the extension of a script with :percent or :light are, in one folder", file, bad)
	}
	base, ext := convert.Base(file), filepath.Ext(file)
	var all []*paired
	given := false
	for _, pair := range pairs {
		p := &paired{Pair: pair, path: base + pair.Ext}
		all = append(all, p)
		given = given || p.Ext == ext
		info, err := os.Stat(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.at = info.ModTime()
		src, err := files.Read(p.path, p.path, files.MaxNotebook)
		if err != nil {
			return nil, err
		}
		if p.doc, err = convert.Read(p.Form, p.path, src); err != nil {
			return nil, err
		}
	}
	if !given || len(all) < 2 {
		return nil, fmt.Errorf("%s is not paired with another file: its metadata have no jupytext: formats that name "+
			"%s and another, as ipynb,py:percent", file, strings.TrimPrefix(ext, "."))
	}
	return all, nil
}

// source returns the file whose inputs count, and the Jupyter notebook, nil without one.
func source(all []*paired, file string, wins bool) (from, book *paired, err error) {
	for _, p := range all {
		switch {
		case p.doc == nil:
		case p.Form == notebooks.FormJupyter:
			book = p
		case from == nil || p.at.After(from.at):
			from = p
		}
	}
	if wins {
		for _, p := range all {
			if p.path == file {
				return p, book, nil
			}
		}
	}
	if book == nil || from == nil {
		if from == nil {
			from = book
		}
		return from, book, nil
	}
	there, err := book.doc.As(from.Form, from.path)
	if err != nil {
		return nil, nil, err
	}
	last, text, other := book.doc.Synced(), from.doc.Inputs(), there.Inputs()
	switch {
	case text == other:
		return from, book, nil
	case last != "" && text != last && other != last:
		return nil, nil, bothChanged(from.path, book.path)
	case last != "" && text == last, last == "" && book.at.After(from.at):
		return book, book, nil
	}
	return from, book, nil
}

// unlost fails if a text besides from has changed since the files were the same: it would be written over.
func unlost(all []*paired, from, book *paired) error {
	last := book.doc.Synced()
	for _, p := range all {
		if p == from || p == book || p.doc == nil || last == "" || p.doc.Inputs() == last {
			continue
		}
		same := false
		for _, other := range []*paired{from, book} {
			there, err := other.doc.As(p.Form, p.path)
			if err != nil {
				return err
			}
			same = same || p.doc.Inputs() == there.Inputs()
		}
		if !same {
			return bothChanged(from.path, p.path)
		}
	}
	return nil
}

func bothChanged(one, other string) error {
	return fmt.Errorf("%s and %s have both changed since they were the same; to take the cells of one, name it first: "+
		"markmill convert --sync %[1]s %[2]s", one, other)
}

// writePairs writes the files that are not as they should be.
func writePairs(all []*paired, from, book *paired) (*Synced, error) {
	done := &Synced{From: from.path}
	next, inputs := map[*paired][]byte{}, ""
	for _, p := range all {
		if p.Form == notebooks.FormJupyter {
			continue
		}
		as := from.doc
		if p != from {
			b, _, err := from.doc.To(p.Form, p.path)
			if err != nil {
				return nil, err
			}
			if as, err = convert.Read(p.Form, p.path, b); err != nil {
				return nil, err
			}
			if p.doc == nil || p.doc.Inputs() != as.Inputs() {
				next[p] = b
			}
		}
		if p == from || inputs == "" {
			inputs = as.Inputs()
		}
	}
	if book != nil && book != from {
		from.doc.WithOutputs(book.doc)
	}
	slices.SortStableFunc(all, func(a, b *paired) int { // if this is killed, the texts are what counts
		return cmp.Compare(strings.Count(a.Ext, "ipynb"), strings.Count(b.Ext, "ipynb"))
	})
	for _, p := range all {
		b, ok := next[p]
		if p.Form == notebooks.FormJupyter && (p.doc == nil || p.doc.Synced() != inputs) {
			from.doc.SetSynced(inputs)
			var err error
			if b, err = from.doc.Jupyter(); err != nil {
				return nil, err
			}
			ok = true
		}
		if !ok {
			continue
		}
		file, err := outfile.Open(p.path, engine.OutputRules(false))
		if err == nil {
			err = errors.Join(file.Write(b), file.Close())
		}
		if err != nil {
			return nil, err
		}
		done.Wrote = append(done.Wrote, p.path)
	}
	now := time.Now()
	for _, p := range all {
		if p.Form != notebooks.FormJupyter && len(done.Wrote) > 0 { // Jupytext wants the texts not to be older
			if err := os.Chtimes(p.path, now, now); err != nil {
				return nil, err
			}
		}
	}
	return done, nil
}

package lookup

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"markmill/notebooks"
	"markmill/render/documents"
	"markmill/runs"
)

// Place is one thing to read scraps of.
type Place struct {
	path  string
	run   bool                   // a run directory
	found bool                   // in a folder: what no run has written is skipped
	read  func() ([]byte, error) // of a revision; nil reads the path
}

// Places finds what words name: files, folders, patterns, paths of revisions and runs, in their order.
func (r Reader) Places(words []string) ([]Place, error) {
	var out []Place
	for _, word := range words {
		found, err := r.places(word)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func (r Reader) places(word string) ([]Place, error) {
	if r.Store != nil && !r.stream(word) {
		if found, err := r.sweepPlaces(word); err != nil || found != nil {
			return found, err
		}
	}
	info, err := os.Stat(r.In.Path(word))
	switch {
	case r.stream(word), err == nil && !info.IsDir():
		return []Place{{path: word}}, nil
	case err == nil:
		found, err := r.placesBelow(word)
		if err == nil && len(found) == 0 {
			err = r.bad(word, "holds no notebook (.md, .qmd, .Rmd, .ipynb) and no run")
		}
		return found, err
	case r.isRevision(word):
		return r.revisionPlaces(word)
	case strings.ContainsAny(word, "*?["):
		list, err := filepath.Glob(r.In.Path(word))
		if err != nil {
			return nil,
				r.bad(word, "is no pattern: * stands for any text, ? for one character, [ab] for one of several")
		}
		if len(list) == 0 {
			return nil, r.bad(word, "matches no file")
		}
		var out []Place
		for _, path := range list {
			found := []Place{{path: r.In.Word(path)}}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				if found, err = r.placesBelow(r.In.Word(path)); err != nil {
					return nil, err
				}
			}
			out = append(out, found...)
		}
		return out, nil
	case looksLikePath(word):
		return []Place{{path: word}}, nil // reading it gives the error
	}
	dir, err := r.find(word)
	return []Place{{path: dir, run: true}}, err
}

// sweepPlaces are the runs of the sweep that a word names, in the order of its rows; nil for another word.
func (r Reader) sweepPlaces(word string) ([]Place, error) {
	store, err := r.Store()
	if err != nil {
		return nil, err
	}
	dir, err := store.FindSweep(word)
	if err != nil || dir == "" {
		return nil, err
	}
	sweep, err := runs.LoadSweep(dir)
	if err != nil {
		return nil, err
	}
	out := []Place{}
	for i := range sweep.Rows {
		if run := sweep.Rows[i].Run; run != "" {
			out = append(out, Place{path: runs.StoreOfSweep(dir).Path(run), run: true})
		}
	}
	return out, nil
}

// revisionPlaces finds what REV:PATH names: a notebook, or those of a folder.
func (r Reader) revisionPlaces(word string) ([]Place, error) {
	rev, name, _ := strings.Cut(word, ":")
	repo, commit, name, err := r.revisionPath(rev, name)
	if err != nil {
		return nil, err
	}
	names, err := notebooksIn(repo, commit, name)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, notInRevision(rev, name)
	}
	var out []Place
	for _, one := range names {
		read := func() ([]byte, error) { return r.fileOf(repo, commit, one) }
		out = append(out, Place{path: rev + ":" + one, found: one != name, read: read})
	}
	return out, nil
}

// placesBelow finds the notebooks and the run directories below a folder.
func (r Reader) placesBelow(root string) ([]Place, error) {
	var out []Place
	err := filepath.WalkDir(r.In.Path(root), func(at string, d fs.DirEntry, err error) error {
		path := r.In.Word(at)
		if err != nil {
			if path == root {
				return r.bad(root, "cannot be read: %v", err)
			}
			out = append(out, Place{path: path}) // reading it gives the error
			return nil
		}
		if !d.IsDir() {
			if t := d.Type(); !t.IsRegular() && t&fs.ModeSymlink == 0 { // reading a pipe would block
				return nil
			}
			if notebooks.IsMarkdownName(path) || notebooks.IsJupyterName(path) {
				out = append(out, Place{path: path, found: true})
			}
			return nil
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if _, err := runs.At(at).Stat(runs.JournalFile); err == nil {
			out = append(out, Place{path: path, run: true})
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

// Scraps reads places, several at once. It gives each to add, in their order, and those that cannot be read to unread.
func (r Reader) Scraps(places []Place, add func(*documents.Recorded), unread func(place string, err error)) {
	type answer struct {
		got   *documents.Recorded
		err   error
		fault any // a panic, which is the caller's
	}
	outputs := sync.OnceValue(func() map[runs.Digest][]string {
		if r.Store == nil {
			return nil
		}
		store, err := r.Store()
		if err != nil {
			return nil // the notebooks can be read without records
		}
		made, _ := store.Outputs()
		return made
	})
	// With the place that is waited for, as many are read as there are processors.
	pending := make(chan chan answer, runtime.GOMAXPROCS(0)-1)
	go func() {
		defer close(pending)
		for _, place := range places {
			one := make(chan answer, 1)
			pending <- one
			go func() {
				var a answer
				defer func() {
					a.fault = recover()
					one <- a
				}()
				a.got, a.err = r.scrapsOf(place, outputs)
			}()
		}
	}()
	for _, place := range places {
		switch got := <-<-pending; {
		case got.fault != nil:
			panic(got.fault)
		case got.err != nil:
			unread(r.name(place.path), got.err)
		case got.got.Status != "" || len(got.got.Scraps) > 0 || !place.found:
			add(got.got)
		}
	}
}

func (r Reader) readPlace(p Place) ([]byte, error) {
	if p.read != nil {
		return p.read()
	}
	return r.read(p.path)
}

// scrapsOf reads one place. outputs are the kept runs by the digest of their outputs.
func (r Reader) scrapsOf(p Place, outputs func() map[runs.Digest][]string) (*documents.Recorded, error) {
	if p.run {
		return recordOf(r.In.Path(p.path))
	}
	src, err := r.readPlace(p)
	if err != nil {
		return nil, err
	}
	got, err := documents.ScrapsOf(r.name(p.path), src)
	if err != nil || got.Whole() {
		return got, err
	}
	var records []*documents.Recorded
	for _, dir := range outputs()[runs.DigestOf(src)] {
		record, err := recordOf(dir)
		if err != nil {
			return got, nil // the notebook itself can be read
		}
		records = append(records, record)
	}
	got.Complete(records)
	return got, nil
}

func recordOf(dir string) (*documents.Recorded, error) {
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return nil, err
	}
	return documents.RunScraps(run.Started.Notebook, run), nil
}

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"markmill/cmd/markmill/remote"
	"markmill/notebooks"
	"markmill/render/documents"
	"markmill/runs"
)

// scrapPlace is one thing to read scraps of.
type scrapPlace struct {
	path  string
	run   bool                   // a run directory
	found bool                   // in a folder: what no run has left is passed over
	read  func() ([]byte, error) // of a revision; nil reads the path
}

// scrapPlaces finds what words name: files, folders, patterns and runs, in their order.
func (a *app) scrapPlaces(words []string) ([]scrapPlace, error) {
	var out []scrapPlace
	for _, word := range words {
		info, err := os.Stat(word)
		switch {
		case word == "-", remote.Is(word), err == nil && !info.IsDir():
			out = append(out, scrapPlace{path: word})
			continue
		case err == nil:
			found, err := placesBelow(word)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return nil, badInput(word, "holds no notebook (.md, .qmd, .Rmd, .ipynb) and no run")
			}
			out = append(out, found...)
			continue
		case isRevision(word):
			found, err := revisionPlaces(word)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
			continue
		case strings.ContainsAny(word, "*?["):
			list, err := filepath.Glob(word)
			if err != nil {
				return nil, usagef("%s: is no pattern: * stands for any text, ? for one character, [ab] for one of several", word)
			}
			if len(list) == 0 {
				return nil, badInput(word, "matches no file")
			}
			for _, path := range list {
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					found, err := placesBelow(path)
					if err != nil {
						return nil, err
					}
					out = append(out, found...)
				} else {
					out = append(out, scrapPlace{path: path})
				}
			}
			continue
		case filepath.Ext(word) != "" || strings.ContainsAny(word, `/\`):
			out = append(out, scrapPlace{path: word}) // reading it says why it cannot be read
			continue
		}
		store, _, err := a.here()
		if err != nil {
			return nil, err
		}
		_, dir, err := store.Find(word)
		if err != nil {
			return nil, err
		}
		out = append(out, scrapPlace{path: dir, run: true})
	}
	return out, nil
}

// revisionPlaces finds what REV:PATH names: a notebook, or those of a folder.
func revisionPlaces(word string) ([]scrapPlace, error) {
	rev, name, _ := strings.Cut(word, ":")
	repo, commit, name, err := revisionPath(rev, name)
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
	var out []scrapPlace
	for _, one := range names {
		out = append(out, scrapPlace{path: rev + ":" + one, found: one != name, read: func() ([]byte, error) { return repo.File(commit, one) }})
	}
	return out, nil
}

// placesBelow finds the notebooks and the runs of a folder, by name. What a run directory holds besides is the run's.
func placesBelow(root string) ([]scrapPlace, error) {
	var out []scrapPlace
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == root {
				return badInput(name(root), "cannot be read: %v", err)
			}
			out = append(out, scrapPlace{path: path}) // reading it says why
			return nil
		}
		if !d.IsDir() {
			if t := d.Type(); !t.IsRegular() && t&fs.ModeSymlink == 0 { // a pipe would be waited for
				return nil
			}
			if notebooks.IsMarkdownName(path) || notebooks.IsJupyterName(path) {
				out = append(out, scrapPlace{path: path, found: true})
			}
			return nil
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, runs.JournalFile)); err == nil {
			out = append(out, scrapPlace{path: path, run: true})
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

// readScraps reads places, several at once, and gives each to add, in their order; it tells of those that cannot be
// read.
func (a *app) readScraps(places []scrapPlace, add func(*documents.Recorded)) (failed bool) {
	type answer struct {
		got *documents.Recorded
		err error
	}
	outputs := sync.OnceValue(func() map[runs.Digest][]string {
		store, _, err := a.here()
		if err != nil {
			return nil // as where there are no runs: the notebooks can be read without
		}
		made, _ := store.Outputs()
		return made
	})
	pending := make(chan chan answer, runtime.GOMAXPROCS(0)-1) // with the one that is waited for, as many as there are processors
	go func() {
		defer close(pending)
		for _, place := range places {
			one := make(chan answer, 1)
			pending <- one
			go func() {
				got, err := a.scrapsOf(place, outputs)
				one <- answer{got, err}
			}()
		}
	}()
	for _, place := range places {
		switch got := <-<-pending; {
		case got.err != nil:
			failed = true
			a.sayUnread(name(place.path), got.err)
		case got.got.Status != "" || len(got.got.Scraps) > 0 || !place.found:
			add(got.got)
		}
	}
	return failed
}

// scrapsOf reads one place. outputs are the runs that are kept here, by what they left.
func (a *app) scrapsOf(p scrapPlace, outputs func() map[runs.Digest][]string) (*documents.Recorded, error) {
	if p.run {
		return recordOf(p.path)
	}
	read := p.read
	if read == nil {
		read = func() ([]byte, error) { return a.readAny(p.path) }
	}
	src, err := read()
	if err != nil {
		return nil, err
	}
	got, err := documents.ScrapsOf(name(p.path), src)
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
	run, _, err := runs.Load(dir)
	if err != nil {
		return nil, err
	}
	return documents.RunScraps(run.Started.Notebook, run), nil
}

package lookup

import (
	"os"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/render/documents"
	"markmill/render/review"
	"markmill/render/sheet"
	"markmill/runs"
)

// Compared reads the runs that words name, for sheet.Compare: everything that Places takes, and archives of runs. An
// output notebook stands for the run that wrote it, if that is kept, because a notebook says nothing of times. What
// several words name is there once.
func (r Reader) Compared(words []string) (list []*sheet.ComparedRun, err error) {
	var outputs map[runs.Digest][]string
	if r.Store != nil {
		store, err := r.Store()
		if err != nil {
			return nil, err
		}
		outputs = map[runs.Digest][]string{}
		if slices.ContainsFunc(words, func(word string) bool {
			_, err := os.Stat(r.In.Path(word))
			return err == nil
		}) {
			if outputs, err = store.Outputs(); err != nil {
				outputs = nil // the notebooks can be read without records
			}
		}
	}
	for _, word := range words {
		places := []Place{{path: word}}
		archive := r.isArchive(word)
		if !archive {
			if places, err = r.Places([]string{word}); err != nil {
				return nil, err
			}
		}
		for _, p := range places {
			one, err := r.compared(p, archive, outputs)
			if err != nil {
				return nil, err
			}
			if p.found && one.Status == "" { // not a notebook that ran
				continue
			}
			if !slices.ContainsFunc(list, func(c *sheet.ComparedRun) bool { return c.Name == one.Name }) {
				list = append(list, one)
			}
		}
	}
	return list, nil
}

// isArchive reports whether a word names a file that is no notebook.
func (r Reader) isArchive(word string) bool {
	info, err := os.Stat(r.In.Path(word))
	return !r.stream(word) && err == nil && info.Mode().IsRegular() && !review.IsNotebookName(word)
}

func (r Reader) compared(p Place, archive bool, outputs map[runs.Digest][]string) (*sheet.ComparedRun, error) {
	if p.run || archive {
		record, err := runs.OpenRecord(r.In.Path(p.path))
		if err != nil {
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: r.name(p.path),
				Msg: "is no notebook and no archive of a run: " + err.Error()}
		}
		run, _, err := record.Load()
		if err != nil {
			return nil, err
		}
		return sheet.OfRun(run), nil
	}
	src, err := r.readPlace(p)
	if err != nil {
		return nil, err
	}
	if dirs := outputs[runs.DigestOf(src)]; len(dirs) > 0 {
		if run, _, err := runs.At(dirs[0]).Load(); err == nil {
			return sheet.OfRun(run), nil
		}
	}
	name := r.name(p.path)
	recorded, err := documents.ScrapsOf(name, src)
	if err != nil {
		return nil, err
	}
	if recorded.Status == "" && !p.found {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: name,
			Msg:  "is no output notebook: no run has left it",
			Hint: "name runs, or notebooks that a run has written"}
	}
	m, _ := forms.Manifest(name, src) // ScrapsOf has read it
	return sheet.OfNotebook(recorded, m), nil
}

package mergereview

import (
	"bytes"
	"path"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/retest"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/render/fresh"
	"markmill/render/result"
	"markmill/render/review"
	"markmill/runs"
)

// stored is what is known of a run of a notebook: an output notebook of one of the sides, or a record that is kept
// here.
type stored struct {
	manifest *notebooks.Manifest
	name     string // of the output notebook
	output   []byte
	dir      string            // of the record; "" of an output notebook
	options  *runs.OptionsData // of the record
	passed   bool
	cause    string // why it did not pass
}

// maxRecords is how many records of each notebook are looked at, the newest first.
const maxRecords = 5

// results finds the output notebooks of both sides and the records that are kept here, by the path of the notebook.
func (r *reviewing) results() (map[string][]stored, error) {
	known := map[string][]stored{}
	seen := map[string]bool{}
	for _, commit := range []string{r.Head.Commit, r.Base.Commit} {
		t := r.trees[commit]
		names, err := t.All(review.IsNotebookName)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			blob, _, _, err := t.Entry(name)
			if key := name + " " + string(blob); err != nil || seen[key] {
				continue
			} else {
				seen[key] = true
			}
			text, err := t.Read(name, files.MaxJupyter)
			if err != nil {
				return nil, err
			}
			m := manifestOf(name, text)
			if m == nil || m.SourcePath == "" || m.Partial != "" {
				continue
			}
			s := stored{manifest: m, name: name, output: text, passed: runs.Status(m.Status).Passed()}
			if len(m.Blockers) > 0 {
				s.cause = m.Blockers[0].Message
			}
			source := path.Clean(m.SourcePath)
			known[source] = append(known[source], s)
		}
	}
	return known, r.records(known)
}

// manifestOf is the manifest of an output notebook; nil of any other file.
func manifestOf(name string, text []byte) *notebooks.Manifest {
	if !bytes.Contains(text, []byte(`"source_path"`)) && !bytes.Contains(text, []byte(`"manifest"`)) {
		return nil
	}
	m, _ := forms.Manifest(name, text) // a file that cannot be read has none
	return m
}

// records adds the newest records of whole runs.
func (r *reviewing) records(known map[string][]stored) error {
	entries, err := r.eng.Store(r.origin.Root()).List()
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, e := range entries {
		if e.Status != runs.Pass && e.Status != runs.Fail || count[e.Notebook] == maxRecords {
			continue
		}
		count[e.Notebook]++
		run, source, err := runs.At(e.Dir).Load()
		if err != nil || run.Started.SourcePath == "" || run.Started.Options == nil ||
			run.Started.Repository != r.origin.Root() {
			continue // damaged, or of a notebook that is in no tree
		}
		nb, err := r.eng.Parse(engine.Request{Path: run.Started.Notebook, Source: source})
		if err != nil {
			continue
		}
		m := result.Manifest(nb, run)
		m.Source = string(run.Source)
		at := path.Clean(run.Started.SourcePath)
		known[at] = append(known[at], stored{manifest: &m, dir: e.Dir, options: run.Started.Options,
			passed: run.Status().Passed(), cause: causeOf(run)})
	}
	return nil
}

// outdated says why the result does not hold in a tree; nil if it does.
func (s *stored) outdated(name string, source []byte, t tree) (words []string, err error) {
	if !retest.IsOf(s.manifest, name, source) {
		return []string{"the notebook itself"}, nil
	}
	judged, err := fresh.Judge(s.manifest, t.inputs)
	if err != nil {
		return nil, err
	}
	if judged.Unknown != "" { // everything counts as read
		id, _, err := t.inputs.Folder(".")
		return []string{judged.Unknown + " (tree " + id + ")"}, err
	}
	for _, r := range judged.Reasons {
		words = append(words, r.String())
	}
	return words, nil
}

// given are the values of the stored run, and what the caller gives.
func (s *stored) given(eng *engine.Engine, src *worktree.Source, req engine.Request, more []params.Given) (
	[]params.Given, error) {
	if s.options != nil {
		list, err := engine.GivenOf(s.options.Given)
		return append(list, more...), err
	}
	nb, err := eng.Parse(req)
	if err != nil {
		return nil, err
	}
	list, err := retest.GivenAgain(s.name, s.output, nb, more, eng, src)
	return append(list, more...), err
}

// tree is a commit.
type tree struct {
	*worktree.Files
	inputs fresh.Tree
}

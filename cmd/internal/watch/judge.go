package watch

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/internal/branchreview"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/fresh"
	"markmill/runs"
)

// judged is a run that came to its end, and what of its inputs is saved since.
type judged struct {
	result   *engine.Result
	source   []byte             // of the notebook
	forks    int                // between the last run that is none and this one
	manifest notebooks.Manifest // the part of it that is compared
	unknown  string             // why it is not known what the run read
	head     worktree.OID
	dirty    map[string]bool // what may differ from head
	gone     map[string]bool // of a run that did not pass: what head has, and was not there at its end
	// always are the reasons that were there when the run ended, with nothing saved: what they name is compared by its
	// path alone.
	always map[fresh.Reason]bool
}

// newJudged reads the state of the checkout at the end of a run.
func newJudged(ctx context.Context, src *worktree.Source, result *engine.Result, source []byte) (*judged, error) {
	j := &judged{result: result, source: source, always: map[fresh.Reason]bool{}}
	run := result.Run
	j.manifest.Inputs = run.Inputs
	if j.manifest.Inputs == nil {
		j.manifest.Inputs = &notebooks.Inputs{Unknown: "the run recorded no inputs"}
	}
	if j.unknown = j.manifest.Inputs.Unknown; j.unknown != "" {
		return j, nil
	}
	if run.Diff != nil {
		for _, f := range run.Diff.Files {
			j.manifest.Changes = append(j.manifest.Changes, notebooks.ManifestChange{Path: f.Path, OldPath: f.OldPath,
				Status: f.Status, OldBlob: f.OldBlob, NewBlob: f.NewBlob, OldMode: f.OldMode, NewMode: f.NewMode})
		}
	}
	reasons, err := j.reasons(ctx, src)
	for _, r := range reasons {
		j.always[r] = true
	}
	if !run.Status().Passed() {
		j.gone = map[string]bool{}
		for p := range j.dirty {
			if _, err := os.Lstat(filepath.Join(src.Root(), filepath.FromSlash(p))); err != nil {
				j.gone[p] = true
			}
		}
	}
	return j, err
}

// came reports whether a path that was saved was not there when the run failed, which may have looked for it: that is
// not seen.
func (j *judged) came(l *loop, name string) bool {
	if j.gone == nil || path.IsAbs(name) || strings.HasPrefix(name, gitPrefix) || !l.saves.visible.Has(name, false) {
		return false
	}
	_, err := os.Lstat(l.absolute(name))
	return err == nil && (j.gone[name] || !j.knows(l.Source, name))
}

// reasons compares the inputs with the checkout as it is now.
func (j *judged) reasons(ctx context.Context, src *worktree.Source) ([]fresh.Reason, error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	if head != j.head || j.dirty == nil {
		paths, err := src.Dirty(ctx)
		if err != nil {
			return nil, err
		}
		j.head, j.dirty = head, map[string]bool{}
		for _, p := range paths {
			j.dirty[p] = true
		}
	}
	var list []string
	for p := range j.dirty {
		list = append(list, p)
	}
	files, err := src.FilesOnDisk(head, list)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	machine := &branchreview.Machine{Context: ctx, Getenv: os.LookupEnv,
		Store: runs.Store{Dir: filepath.Dir(filepath.Dir(j.result.Dir))}}
	r, err := fresh.Judge(&j.manifest, branchreview.Tree(files, machine).Inputs())
	if err != nil {
		return nil, err
	}
	return r.Reasons, nil
}

// changed returns the reasons for which the run is not current any more, after names were saved.
func (j *judged) changed(ctx context.Context, src *worktree.Source, names []string) ([]fresh.Reason, error) {
	if j.unknown != "" {
		return nil, nil
	}
	for _, name := range names {
		if !path.IsAbs(name) && !strings.HasPrefix(name, gitPrefix) && j.dirty != nil {
			j.dirty[name] = true
		}
	}
	reasons, err := j.reasons(ctx, src)
	return slices.DeleteFunc(reasons, func(r fresh.Reason) bool {
		return j.always[r] && !slices.ContainsFunc(names, func(name string) bool {
			return name == r.Path || path.Dir(name) == r.Path || strings.HasPrefix(name, r.Path+"/")
		})
	}), err
}

// first returns the index of the first step that a reason names, the number of steps without one. words say of a reason
// that it names none.
func (j *judged) first(reasons []fresh.Reason) (at int, words string) {
	steps := j.result.Run.Steps
	at = len(steps)
	for _, r := range reasons {
		i := slices.IndexFunc(steps, func(s runs.StepRecord) bool { return s.Planned.ID == r.Step })
		if i < 0 {
			return 0, r.Path + " is not an input of a step"
		}
		at = min(at, i)
	}
	return at, ""
}

// reads reports whether the run read a path, or declared it.
func (j *judged) reads(name string) bool {
	if j == nil || j.manifest.Inputs == nil {
		return false
	}
	in := j.manifest.Inputs
	return slices.ContainsFunc(in.Read, func(i notebooks.Input) bool { return i.Path == name }) ||
		slices.ContainsFunc(in.Declared, func(d notebooks.DeclaredInput) bool {
			return d.Kind == notebooks.InputFile && filepath.ToSlash(expand(d.Name)) == name
		})
}

// knows reports whether a path was there when the run ended.
func (j *judged) knows(src *worktree.Source, name string) bool {
	head, err := src.Head()
	if err != nil || j == nil || j.dirty[name] {
		return true
	}
	files, err := src.CommitFiles(head)
	if err != nil {
		return true
	}
	_, _, there, err := files.Entry(name)
	return there || err != nil
}

// elsewhere are the inputs whose folders need not be among those that Git has.
func (j *judged) elsewhere() (paths []string) {
	for _, in := range j.manifest.Inputs.Read {
		if in.Ignored {
			paths = append(paths, in.Path)
		}
	}
	for _, d := range j.manifest.Inputs.Declared {
		if d.Kind == notebooks.InputFile {
			paths = append(paths, expand(d.Name))
		}
	}
	return paths
}

// expand is the path of a declared file.
func expand(name string) string {
	if rest, below := strings.CutPrefix(name, "~/"); below {
		return filepath.Join(os.Getenv("HOME"), rest)
	}
	return name
}

// absolute is a path that was noted, as the system names it.
func (l *loop) absolute(name string) string {
	if file := filepath.FromSlash(name); filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(l.Source.Root(), filepath.FromSlash(name))
}

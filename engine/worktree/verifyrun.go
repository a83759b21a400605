package worktree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/patch"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/runs"
)

// VerifyRun checks the commits of a run against the run's record. It reads them from the bundle in the run
// directory; a ref of the run in s must agree. They must end where the record says; the steps' commits must
// form a chain from the base commit, each with the recorded tree; and the patch, applied to the base in memory, must
// give the resulting tree. The names of objects are computed again.
//
// s is a repository that may have the base commit, or nil. Without the base commit the patch is not checked. An error
// means that the repository cannot be read. A run that changed nothing has no commits to check.
func VerifyRun(s *Source, dir string, run *runs.Run, text []byte) (Looked, []runs.Finding, error) {
	v := verifier{s: s, where: repo.RunRefPrefix + string(run.ID)}
	result := ""
	var bundle *runs.BundleData
	if c := run.Completed; c != nil {
		result, bundle = c.ResultCommit, c.Bundle
	}
	if s != nil {
		held, err := s.Ref(v.where)
		if err != nil {
			return v.looked, nil, err
		}
		if held != "" && held != result {
			v.find("is %s in the repository, and the record says %s", held, cmp.Or(result, "nothing"))
		}
	}
	if bundle == nil || !v.open(dir, bundle, run) {
		return v.looked, v.findings, nil
	}
	defer v.bundle.Close()
	v.chain(run)
	if v.looked.NoBase = !v.hasBase(run); !v.looked.NoBase {
		v.change(run, text)
	}
	return v.looked, v.findings, nil
}

// Looked says what VerifyRun has checked.
type Looked struct {
	Commits int
	NoBase  bool // the base commit was not there: the patch was not applied to it
}

type verifier struct {
	s        *Source // nil: none
	fmt      *object.Format
	bundle   *object.Bundle
	where    string
	looked   Looked
	findings []runs.Finding
}

func (v *verifier) find(words string, args ...any) {
	v.findings = append(v.findings, runs.Finding{Where: v.where, Message: fmt.Sprintf(words, args...)})
}

// open reads the bundle and checks its header against the record. The verification of the record reports a bundle that
// is missing or was changed.
func (v *verifier) open(dir string, data *runs.BundleData, run *runs.Run) bool {
	ref := v.where
	v.where = data.File
	if data.File != runs.BundleFile || data.Ref != ref {
		v.find("is recorded as %s with %s", data.File, data.Ref)
		return false
	}
	b, err := object.OpenBundle(runs.At(dir).File(runs.BundleFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		v.find("%s", err)
		return false
	}
	v.bundle, v.fmt = b, b.Format
	if b.Ref != ref {
		v.find("holds %s, which is not the run's", b.Ref)
	}
	if string(b.Tip) != run.Completed.ResultCommit {
		v.find("ends with %s and the record says %s", b.Tip, cmp.Or(run.Completed.ResultCommit, "nothing"))
	}
	if string(b.Base) != run.Contract.BaseCommit {
		v.find("stands on %s and the record says %s", cmp.Or(string(b.Base), "nothing"),
			cmp.Or(run.Contract.BaseCommit, "nothing"))
	}
	return true
}

// hasBase reports whether the commit that the run began with can be read.
func (v *verifier) hasBase(run *runs.Run) bool {
	base := run.Contract.BaseCommit
	if base == "" {
		return true
	}
	_, err := v.object("commit", base)
	return v.s != nil && v.s.Format == v.fmt && err == nil
}

// object reads an object and checks its name against its content.
func (v *verifier) object(kind string, name string) (data []byte, err error) {
	d, ok := v.fmt.Parse(object.OID(name))
	if !ok {
		return nil, fmt.Errorf("%q is no name of a %s", name, kind)
	}
	_, here := v.bundle.Objects[d]
	switch {
	case here:
		var got string
		if got, data, err = v.bundle.Get(d); err == nil && got != kind {
			err = fmt.Errorf("%s is a %s, and no %s", name, got, kind)
		}
	case v.s != nil:
		data, err = v.s.Read(kind, d)
	default:
		err = fmt.Errorf("%s %s is not in the bundle", kind, name)
	}
	if err == nil && v.fmt.Sum(kind, data) != d {
		err = fmt.Errorf("%s %s is damaged: its bytes give %s", kind, name, v.fmt.OID(v.fmt.Sum(kind, data)))
	}
	return data, err
}

// chain checks the commits of the steps, and that the last is the result.
func (v *verifier) chain(run *runs.Run) {
	if run.Diff == nil {
		v.find("is recorded, and git.diff.checked is absent")
		return
	}
	prev := run.Diff.BaseCommit
	if own := run.Contract.BaseCommit; prev != own { // the user's uncommitted changes, as a commit of the run
		v.commit("the base", prev, "", own)
	}
	last := run.Diff.ResultTree
	for i := range run.Steps {
		f := run.Steps[i].Finished
		if f == nil || f.Commit == "" {
			continue
		}
		v.commit(fmt.Sprintf("step %s", run.Steps[i].Planned.ID), f.Commit, f.Tree, prev)
		prev, last = f.Commit, f.Tree
	}
	if result := run.Diff.ResultCommit; result != prev { // what the interpreters did when they were closed
		v.commit("the end", result, run.Diff.ResultTree, prev)
		last = run.Diff.ResultTree
	}
	if run.Completed.ResultCommit != run.Diff.ResultCommit {
		v.find("the result is recorded as %s and as %s", run.Diff.ResultCommit, run.Completed.ResultCommit)
	}
	if last != run.Diff.ResultTree {
		v.find("the last step's tree is %s, and the result's is recorded as %s", last, run.Diff.ResultTree)
	}
}

// commit checks one commit: its tree ("" is any) and its only parent.
func (v *verifier) commit(what, name, tree, parent string) {
	data, err := v.object("commit", name)
	if err != nil {
		v.find("%s: %s", what, err)
		return
	}
	v.looked.Commits++
	c := object.ParseCommit(v.fmt, data)
	if is := string(v.fmt.OID(c.Tree)); tree != "" && is != tree {
		v.find("%s: commit %s is of the tree %s and the record says %s", what, name, is, tree)
	}
	var parents []string
	for _, d := range c.Parents {
		parents = append(parents, string(v.fmt.OID(d)))
	}
	if is := strings.Join(parents, " "); is != parent {
		v.find("%s: commit %s comes after %q and the record says %q", what, name, is, parent)
	}
}

// change applies the patch to the base in memory and compares the outcome with the resulting tree.
func (v *verifier) change(run *runs.Run, text []byte) {
	d := run.Diff
	if d == nil {
		return
	}
	for _, b := range d.Blockers {
		if b.Code == runs.CodeChangeTooLarge {
			return // the text may hold less than the change; the run did not pass
		}
	}
	err := v.compare(d.BaseCommit, d.ResultTree, text)
	if err != nil {
		v.findings = append(v.findings, runs.Finding{Where: runs.PatchFile, Message: err.Error()})
	}
}

func (v *verifier) compare(base, result string, text []byte) error {
	var was object.Digest
	if base != "" {
		data, err := v.object("commit", base)
		if err != nil {
			return err
		}
		was = object.ParseCommit(v.fmt, data).Tree
	}
	old, now := map[string]object.TreeEntry{}, map[string]object.TreeEntry{}
	is, _ := v.fmt.Parse(object.OID(result))
	read := func(d object.Digest) ([]object.TreeEntry, error) {
		data, err := v.object("tree", string(v.fmt.OID(d)))
		if err != nil {
			return nil, err
		}
		return object.ParseTree(v.fmt, data)
	}
	err := object.DiffTrees("", was, is, read, read, func(path string, a, b object.TreeEntry) {
		if a.Mode != 0 {
			old[path] = a
		}
		if b.Mode != 0 {
			now[path] = b
		}
	})
	if err != nil {
		return err
	}
	parts, err := patch.Parse(text)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	got := maps.Clone(old)
	removed := map[string]bool{}
	for i := range parts {
		if err := v.apply(&parts[i], old, got, removed); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if e, there := got[path]; !there || e.Mode != now[path].Mode || e.OID != now[path].OID {
			return fmt.Errorf("does not give %s as the result's tree has it", quote.Path(path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, there := now[path]; !there {
			return fmt.Errorf("leaves or makes %s, which the result's tree does not have so", quote.Path(path))
		}
	}
	return nil
}

// apply applies one part of a patch to got, the paths that differ between base and result.
func (v *verifier) apply(p *patch.File, old, got map[string]object.TreeEntry, removed map[string]bool) (err error) {
	var was patch.State
	if p.OldPath != "" {
		e, there := old[p.OldPath]
		if !there {
			return fmt.Errorf("changes %s, which is the same in base and result", quote.Path(p.OldPath))
		}
		was.Mode, was.Data = e.Mode, fmt.Appendf(nil, "Subproject commit %s\n", v.fmt.OID(e.OID))
		if e.Mode != disk.ModeGitlink {
			if was.Data, err = v.object("blob", string(v.fmt.OID(e.OID))); err != nil {
				return err
			}
		}
		if p.Goes() {
			if !removed[p.OldPath] && got[p.OldPath] == e {
				delete(got, p.OldPath)
			}
			removed[p.OldPath] = true
		}
	}
	next, err := p.On(was)
	if err != nil {
		return fmt.Errorf("does not fit the base at %s: %w", quote.Path(p.OldPath), err)
	}
	if p.NewPath == "" {
		return nil
	}
	e := object.TreeEntry{Mode: next.Mode, OID: v.fmt.Sum("blob", next.Data)}
	if next.Mode == disk.ModeGitlink {
		text, _ := strings.CutPrefix(string(bytes.TrimSuffix(next.Data, []byte{'\n'})), "Subproject commit ")
		var ok bool
		if e.OID, ok = v.fmt.Parse(object.OID(text)); !ok {
			return errors.New("names no commit for the submodule " + quote.Path(p.NewPath))
		}
	}
	got[p.NewPath] = e
	return nil
}

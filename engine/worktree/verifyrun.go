package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"markmill/runs"
)

// VerifyRun holds the commits of a run against the run's record. They are read from the bundle in the run directory, of
// a run of an earlier version from its ref in s: they end where the record says; the steps' commits are a chain from
// the base commit on, each with the tree that is recorded; the patch, applied to the base in memory, gives the tree of
// the result. The names of objects are computed anew.
//
// s is a repository that may have the base commit, nil for none; without the base commit the patch is not looked at. An
// error means that the repository cannot be read. A run that changed nothing has no commits to look at.
func VerifyRun(s *Source, dir string, run *runs.Run, patch []byte) (Looked, []runs.Finding, error) {
	v := verifier{s: s, where: runRefs + string(run.ID)}
	recorded, result := "", ""
	var bundle *runs.BundleData
	if c := run.Completed; c != nil {
		recorded, result, bundle = c.Ref, c.ResultCommit, c.Bundle
	}
	held := ""
	if s != nil {
		v.fmt = s.fmt
		var err error
		if held, err = s.ref(v.where); err != nil {
			return v.looked, nil, err
		}
	}
	if held != "" && held != result {
		v.find("is %s in the repository, and the record says %s", held, orNothing(result))
	}
	switch {
	case bundle != nil:
		if !v.open(dir, bundle, run) {
			return v.looked, v.findings, nil
		}
		defer v.bundle.Close()
	case recorded == "" && held == "":
		return v.looked, v.findings, nil
	case recorded != "" && recorded != v.where:
		v.find("is the run's, and the record says %s", recorded)
		return v.looked, v.findings, nil
	case held == "":
		v.looked.NoRef = true
		return v.looked, v.findings, nil
	}
	v.chain(run)
	if v.looked.NoBase = !v.hasBase(run); !v.looked.NoBase {
		v.change(run, patch)
	}
	return v.looked, v.findings, nil
}

// Looked says what VerifyRun has looked at.
type Looked struct {
	Commits int
	NoBase  bool // the base commit was not there: the patch was not applied to it
	NoRef   bool // the commits of an earlier version's run are in no repository here
}

type verifier struct {
	s        *Source // nil: none
	fmt      *format
	bundle   *Bundle // nil: an earlier version's run
	where    string
	looked   Looked
	findings []runs.Finding
}

func (v *verifier) find(words string, args ...any) {
	v.findings = append(v.findings, runs.Finding{Where: v.where, Message: fmt.Sprintf(words, args...)})
}

// open reads the bundle and holds its header against the record. A bundle that is missing or has other bytes, the
// verification of the record has found.
func (v *verifier) open(dir string, data *runs.BundleData, run *runs.Run) bool {
	ref := v.where
	v.where = data.File
	if data.File != runs.BundleFile || data.Ref != ref {
		v.find("is recorded as %s with %s", data.File, data.Ref)
		return false
	}
	b, err := OpenBundle(runs.At(dir).File(runs.BundleFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		v.find("%s", err)
		return false
	}
	v.bundle, v.fmt = b, b.fmt
	if b.ref != ref {
		v.find("holds %s, which is not the run's", b.ref)
	}
	if string(b.tip) != run.Completed.ResultCommit {
		v.find("ends with %s and the record says %s", b.tip, orNothing(run.Completed.ResultCommit))
	}
	if string(b.base) != run.Contract.BaseCommit {
		v.find("stands on %s and the record says %s", orNothing(string(b.base)), orNothing(run.Contract.BaseCommit))
	}
	return true
}

// hasBase says whether the commit that the run began with can be read.
func (v *verifier) hasBase(run *runs.Run) bool {
	base := run.Contract.BaseCommit
	if base == "" {
		return true
	}
	_, err := v.object("commit", base)
	return v.s != nil && v.s.fmt == v.fmt && err == nil
}

// object reads an object and checks that it is the one that it is named as.
func (v *verifier) object(kind string, name string) (data []byte, err error) {
	d, ok := v.fmt.parse(OID(name))
	if !ok {
		return nil, fmt.Errorf("%q is no name of a %s", name, kind)
	}
	here := false
	if v.bundle != nil {
		_, here = v.bundle.objects[d]
	}
	switch {
	case here:
		var got string
		if got, data, err = v.bundle.get(d); err == nil && got != kind {
			err = fmt.Errorf("%s is a %s, and no %s", name, got, kind)
		}
	case v.s != nil:
		data, err = v.s.read(kind, d)
	default:
		err = fmt.Errorf("%s %s is not in the bundle", kind, name)
	}
	if err == nil && v.fmt.sum(kind, data) != d {
		err = fmt.Errorf("%s %s is damaged: its bytes give %s", kind, name, v.fmt.oid(v.fmt.sum(kind, data)))
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
	head, _, _ := strings.Cut(string(data), "\n\n")
	var trees, parents []string
	for line := range strings.SplitSeq(head, "\n") {
		if rest, ok := strings.CutPrefix(line, "tree "); ok {
			trees = append(trees, rest)
		} else if rest, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, rest)
		}
	}
	if tree != "" && !slices.Equal(trees, []string{tree}) {
		v.find("%s: commit %s is of the tree %s and the record says %s", what, name, strings.Join(trees, " "), tree)
	}
	if strings.Join(parents, " ") != parent {
		v.find("%s: commit %s comes after %q and the record says %q", what, name, strings.Join(parents, " "), parent)
	}
}

// change applies the patch to the base, in memory, and compares with the tree of the result.
func (v *verifier) change(run *runs.Run, patch []byte) {
	d := run.Diff
	if d == nil {
		return
	}
	for _, b := range d.Blockers {
		if b.Code == runs.CodeChangeTooLarge {
			return // the patch may hold less than the change; the run did not pass
		}
	}
	err := v.compare(d.BaseCommit, d.ResultTree, patch)
	if err != nil {
		v.findings = append(v.findings, runs.Finding{Where: runs.PatchFile, Message: err.Error()})
	}
}

func (v *verifier) compare(base, result string, patch []byte) error {
	was := ""
	if base != "" {
		data, err := v.object("commit", base)
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(string(data), "\n")
		was = strings.TrimPrefix(line, "tree ")
	}
	old, now := map[string]treeEntry{}, map[string]treeEntry{}
	if err := v.differing("", was, result, old, now); err != nil {
		return err
	}
	parts, err := parsePatch(patch)
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
		if e, there := got[path]; !there || e.mode != now[path].mode || e.oid != now[path].oid {
			return fmt.Errorf("does not give %s as the result's tree has it", quote(path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, there := now[path]; !there {
			return fmt.Errorf("leaves or makes %s, which the result's tree does not have so", quote(path))
		}
	}
	return nil
}

// apply does one part of a patch to got, the paths in which base and result differ.
func (v *verifier) apply(p *filePatch, old, got map[string]treeEntry, removed map[string]bool) error {
	var content []byte
	var mode uint32
	if p.oldPath != "" {
		e, there := old[p.oldPath]
		if !there {
			return fmt.Errorf("changes %s, which is the same in base and result", quote(p.oldPath))
		}
		mode = e.mode
		if mode == modeGitlink {
			content = fmt.Appendf(nil, "Subproject commit %s\n", v.fmt.oid(e.oid))
		} else {
			var err error
			if content, err = v.object("blob", string(v.fmt.oid(e.oid))); err != nil {
				return err
			}
		}
		if p.newPath == "" || p.rename {
			if !removed[p.oldPath] && got[p.oldPath] == e {
				delete(got, p.oldPath)
			}
			removed[p.oldPath] = true
		}
	}
	next, err := p.apply(content)
	if err != nil {
		return fmt.Errorf("does not fit the base at %s: %w", quote(p.oldPath), err)
	}
	if p.newPath == "" {
		if len(next) > 0 {
			return fmt.Errorf("removes %s, and leaves a part of it", quote(p.oldPath))
		}
		return nil
	}
	if p.newMode != 0 {
		mode = p.newMode
	}
	e := treeEntry{mode: mode, oid: v.fmt.sum("blob", next)}
	if mode == modeGitlink {
		text, _ := strings.CutPrefix(string(bytes.TrimSuffix(next, []byte{'\n'})), "Subproject commit ")
		var ok bool
		if e.oid, ok = v.fmt.parse(OID(text)); !ok {
			return errors.New("names no commit for the submodule " + quote(p.newPath))
		}
	}
	got[p.newPath] = e
	return nil
}

// differing collects the paths in which two trees differ, "" being an empty one. Entries are kept without their names.
func (v *verifier) differing(prefix, a, b string, old, now map[string]treeEntry) error {
	if a == b {
		return nil
	}
	sides := [2]map[string]treeEntry{}
	for i, name := range []string{a, b} {
		sides[i] = map[string]treeEntry{}
		if name == "" {
			continue
		}
		data, err := v.object("tree", name)
		if err != nil {
			return err
		}
		entries, err := parseTree(v.fmt, data)
		if err != nil {
			return err
		}
		for _, e := range entries {
			sides[i][e.name] = treeEntry{mode: e.mode, oid: e.oid}
		}
	}
	names := maps.Clone(sides[0])
	maps.Copy(names, sides[1])
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := sides[0][name], sides[1][name]
		if was == is {
			continue
		}
		var trees [2]string
		for i, e := range []treeEntry{was, is} {
			switch {
			case e.mode == modeDir:
				trees[i] = string(v.fmt.oid(e.oid))
			case e.mode != 0:
				[]map[string]treeEntry{old, now}[i][prefix+name] = e
			}
		}
		if err := v.differing(prefix+name+"/", trees[0], trees[1], old, now); err != nil {
			return err
		}
	}
	return nil
}

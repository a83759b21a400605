package engine

import (
	"fmt"
	"path"
	"slices"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// tested compares what the tests saw with what the run leaves. A file counts if a test step that passed read it and it
// changed during the last such step or after it, or if it came where such a step would have read it. Where it is not
// known what a test step read, every file counts that changed during the last test step or after it.
type tested struct {
	ran     bool // a test step passed
	unknown bool // it is not known what one of them read
	since   []fileChange
	after   []fileChange // during the last test step or after it

	read   map[string]bool            // files that a test step read
	listed map[string]map[string]bool // folders that one listed: the extensions of what was read there
	made   map[string]bool            // files that a test step made
	astray map[string]bool            // artifacts that are code, and that a test step read
	unseen map[string]bool            // folders of which it is not known what one read there

	changed map[string]bool            // whatever the run changed
	held    map[string]map[string]bool // by session: the files that its steps read; nil where that is not known
	reads   []notebooks.TestReads
}

// fileChange is a file that a step changed; the step is "" for what interpreters did when they were closed.
type fileChange struct {
	step notebooks.StepID
	path string
	came bool
}

// step notes what a step changed, and what it opened if it is a test step that passed.
func (t *tested) step(id notebooks.StepID, change *worktree.Change, passedTest bool) {
	if t.changed == nil {
		t.changed, t.held = map[string]bool{}, map[string]map[string]bool{}
		t.read, t.made, t.unseen, t.astray = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
		t.listed = map[string]map[string]bool{}
	}
	var files []fileChange
	now := map[string]bool{}
	for _, f := range change.Files {
		files = append(files, fileChange{id, f.Path, f.Status == "added"})
		if f.OldPath != "" {
			files = append(files, fileChange{id, f.OldPath, false})
		}
		now[f.Path], t.changed[f.Path] = true, true
	}
	if passedTest {
		t.ran, t.after = true, nil
		if change.Opened == nil {
			t.unknown = true
		} else {
			t.see(id, change, files, now)
		}
	}
	t.since, t.after = append(t.since, files...), append(t.after, files...)
}

// see notes what a test step saw: what earlier steps had changed of that is tested. now are the files that it changed.
func (t *tested) see(id notebooks.StepID, change *worktree.Change, files []fileChange, now map[string]bool) {
	for _, f := range files {
		if f.came {
			t.made[f.path] = true
		}
	}
	for _, folder := range change.Unseen {
		t.unseen[folder] = true
	}
	read, folders := change.Opened.Split()
	t.since = slices.DeleteFunc(t.since, func(c fileChange) bool {
		return read[c.path] || c.came && folders[path.Dir(c.path)]
	})
	for folder := range folders {
		if t.listed[folder] == nil {
			t.listed[folder] = map[string]bool{}
		}
	}
	for _, p := range change.Artifacts {
		if notebooks.IsCode(p) || notebooks.IsMixedFile(p) {
			t.since = append(t.since, fileChange{id, p, true})
			t.astray[p] = true
		}
	}
	for p := range read {
		if t.made[p] && now[p] { // it may have been opened to be written
			continue
		}
		t.read[p] = true
		if endings := t.listed[path.Dir(p)]; endings != nil {
			endings[path.Ext(p)] = true
		}
	}
}

// list notes what a step read, and lists it if it is a test step. What the interpreter of an earlier step had loaded, a
// later one of its session uses; a shell holds no code.
func (t *tested) list(s *PlannedStep, change *worktree.Change) {
	files, _ := change.Opened.Split()
	for _, f := range change.Files {
		if f.Status == "added" {
			delete(files, f.Path)
		}
	}
	if change.Opened == nil {
		files = nil
	}
	if !s.stateless() && !slices.Contains([]string{"bash", "sh", "zsh"}, s.Kernel.Name()) {
		held, began := t.held[s.sessionKey()]
		if began && held == nil {
			files = nil
		}
		for p := range held {
			if files != nil {
				files[p] = true
			}
		}
		t.held[s.sessionKey()] = files
	}
	if !s.Has(notebooks.TagTest) || files == nil {
		return
	}
	one := notebooks.TestReads{Step: s.ID, Files: map[string][]string{}}
	var others []string
	add := func(p string) { one.Files[path.Dir(p)] = append(one.Files[path.Dir(p)], path.Base(p)) }
	for p := range files {
		if t.changed[p] || notebooks.IsJudgeFile(p) {
			add(p)
		} else {
			others = append(others, p)
		}
	}
	slices.Sort(others)
	one.Omitted = max(0, len(others)-notebooks.MaxTestReads)
	for _, p := range others[:len(others)-one.Omitted] {
		add(p)
	}
	for _, names := range one.Files {
		slices.Sort(names)
	}
	t.reads = append(t.reads, one)
}

// untested returns the files that are not as the tests saw them, and what else was written during the last test step
// or after it, sorted.
func (t *tested) untested() (changed []fileChange, written []string) {
	if !t.ran {
		return nil, nil
	}
	if t.unknown {
		return t.after, nil
	}
	for _, c := range t.since {
		folder := path.Dir(c.path)
		if t.read[c.path] || t.astray[c.path] || !c.came && t.unseen[folder] ||
			c.came && (notebooks.IsJudgeFile(c.path) || notebooks.IsMixedFile(c.path) ||
				t.listed[folder][path.Ext(c.path)]) {
			changed = append(changed, c)
		}
	}
	for _, c := range t.after {
		if !slices.ContainsFunc(changed, func(o fileChange) bool { return o.path == c.path }) {
			written = append(written, c.path)
		}
	}
	slices.Sort(written)
	return changed, slices.Compact(written)
}

// testedIsLeft adds the blocker for files that are not as the tests saw them. After a failed step, a test that did not
// run is not reported as well.
func (r *run) testedIsLeft() {
	changed, _ := r.verdict.tested.untested()
	if len(changed) == 0 || r.verdict.failed != "" {
		return
	}
	var paths []string
	came := true
	for _, c := range changed {
		paths = append(paths, c.path)
		came = came && c.came
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	names := firstOf(paths)
	words := fmt.Sprintf("%s changed during the last test step that read it or after it", names)
	remedy := "let a step before the tests write it"
	switch {
	case r.verdict.tested.unknown:
		words = fmt.Sprintf("%s changed during the last test step or after it, and it is not known what the tests read",
			names)
	case came:
		words = fmt.Sprintf("%s came during the last test step or after it, where a test reads what is there", names)
	}
	switch {
	case r.verdict.tested.astray[paths[0]]:
		words = fmt.Sprintf("%s is an artifact, which the change does not have, and a test read it", names)
		remedy = "take it out of artifacts:"
	case came:
		remedy = fmt.Sprintf("if that is a result, name it in the front matter: artifacts: [%s]", names)
	}
	r.verdict.block(runs.Blocker{Code: runs.CodeDirtyEndingTree, Step: changed[0].step, Rule: runs.RuleTestedIsLeft,
		Paths: firstPaths(paths), Message: words + ", so what was tested is not what is left; " + remedy})
}

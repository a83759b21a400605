package engine

import (
	"path"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// tested compares what the tests saw with what the run leaves. A file counts if a test step that passed read it before
// it changed for the last time, or if it came where such a step would have read it. Where it is not known what a test
// step read, every file counts that changed during the last test step or after it.
type tested struct {
	ran     bool // a test step passed
	unknown bool // it is not known what one of them read
	since   []fileChange
	after   []fileChange // during the last test step or after it

	read   map[string]bool            // files that a test step read
	listed map[string]map[string]bool // folders that one listed: the extensions of what was read there
	made   map[string]bool            // files that a test step made
}

// fileChange is a file that a step changed; the step is "" for what interpreters did when they were closed.
type fileChange struct {
	step notebooks.StepID
	path string
	came bool
}

// step notes what a step changed, and what it opened if it is a test step that passed.
func (t *tested) step(id notebooks.StepID, change *worktree.Change, passedTest bool) {
	var files []fileChange
	for _, f := range change.Files {
		files = append(files, fileChange{id, f.Path, f.Status == "added"})
		if f.OldPath != "" {
			files = append(files, fileChange{id, f.OldPath, false})
		}
	}
	if passedTest {
		t.ran, t.after = true, nil
		if change.Opened == nil {
			t.unknown = true
		} else {
			t.see(change.Opened, files)
		}
	}
	t.since, t.after = append(t.since, files...), append(t.after, files...)
}

// see notes what a test step saw: what earlier steps had changed of that is tested.
func (t *tested) see(opened worktree.Opened, files []fileChange) {
	if t.read == nil {
		t.read, t.listed, t.made = map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}
	}
	for _, f := range files {
		if f.came {
			t.made[f.path] = true
		}
	}
	read, folders := opened.Split()
	t.since = slices.DeleteFunc(t.since, func(c fileChange) bool {
		return read[c.path] || c.came && folders[path.Dir(c.path)]
	})
	for folder := range folders {
		if t.listed[folder] == nil {
			t.listed[folder] = map[string]bool{}
		}
	}
	for p := range read {
		if t.made[p] { // it may have been opened to be written
			continue
		}
		t.read[p] = true
		if endings := t.listed[path.Dir(p)]; endings != nil {
			endings[path.Ext(p)] = true
		}
	}
}

// untested returns the files that are not as the tests saw them, and what else was written during the last test step
// or after it, sorted. watches reports whether everything is seen that opens files of a folder.
func (t *tested) untested(watches func(folder string) bool) (changed []fileChange, written []string) {
	if !t.ran {
		return nil, nil
	}
	if t.unknown {
		return t.after, nil
	}
	for _, c := range t.since {
		folder := path.Dir(c.path)
		if t.read[c.path] || c.came && (configuresTests(c.path) || t.listed[folder][path.Ext(c.path)]) ||
			slices.Contains(t.after, c) && !watches(folder) && !(c.came && t.made[c.path]) {
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

// configuresTests reports whether test runners look for a file of this name wherever it stands.
func configuresTests(p string) bool {
	name := path.Base(p)
	return slices.Contains(testSettings, name) || slices.Contains(strings.Split(path.Dir(p), "/"), "__snapshots__") ||
		strings.HasPrefix(name, "jest.config.") || strings.HasPrefix(name, "vitest.config.") ||
		strings.HasPrefix(name, ".mocharc.")
}

// testSettings are settings of test runners, and what interpreters load by itself.
var testSettings = []string{
	"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py",
	"package.json", "tsconfig.json",
	"go.mod", "go.work", "Cargo.toml", "pom.xml", "build.gradle", "CTestTestfile.cmake",
}

// testedIsLeft adds the blocker for files that are not as the tests saw them. After a failed step, a test that did not
// run is not reported as well.
func (r *run) testedIsLeft() {
	changed, _ := r.verdict.tested.untested(r.ws.tree.Watches)
	if len(changed) == 0 || r.verdict.failed != "" {
		return
	}
	var paths []string
	for _, c := range changed {
		paths = append(paths, c.path)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	r.verdict.block(runs.Blocker{Code: runs.CodeDirtyEndingTree, Step: changed[0].step, Rule: runs.RuleTestedIsLeft,
		Paths: firstPaths(paths),
		Message: "changed during the last test step or after it: " + firstOf(paths) +
			"; so what was tested is not what is left",
		Hint: "let the step that writes them run before the tests, or let Git ignore what is a result"})
}

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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

// countTests counts the tests of a step: by the reports in JUnit's XML that its runner left in MARKMILL_STEP_DIR, else
// by what "go test -json" printed, else by the end of its output.
func (r *run) countTests(step notebooks.StepID, dir, display string, outs [2]*stream) (*runs.TestCounts, error) {
	counts, err := r.keepReports(step, dir, display)
	if counts != nil || err != nil {
		return counts, err
	}
	if runs.IsGoEvents(outs[0].tail) {
		f, err := os.Open(filepath.Join(outs[0].dir, outs[0].name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return runs.CountGoEvents(f), nil
	}
	return runs.CountTests(append(outs[0].tail, outs[1].tail...)), nil
}

// keepReports copies the reports of a runner into the step's folder of the record, and adds up their counts; nil
// without a report.
func (r *run) keepReports(step notebooks.StepID, dir, display string) (*runs.TestCounts, error) {
	entries, err := os.ReadDir(display)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var sum *runs.TestCounts
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".xml" || !e.Type().IsRegular() {
			continue
		}
		n := 1
		if sum != nil {
			n += len(sum.Reports)
		}
		name := path.Join(filepath.ToSlash(dir), fmt.Sprintf("tests-%d.xml", n))
		size, digest, err := r.rec.keepFile(step, filepath.Join(display, e.Name()), name)
		if err != nil {
			return nil, err
		}
		text, err := r.rec.record.ReadFile(name)
		if err != nil {
			return nil, err
		}
		counts := runs.CountJUnit(bytes.NewReader(text))
		if counts == nil { // some other XML
			if err := r.rec.record.Remove(name); err != nil {
				return nil, err
			}
			continue
		}
		if sum == nil {
			sum = &runs.TestCounts{Runner: counts.Runner, From: counts.From}
		}
		sum.Passed, sum.Failed, sum.Skipped = sum.Passed+counts.Passed, sum.Failed+counts.Failed,
			sum.Skipped+counts.Skipped
		sum.Reports = append(sum.Reports, runs.StreamData{File: name, Bytes: size, Digest: digest})
	}
	return sum, err
}

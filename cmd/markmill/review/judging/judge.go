package judging

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/retest"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/render/fresh"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/review"
	"markmill/runs"
)

// Options configure how a branch is judged.
type Options struct {
	Given []params.Given // the values of secrets, and of parameters that no output has
	Limit time.Duration  // of each run; 0 is the notebook's
	// Running, which may be nil, is called before each run: it says on what a notebook runs.
	Running func(notebook, on string)
	Sinks   engine.Sinks // of each run
	// Accepted are findings that a maintainer accepted, besides those of the policy.
	Accepted []engine.Accepted
}

// judging is the state of one review.
type judging struct {
	Options
	*review.Judged
	eng       *engine.Engine
	repo      *worktree.Source
	cfg       engine.Config // of the base
	base      review.Revision
	old, now  *side
	trees     [2]string // of the two sides
	differing []string
	manifests map[string][2]*stored // of notebooks: the outputs on both sides
	outputs   map[string]bool
}

// stored is an output notebook.
type stored struct {
	name     string
	text     []byte
	manifest *notebooks.Manifest
}

// Make judges HEAD with the judges of BASE. The settings of eng are replaced by those of BASE.
func Make(ctx context.Context, eng *engine.Engine, repo *worktree.Source, base, head review.Revision, o Options) (
	_ *review.Judged, err error) {
	began := eng.Now()
	j := &judging{Options: o, repo: repo, base: base, outputs: map[string]bool{},
		Judged: &review.Judged{Notebooks: []review.JudgedNotebook{}}, manifests: map[string][2]*stored{}}
	old, err := repo.CommitFiles(worktree.OID(base.Commit))
	if err != nil {
		return nil, err
	}
	now, err := openHead(ctx, repo, head)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, now.Close()) }()
	j.old, j.now = &side{old, map[string][]definition{}}, &side{now, map[string][]definition{}}
	if j.cfg, err = branchreview.Settings(old); err != nil {
		return nil, err
	}
	again := *eng
	again.Config, again.Source = j.cfg, repo
	again.Config.Pool = "off"
	j.eng = &again
	if p := j.cfg.Policy; p != nil {
		j.Note = p.DecideNote
	}
	for i, s := range []*side{j.old, j.now} {
		if j.trees[i], _, err = branchreview.Tree(s.Files, nil).Inputs().Folder("."); err != nil {
			return nil, err
		}
	}
	if j.differing, err = worktree.Differing(old, now); err != nil {
		return nil, err
	}
	if err := j.readOutputs(); err != nil {
		return nil, err
	}
	if err := j.all(ctx); err != nil {
		return nil, err
	}
	j.accept()
	j.TookNS = int64(eng.Now().Sub(began))
	return j.Judged, nil
}

func openHead(ctx context.Context, repo *worktree.Source, head review.Revision) (*worktree.Files, error) {
	if head.Commit == "" {
		return repo.CheckoutFiles(ctx)
	}
	return repo.CommitFiles(worktree.OID(head.Commit))
}

// isNotebook reports whether a file is a notebook or an output on either side: one whose text has a manifest or steps.
func (j *judging) isNotebook(name string) bool {
	if j.outputs[name] || files.IsScript(name, nil) { // a script with cells is a program, too
		return j.outputs[name]
	}
	for _, s := range []*side{j.old, j.now} {
		if text := s.text(name); text != nil {
			if nb, err := forms.Parse(name, text); err == nil && len(nb.Steps) > 0 {
				return true
			}
		}
	}
	return false
}

// readOutputs finds the output notebooks of both sides, by their source.
func (j *judging) readOutputs() error {
	for i, s := range []*side{j.old, j.now} {
		names, err := s.All(review.IsNotebookName)
		if err != nil {
			return err
		}
		for _, name := range names {
			text := s.text(name)
			if !bytes.Contains(text, []byte(`"source_path"`)) && !bytes.Contains(text, []byte(`"manifest"`)) {
				continue
			}
			m, err := forms.Manifest(name, text)
			if err != nil || m == nil {
				continue
			}
			j.outputs[name] = true
			if m.SourcePath != "" && m.Partial == "" {
				pair := j.manifests[path.Clean(m.SourcePath)]
				pair[i] = &stored{name, text, m}
				j.manifests[path.Clean(m.SourcePath)] = pair
			}
		}
	}
	return nil
}

// all judges by every notebook of the base that has judging steps.
func (j *judging) all(ctx context.Context) error {
	names, err := j.old.All(review.IsNotebookName)
	if err != nil {
		return err
	}
	told := false
	for _, name := range names {
		source, err := retest.SourceIn(j.old.Files, name)
		if err != nil || source == nil {
			continue
		}
		nb, err := forms.Parse(name, source)
		if err != nil || !engine.IsJudging(nb) || j.outputs[name] && j.manifests[name][0] == nil {
			continue
		}
		c, err := j.changeFor(nb, name)
		if err != nil {
			return err
		}
		if !told { // the same of every notebook
			told, j.Notes = true, c.notes()
			j.Dependencies = c.dependencies()
		}
		n, err := j.notebook(ctx, name, source, nb, c)
		if err != nil {
			return err
		}
		j.Notebooks = append(j.Notebooks, *n)
	}
	return nil
}

// locks are the names of lock files.
var locks = []string{"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "pnpm-lock.yaml",
	"yarn.lock", "package-lock.json", "npm-shrinkwrap.json", "bun.lock", "Cargo.lock", "Gemfile.lock", "composer.lock"}

func (c *change) dependencies() []string {
	return slices.DeleteFunc(slices.Clone(c.Product), func(p string) bool {
		return !slices.Contains(locks, path.Base(p))
	})
}

// notebook judges by one notebook.
func (j *judging) notebook(ctx context.Context, name string, source []byte, nb *notebooks.Notebook, c *change) (
	*review.JudgedNotebook, error) {
	n := &review.JudgedNotebook{Path: name, State: review.JudgeNothing}
	pair := j.manifests[name]
	n.Base, n.Head = pair[0].cameTo(), pair[1].cameTo()
	if s := pair[1]; s != nil {
		judged, err := fresh.Judge(s.manifest, branchreview.Tree(j.now.Files, nil).Inputs())
		if err != nil || !judged.Current() {
			n.Head += ", before this code"
		}
	}
	switch current, err := j.holds(pair[0], name, source); {
	case err != nil:
		return nil, err
	case c.sameProduct():
		n.Words = "nothing but tests differs"
		return n, nil
	case current:
		n.Words = "it read nothing that differs"
		return n, nil
	}
	r := &rounds{judging: j, c: c, n: n, name: name, source: source, nb: nb, pair: pair}
	return n, r.judge(ctx)
}

// holds reports whether the output of the base still holds on the branch: nothing that its run read differs.
func (j *judging) holds(was *stored, name string, source []byte) (bool, error) {
	if was == nil || !runs.Status(was.manifest.Status).Passed() || !retest.IsOf(was.manifest, name, source) {
		return false, nil
	}
	judged, err := fresh.Judge(was.manifest, branchreview.Tree(j.now.Files, nil).Inputs())
	return err == nil && judged.Current(), err
}

// cameTo says what the tests of an output came to.
func (s *stored) cameTo() string {
	if s == nil {
		return ""
	}
	return review.CameTo(s.manifest)
}

func wordsOf(t *runs.TestCounts) string { return result.TestWords(t.Passed, t.Failed, t.Skipped, "") }

// accept marks what a maintainer has accepted, and gives every finding its id.
func (j *judging) accept() {
	list := slices.Clone(j.Accepted)
	if p := j.cfg.Policy; p != nil {
		list = append(list, p.Accepted...)
	}
	for i := range j.Notebooks {
		n := &j.Notebooks[i]
		for k := range n.Tests {
			t := &n.Tests[k]
			if t.Grade == review.GradeTold {
				continue
			}
			sum := sha256.Sum256([]byte(strings.Join([]string{j.trees[0], j.trees[1], n.Path, t.Step, t.File, t.Test,
				string(t.Grade)}, "\x00")))
			t.ID = hex.EncodeToString(sum[:6])
			for _, a := range list {
				if a.ID == t.ID {
					t.Accepted = a.By + ": " + a.Reason
				}
			}
		}
	}
}

// outcome is what a run of the judges came to.
type outcome struct {
	stopped string // why nobody can tell: a gate, a parameter, the sandbox
	dir     string
	steps   map[notebooks.StepID]*judgedStep
	took    time.Duration
}

// judgedStep is one judge of an outcome.
type judgedStep struct {
	passed, late bool
	words        string // how it ended
	counts       *runs.TestCounts
	failed       []runs.FailedTest
	output       string
}

// runEnv are variables that make runners print what is needed: every failure, and each error of a compiler.
func runEnv(only []runs.FailedTest) map[string]string {
	pytest, golang := "-rfE --continue-on-collection-errors", "-count=1 -vet=off -gcflags=-e"
	if len(only) > 0 {
		var names, tests []string
		for _, t := range only {
			short := t.Name[strings.LastIndex(t.Name, ":")+1:]
			names, tests = append(names, short), append(tests, "^"+short+"$")
		}
		if !slices.ContainsFunc(names, func(n string) bool { return strings.ContainsAny(n, " ()'\"") || n == "" }) {
			pytest += " -k '" + strings.Join(names, " or ") + "'"
			golang += " -run=" + strings.Join(tests, "|")
		}
	}
	return map[string]string{"PYTEST_ADDOPTS": pytest, "GOFLAGS": golang}
}

// run runs the judges of a notebook on the base's commit with some files as they are elsewhere.
func (r *rounds) run(ctx context.Context, on string, overlay []worktree.Restored, only []runs.FailedTest) (
	*outcome, error) {
	j := r.judging
	if j.Running != nil {
		j.Running(r.name, on)
	}
	began := j.eng.Now()
	out := &outcome{steps: map[notebooks.StepID]*judgedStep{}}
	defer func() { out.took = j.eng.Now().Sub(began) }()
	req := engine.Request{Path: r.name, Source: r.source, Repository: j.repo.Root(), Base: j.base.Commit,
		Dirty: engine.DirtyIgnore, Assets: views.AssetsFolder(""), Reverse: overlay,
		Options: runs.Options{RunTimeoutNS: int64(j.Limit)}, Reuse: engine.ReuseOff, KeepGoing: true,
		Judge: &engine.JudgeRequest{Changing: r.changing(), Env: runEnv(only)}}
	var ran *engine.Result
	var refused, err error
	if s := cmp.Or(r.pair[1], r.pair[0]); s != nil {
		req.Given, err = retest.GivenAgain(s.name, s.text, r.nb, j.Given, j.eng, j.repo)
		refused, err = retest.Refused(ctx, err)
	}
	if refused == nil && err == nil {
		req.Given = append(req.Given, j.Given...)
		ran, refused, err = retest.RunRequest(ctx, j.eng, req, j.Sinks)
	}
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	if refused != nil {
		out.stopped = plain.OneLine(refused.Error())
		return out, nil
	}
	j.Runs++
	out.dir = ran.Dir
	r.n.Runs = append(r.n.Runs, ran.Dir)
	err = out.read(ran)
	for _, step := range out.steps { // each run has a worktree of its own
		for i := range step.failed {
			step.failed[i].File = r.c.relative(step.failed[i].File)
		}
	}
	return out, err
}

// read takes from a record what its judges came to.
func (o *outcome) read(ran *engine.Result) error {
	record := runs.At(ran.Dir)
	started := false
	for i := range ran.Run.Steps {
		s := &ran.Run.Steps[i]
		if s.Finished == nil {
			continue
		}
		f := s.Finished
		if s.Step == nil {
			continue // it did not start
		}
		passed := f.Status == runs.StepPassed || f.Status == runs.StepAllowed
		if !notebooks.Judge(s.Planned.Tags) {
			if !passed && o.stopped == "" {
				o.stopped = fmt.Sprintf("step %s, which they need, ends with %s", s.Planned.ID,
					cmp.Or(f.Reason, fmt.Sprintf("exit %d", f.Exit)))
			}
			continue
		}
		started = true
		step := &judgedStep{passed: passed, late: f.Status == runs.StepTimeout, counts: f.Tests,
			words: cmp.Or(f.Reason, fmt.Sprintf("exit %d", f.Exit))}
		for _, stream := range []runs.StreamData{f.Stdout, f.Stderr} {
			if stream.File != "" {
				text, err := record.ReadFile(stream.File)
				if err != nil {
					return err
				}
				step.output += string(text)
			}
		}
		step.failed = runs.FailedTests([]byte(step.output))
		if f.Tests != nil {
			for _, report := range f.Tests.Reports {
				text, err := record.ReadFile(report.File)
				if err != nil {
					return err
				}
				if list := runs.FailedInJUnit(bytes.NewReader(text)); len(step.failed) == 0 {
					step.failed = append(step.failed, list...)
				}
			}
		}
		o.steps[s.Planned.ID] = step
	}
	if !started && o.stopped == "" {
		o.stopped = "nothing ran"
		if causes := ran.Run.Causes(); len(causes) > 0 {
			o.stopped = plain.OneLine(ran.Run.Located(causes[0].Blocker).Line())
		}
	}
	return nil
}

// passed reports whether every judge passed.
func (o *outcome) passed() bool {
	for _, s := range o.steps {
		if !s.passed {
			return false
		}
	}
	return o.stopped == ""
}

// failed are the names of the tests that failed.
func (o *outcome) failed() (names []string) {
	for _, s := range o.steps {
		for _, t := range s.failed {
			names = append(names, cmp.Or(t.Name, t.File))
		}
	}
	slices.Sort(names)
	return names
}

// ending is words, with the last line that was printed where nothing was counted.
func (o *outcome) ending() string {
	words := o.words()
	for _, s := range o.steps {
		if !s.passed && s.counts == nil {
			words += ", " + lastLine(s.output)
		}
	}
	return words
}

// words are the counts of all judges, or how they ended.
func (o *outcome) words() string {
	var all runs.TestCounts
	counted, ended := false, ""
	for _, s := range o.steps {
		if s.counts != nil {
			counted = true
			all.Passed, all.Failed, all.Skipped = all.Passed+s.counts.Passed, all.Failed+s.counts.Failed,
				all.Skipped+s.counts.Skipped
		}
		if !s.passed {
			ended = s.words
		}
	}
	switch {
	case counted:
		return wordsOf(&all)
	case ended != "":
		return ended
	}
	return "passed"
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Words of Request.Reuse and of the front matter's reuse:.
const (
	ReuseOn    = "on"    // all steps but tests and reviews
	ReuseTests = "tests" // tests and reviews, too
	ReuseOff   = "off"
)

// mostReusable bounds how many passed runs of a notebook are examined.
const mostReusable = 20

// reuseWord returns the reuse mode: that of the request, or else that of the notebook; "" is off. A notebook cannot
// have its tests carried: who wrote it may have written what they test.
func (p *Plan) reuseWord() string {
	switch word := cmp.Or(p.request.Reuse, p.notebook.Front.Reuse); {
	case word == ReuseOff:
		return ""
	case word == ReuseTests && p.request.Reuse == "":
		return ReuseOn
	default:
		return word
	}
}

// carry finds the passed run of the notebook from which the most steps can be reused, and makes the plan a fork of it.
// If there is none, NotReused gives the reason.
func (p *Plan) carry(ctx context.Context, e *Engine) error {
	word := p.reuseWord()
	if !slices.Contains([]string{"", ReuseOn, ReuseTests}, word) {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("--reuse=%s", word),
			Hint: "write --reuse, --reuse=tests or --reuse=off"}
	}
	if p.request.Reuse == "" && p.notebook.Front.Reuse == ReuseTests {
		p.notebook.Warnings = append(p.notebook.Warnings, &notebooks.Error{Kind: notebooks.KindOption,
			File: p.request.Path, Line: 1,
			Msg:  "reuse: tests in a notebook is reuse: on: its tests run, whatever an earlier run says",
			Hint: "--reuse=tests carries tests, too"})
	}
	if word == "" || p.request.Resume != "" {
		return nil
	}
	if p.notReused = p.cannotReuse(); p.notReused != "" {
		return nil
	}
	store := e.Store(p.request.Repository)
	list, err := store.List()
	if err != nil {
		return err
	}
	files, err := p.source.CommitFiles(p.base)
	if err != nil {
		return err
	}
	view, err := files.View().Without(p.ownOutput(), nil)
	if err != nil {
		return err
	}
	p.notReused = "no earlier run of the notebook passed"
	best := &reusable{}
	looked := 0
	for _, entry := range list {
		if looked == mostReusable || best.many > 0 && best.fork.At == "" { // no step has to run
			break
		}
		i := &InterruptedRun{Dir: entry.Dir, forked: true}
		if entry.Status != runs.Pass || !p.isOf(entry) || !runs.At(entry.Dir).Made() || i.read() != nil {
			continue
		}
		looked++
		if err := best.compare(ctx, e, p, i, view); err != nil {
			return err
		}
	}
	if best.before > 0 { // the original run may be an older one
		for _, c := range best.run.Run.Carried() {
			i := &InterruptedRun{Dir: store.Path(c.Run), forked: true}
			if !runs.At(i.Dir).Made() || i.read() != nil || i.Run.Status() != runs.Pass {
				continue
			}
			if err := best.compare(ctx, e, p, i, view); err != nil {
				return err
			}
		}
	}
	switch {
	case best.many > 0:
		p.notReused, p.interrupted, p.fork = "", best.run, best.fork
		p.request.Resume, p.request.Fork = best.run.Run.ID, true
	case best.run != nil:
		p.notReused = best.fork.Reason
	}
	return nil
}

// reusable is the run from which the most steps can be carried, of those that were looked at.
type reusable struct {
	run    *InterruptedRun
	fork   *runs.ForkData
	many   int // steps
	before int // files of the runs before it, which the record of every fork of it keeps, too
}

// compare takes a passed run of the plan's notebook if more steps can be carried from it, or as many with fewer runs
// before it.
func (best *reusable) compare(ctx context.Context, e *Engine, p *Plan, i *InterruptedRun, view *worktree.View) error {
	fork, many, err := i.carried(ctx, e, p, p.reuseWord(), view)
	if err != nil {
		return err
	}
	before, err := os.ReadDir(runs.At(i.Dir).File(runs.ResumedDir))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case many == 0 && best.run == nil:
		*best = reusable{run: i, fork: fork} // the reason of the newest run is reported
	case many < best.many || many == best.many && len(before) >= best.before || many == 0:
	default:
		if err := i.check(); err != nil {
			p.notReused = err.Error()
			return nil //nolint:nilerr // try another run
		}
		*best = reusable{run: i, fork: fork, many: many, before: len(before)}
	}
	return nil
}

// isOf reports whether an entry is a run of the plan's notebook.
func (p *Plan) isOf(entry runs.Entry) bool {
	if entry.Notebook == p.request.Path {
		return true
	}
	a, errA := filepath.Abs(entry.Notebook)
	b, errB := filepath.Abs(p.request.Path)
	return errA == nil && errB == nil && a == b
}

// cannotReuse returns why the run can reuse no earlier run; "" if it can.
func (p *Plan) cannotReuse() string {
	switch {
	case p.source == nil || p.mode() == runs.MutationInPlace:
		return "it works in the folder itself"
	case p.base == "":
		return "the repository has no commit"
	case p.request.Dirty == DirtyInclude || len(p.copies()) > 0 || p.hasData || len(p.request.Reverse) > 0:
		return "it begins with files that are in no commit"
	case p.request.Rerun != nil:
		return "it repeats a run"
	case p.leavesOut():
		return "only a part of the notebook is asked for"
	case slices.ContainsFunc(p.bound, func(b notebooks.Bound) bool { return b.Value.Type == notebooks.TypeSecret }):
		return "it has secrets, of which nobody can say whether they are as they were"
	}
	return ""
}

// carried decides which steps of a passed run can be reused: those before the first that might behave differently now.
func (i *InterruptedRun) carried(ctx context.Context, e *Engine, p *Plan, word string, view *worktree.View) (
	f *runs.ForkData, many int, err error) {
	f = &runs.ForkData{Reuse: word, Digest: i.Run.Source, File: runs.ForkedSource(i.Run.ID, i.Run.Started.SourceFile)}
	if len(p.steps) > 0 {
		f.At = p.steps[0].ID
	}
	then := p.request
	then.Path, then.Source = i.Run.Started.Notebook, i.Source
	was, err := e.Parse(then)
	if err != nil {
		f.Reason = "the notebook of the run before cannot be read by this version"
		return f, 0, nil //nolint:nilerr // not a reason to fail
	}
	if f.Reason, err = i.otherwise(ctx, e, p, was, view); f.Reason != "" || err != nil {
		return f, 0, err
	}
	record, changed := runs.At(i.Dir), map[string]bool{}
	at := 0
	for ; at < len(p.steps); at++ {
		s := &p.steps[at]
		if f.Reason = i.notCarried(s, was, nil); f.Reason != "" {
			break
		}
		rec := &i.Run.Steps[s.Index]
		if rec.Step == nil {
			continue // it was skipped: the same is decided again
		}
		if f.Reason, err = i.otherReads(e, record, rec, p, view); f.Reason == "" && err == nil {
			f.Reason, err = madeNow(rec, changed, view)
		}
		if err != nil {
			return f, 0, err
		}
		switch done := rec.Finished; {
		case f.Reason != "":
		case s.Has(notebooks.TagVolatile):
			f.Reason = fmt.Sprintf("step %s is volatile", s.ID)
		case s.Has(notebooks.TagHealth):
			f.Reason = fmt.Sprintf("step %s is a check", s.ID)
		case len(done.LeftRunning) > 0:
			f.Reason = fmt.Sprintf("step %s left processes running", s.ID)
		case len(done.InnerRuns) > 0:
			f.Reason = fmt.Sprintf("step %s ran notebooks of its own", s.ID)
		case s.Judges() && word != ReuseTests:
			f.Again = append(f.Again, s.ID)
			continue
		}
		if f.Reason != "" {
			break
		}
		many++
	}
	if f.At = ""; at < len(p.steps) {
		f.At = p.steps[at].ID
		again := func(id notebooks.StepID) bool { return p.steps[at].ID == id }
		f.Again = slices.DeleteFunc(f.Again, again)
	}
	return f, many, nil
}

// otherwise returns a difference from the earlier run that concerns every step; "" if there is none.
func (i *InterruptedRun) otherwise(ctx context.Context, e *Engine, p *Plan, was *notebooks.Notebook,
	view *worktree.View) (string, error) {
	run := i.Run
	names, ungiven := i.otherParameters(p)
	now, then := p.Options(), *run.Started.Options
	then.Given, now.Given, then.Branch, now.Branch = nil, nil, "", ""
	switch front := otherFront(was.Front, p.notebook.Front); {
	case front != "":
		return front, nil
	case len(names) > 0:
		return "the parameter " + names[0] + " has another value", nil
	case len(ungiven) > 0:
		return "the parameter " + ungiven[0] + " was given to the run before", nil
	case now.Kernel != then.Kernel || now.Language != then.Language || now.Cwd != then.Cwd ||
		now.AllowErrors != then.AllowErrors || len(then.Copy) > 0:
		return "the run before had other options", nil
	case run.Inputs == nil:
		return "the run before did not record what it read", nil
	case run.Inputs.Unknown != "":
		return "what the run before read is not known: " + run.Inputs.Unknown, nil
	case run.Started.EnvironmentDigest == "" || run.Started.EnvironmentDigest != p.environmentDigest(e):
		return "the environment of steps is another: PATH, or another variable that they get", nil
	}
	for _, step := range run.Steps {
		if step.Step == nil {
			continue
		}
		if words := e.otherProgram(step.Step, p.root(), run.Inputs.Dependencies); words != "" {
			return words, nil
		}
	}
	if path := otherDependency(p.root(), run.Inputs.Dependencies); path != "" {
		return path + " has other packages than then, or its lock file changed", nil
	}
	declared := p.notebook.Front.Inputs
	if len(declared) != len(run.Inputs.Declared) {
		return "inputs: in the front matter has changed", nil
	}
	for n, d := range declared {
		now, err := LookUpInput(ctx, d, e.Getenv, view)
		if err != nil {
			return "", err
		}
		if now != run.Inputs.Declared[n] {
			return "the declared input " + d.Name + " has changed", nil
		}
	}
	return "", nil
}

// otherProgram returns why an interpreter is not the recorded one; "" if it is.
func (e *Engine) otherProgram(step *runs.StepStartedData, root string, deps []notebooks.Dependency) string {
	base := filepath.Base(step.Program)
	digest, err := e.digestOfProgram(step.Program)
	list, _ := e.Getenv("PATH")
	found := slices.ContainsFunc(deps, func(d notebooks.Dependency) bool { // it need not be active
		return slices.Contains(environments, d.Path) &&
			filepath.Dir(step.Program) == filepath.Join(root, filepath.FromSlash(d.Path), "bin")
	})
	for _, dir := range filepath.SplitList(list) { // another program of that name may precede it now
		path := filepath.Join(dir, base)
		if _, statErr := e.digestOfProgram(path); statErr == nil && !found {
			found = path == step.Program
			break
		}
	}
	configured := e.Config.Kernels[step.Kernel].Program != ""
	switch {
	case e.Config.KernelSettings(step.Kernel) != step.Settings:
		_, name := kernelName(step.Kernel)
		return fmt.Sprintf("%s changed the kernel %s", ConfigFile, name)
	case err != nil, digest != step.ProgramDigest, !found && !configured:
		return fmt.Sprintf("the program of %s, %s, is another, or was not recorded", step.Kernel, base)
	}
	return ""
}

// otherReads returns a path that a step had read and that differs in a tree; "" if there is none. Who looked at HEAD
// may have seen the commit itself, and all before it.
func (i *InterruptedRun) otherReads(e *Engine, record *runs.Record, rec *runs.StepRecord, p *Plan,
	view *worktree.View) (string, error) {
	id := rec.Planned.ID
	if rec.Finished == nil || rec.Finished.Reads == nil {
		return fmt.Sprintf("what step %s read is not known", id), nil
	}
	list, err := record.Reads(rec.Finished.Reads)
	if err != nil {
		return "", err
	}
	for n := range list {
		if same, err := e.sameInput(p, &list[n], view); err != nil || !same {
			what := list[n].Path
			switch what {
			case ".":
				what = "the top folder"
			case notebooks.HistoryPath:
				what = "Git's history"
			}
			return fmt.Sprintf("%s, which step %s read, has changed", what, id), err
		}
		if list[n].Tree != "" && i.Run.Contract.BaseCommit != string(p.base) {
			return fmt.Sprintf("step %s looked at the state of Git, and HEAD is another commit", id), nil
		}
	}
	return "", nil
}

// madeNow says what a step had made that is in a tree before it runs: it was not then, and the step may look at it. ""
// is nothing. changed are the paths that the steps before it had changed; those of this one are added.
func madeNow(rec *runs.StepRecord, changed map[string]bool, view *worktree.View) (string, error) {
	if rec.Patch == nil {
		return "", nil
	}
	for _, c := range rec.Patch.Files {
		if (c.Status == "added" || c.OldPath != "") && !changed[c.Path] {
			blob, _, err := view.Entry(c.Path)
			if err != nil {
				return "", err
			}
			tree, _, err := view.Folder(c.Path)
			if err != nil || blob+tree != "" {
				return fmt.Sprintf("%s, which step %s made, is there already", c.Path, rec.Planned.ID), err
			}
		}
		changed[c.Path], changed[c.OldPath] = true, true
	}
	return "", nil
}

// NotReused returns why no step of an earlier run is reused; "" if some are, or if reuse was not requested.
func (p *Plan) NotReused() string { return p.notReused }

// errOther means that a step that ran again behaved differently, so the reused steps are not valid.
var errOther = errors.New("did something else than in the run before")

// sameAgain fails the run if a step that ran again among reused ones left another result.
func (r *run) sameAgain(s *PlannedStep, was *runs.StepRecord) {
	done := r.results[s.ID]
	if bad(done.Status) || r.verdict.failed != "" {
		return
	}
	record, err := runs.Fold(r.rec.events)
	if err != nil {
		return // the journal is checked at the end
	}
	now := &record.Steps[s.Index]
	var files []runs.ChangedFile
	if now.Patch != nil {
		files = now.Patch.Files
	}
	same := sameChange(files, was.Patch) && len(now.Scraps) == len(was.Scraps)
	for i := 0; same && i < len(now.Scraps); i++ {
		same = now.Scraps[i].Name == was.Scraps[i].Name && codec.Same(now.Scraps[i].Value, was.Scraps[i].Value)
	}
	if !same {
		r.verdict.fail(s.ID, runs.CodeStateNotRebuilt, fmt.Sprintf("it %v (%s), and steps after it are carried from "+
			"there: run the notebook without --reuse", errOther, r.reuse.from.Run.ID))
	}
}

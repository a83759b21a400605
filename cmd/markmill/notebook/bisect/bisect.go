package bisect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/cmd/api"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/safe"
	"markmill/runs"
	"markmill/runs/index"
)

// Options say what is searched for, and how.
type Options struct {
	Engine *engine.Engine // of the repository
	// Request is what every run is asked, but for the base commit.
	Request   engine.Request
	Good, Bad string // revisions; Good is an ancestor of Bad
	Question
	// Source reads the notebook as of a commit; nil is that of Request for every commit. A notebooks.Error says that
	// the commit has none that could be read.
	Source func(commit worktree.OID) ([]byte, error)
	Anew   bool         // runs that are kept do not answer
	Sinks  engine.Sinks // of each run
	// Testing is called before a run is made, Tested for each commit that was asked.
	Testing func(c worktree.Commit)
	Tested  func(t Tested, left int) // left: how many commits may still be the first bad one
	// Note gets what is to be known and stops nothing, such as a record that does not hold.
	Note func(words string)
}

// Tested is a commit that was asked.
type Tested struct {
	worktree.Commit
	Verdict Verdict          `json:"verdict"`
	Step    notebooks.StepID `json:"step,omitzero"` // that gave the answer
	// of the scrap, or how the run or the step ended; of a skipped commit why
	Value   string     `json:"value"`
	Run     runs.RunID `json:"run_id,omitzero"`
	Kept    bool       `json:"kept"` // the run was there before
	Seconds float64    `json:"seconds"`

	run *runs.Run
}

// Result is what a bisection found.
type Result struct {
	Question string           `json:"question"` // what is good, in words
	First    *Tested          `json:"first_bad,omitempty"`
	Step     notebooks.StepID `json:"step,omitzero"` // in which the answer of First changed
	// the good commit that First is compared with, its parent where one was asked
	Before *Tested `json:"before,omitempty"`
	// Differs is the first step whose result differs between the two runs, if it is another than Step, and how.
	Differs    notebooks.StepID `json:"differs,omitzero"`
	Difference string           `json:"difference,omitzero"`
	// instead of First: it is one of these; all others cannot be tested
	Candidates []worktree.Commit `json:"candidates,omitempty"`
	Tested     []Tested          `json:"tested"`  // in order
	Commits    int               `json:"commits"` // how many commits the search began with
}

// finder is a search that goes on.
type finder struct {
	Options
	repo    *worktree.Source
	history *worktree.History
	search  *search
	kept    map[key][]runs.RunID // the newest first
	tested  map[worktree.OID]*Tested
	result  *Result
}

// key is what a run must have in common with a test, as the index has it.
type key struct {
	commit worktree.OID
	source runs.Digest
}

// Find finds the first bad commit between two. Wrong input is a notebooks.Error; one of the two ends that cannot be
// tested is an error that wraps ErrUntestable. When ctx ends, so does the run that goes on, which is recorded as
// interrupted, and Find returns the error of ctx.
func Find(ctx context.Context, o Options) (*Result, error) {
	f := &finder{Options: o, repo: o.Engine.Source, tested: map[worktree.OID]*Tested{},
		result: &Result{Question: o.Question.String(), Tested: []Tested{}}}
	if f.repo == nil {
		return nil, wrong("work in a clone of it", "bisect needs a Git repository, and the notebook is in none")
	}
	if f.Request.InPlace || f.Request.Dirty == engine.DirtyInclude {
		return nil, wrong("leave --in-place and --dirty out", "each run of a bisection works on a commit as it is")
	}
	good, bad, err := f.ends()
	if err != nil {
		return nil, err
	}
	for _, end := range []worktree.OID{bad, good} { // before anything runs
		plan, err := f.plan(ctx, end)
		if err == nil {
			err = f.checkPlan(plan)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.history, err = f.repo.Between(good, bad); err != nil {
		return nil, err
	}
	f.result.Commits = len(f.history.Commits)
	if err := f.readKept(ctx); err != nil {
		return nil, err
	}
	if err := f.askEnds(ctx, good, bad); err != nil {
		return f.result, err
	}
	f.search = newSearch(f.history.Parents)
	for {
		next, ok := f.search.next()
		if !ok {
			break
		}
		t, err := f.test(ctx, f.history.Commits[next])
		if err != nil {
			return f.result, err
		}
		f.search.answer(next, t.Verdict)
		f.tell(t, len(f.search.suspects()))
	}
	return f.result, f.conclude(good)
}

func wrong(hint, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// ends resolves the two revisions.
func (f *finder) ends() (good, bad worktree.OID, err error) {
	if good, err = f.repo.Resolve(f.Good); err != nil {
		return "", "", err
	}
	if bad, err = f.repo.Resolve(f.Bad); err != nil {
		return "", "", err
	}
	if good == bad {
		return "", "", wrong("give two commits", "%s and %s are the same commit, %.12s", f.Good, f.Bad, good)
	}
	base, err := f.repo.MergeBase(good, bad)
	switch {
	case err != nil:
		return "", "", err
	case base == bad:
		return "", "", wrong(
			"exchange the two; to find where something became good, turn the condition of --scrap round",
			"the bad commit %s (%.12s) is an ancestor of the good one %s (%.12s)", f.Bad, bad, f.Good, good)
	case base != good:
		return "", "", wrong(fmt.Sprintf("their merge base is %.12s: if it is good, give --good %.12s", base, base),
			"the good commit %s (%.12s) is no ancestor of the bad one %s (%.12s)", f.Good, good, f.Bad, bad)
	}
	return good, bad, nil
}

// plan plans the run of a commit.
func (f *finder) plan(ctx context.Context, commit worktree.OID) (*engine.Plan, error) {
	req := f.Request
	req.Base, req.Aside = string(commit), true
	if f.Source != nil {
		src, err := f.Source(commit)
		if err != nil {
			return nil, err
		}
		req.Source = src
	}
	return f.Engine.Plan(ctx, req)
}

// checkPlan returns an error for what would be wrong with every run.
func (f *finder) checkPlan(p *engine.Plan) error {
	if f.Step == "" {
		return safe.CheckNormalize(p.Notebook())
	}
	var ids []string
	for _, s := range p.Notebook().Steps {
		ids = append(ids, string(s.ID))
	}
	if slices.Contains(ids, string(f.Step)) {
		return safe.CheckNormalize(p.Notebook())
	}
	hint := notebooks.DidYouMean(string(f.Step), ids) + " its steps: " + strings.Join(ids, ", ")
	return wrong(strings.TrimSpace(hint), "--step: the notebook has no step %q", f.Step)
}

// readKept reads the index, once: a search may take hours.
func (f *finder) readKept(ctx context.Context) error {
	if f.kept = map[key][]runs.RunID{}; f.Anew {
		return nil
	}
	x, err := index.Open(ctx, f.store(), index.Options{Note: f.Note})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		f.note("the runs that are kept are not asked: %v", err)
		return nil
	}
	defer x.Close()
	table, err := x.Query(ctx, "SELECT run_id, base_commit, source_digest FROM runs WHERE status IN ('pass','fail') "+
		"ORDER BY started_at DESC, run_id DESC")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		f.note("the runs that are kept are not asked: %v", err)
		return nil
	}
	for _, row := range table.Rows {
		var id, commit, source string
		if errors.Join(codec.Unmarshal(row[0], &id), codec.Unmarshal(row[1], &commit),
			codec.Unmarshal(row[2], &source)) == nil {
			k := key{worktree.OID(commit), runs.Digest(source)}
			f.kept[k] = append(f.kept[k], runs.RunID(id))
		}
	}
	return nil
}

func (f *finder) store() runs.Store { return f.Engine.Store(f.Request.Repository) }

func (f *finder) note(format string, args ...any) { f.Note(fmt.Sprintf(format, args...)) }

func (f *finder) tell(t *Tested, left int) {
	f.result.Tested = append(f.result.Tested, *t)
	f.Options.Tested(*t, left)
}

// askEnds tests both ends: that one is good and the other bad is the caller's claim.
func (f *finder) askEnds(ctx context.Context, good, bad worktree.OID) error {
	left := len(f.history.Commits)
	var ends [2]*Tested
	for i, commit := range []worktree.OID{good, bad} {
		t, err := f.test(ctx, commit)
		if err != nil {
			return err
		}
		ends[i] = t
		f.tell(t, left)
	}
	g, b := ends[0], ends[1]
	name := func(option, rev string, t *Tested) string {
		words := fmt.Sprintf("%s %s (%.12s)", option, rev, t.ID)
		if t.Run != "" {
			words += fmt.Sprintf(", run %s,", t.Run)
		}
		return words
	}
	goodName, badName := name("--good", f.Good, g), name("--bad", f.Bad, b)
	switch {
	case f.missing(g) && (g.run.Status().Passed() || f.missing(b)):
		return wrong("a step records a scrap with glue NAME VALUE", "--scrap: %s has %s", goodName, g.Value)
	case g.Verdict == Skipped:
		return fmt.Errorf("%s %w: %s; choose another good commit", goodName, program.ErrUntestable, g.Value)
	case b.Verdict == Skipped:
		return fmt.Errorf("%s %w: %s; choose another bad commit", badName, program.ErrUntestable, b.Value)
	case g.Verdict == Bad && b.Verdict == Good:
		return wrong("turn the condition of --scrap round to find where it became good",
			"the answers are the wrong way round: %s is bad: %s; %s is good: %s", goodName, g.Value, badName, b.Value)
	case g.Verdict == Bad:
		return wrong("both ends are bad: choose an older commit as the good one, or another condition", "%s is bad: %s",
			goodName, g.Value)
	case b.Verdict == Good:
		return wrong("both ends are good: choose a commit that shows the problem, or another condition",
			"%s is good: %s", badName, b.Value)
	}
	return nil
}

// missing reports whether a test lacks only the scrap that is asked for.
func (f *finder) missing(t *Tested) bool {
	return t.run != nil && f.ask(t.run).missing && t.run.Status().Passed()
}

// test answers for a commit: by a run that is kept, else by a new one.
func (f *finder) test(ctx context.Context, commit worktree.OID) (*Tested, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	about, err := f.repo.Describe(commit)
	if err != nil {
		return nil, err
	}
	t := &Tested{Commit: about}
	f.tested[commit] = t
	plan, err := f.plan(ctx, commit)
	if err != nil {
		if !ofNotebook(err) {
			return nil, err
		}
		t.Verdict, t.Value = Skipped, "the notebook cannot be planned: "+err.Error()
		return t, nil
	}
	if gates := plan.Gates(); len(gates) > 0 {
		t.Verdict, t.Value = Skipped, "blocked: "+gates[0].Line()
		return t, nil
	}
	if f.askKept(t, plan) {
		return t, nil
	}
	f.Testing(about)
	began := time.Now()
	got, err := f.Engine.Run(ctx, plan, f.Sinks)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.Seconds = time.Since(began).Seconds()
	t.take(got.Run, f.ask(got.Run))
	return t, nil
}

func (t *Tested) take(r *runs.Run, a answer) {
	t.run, t.Run, t.Verdict, t.Step, t.Value = r, r.ID, a.verdict, a.step, a.value
}

// askKept asks the runs of a commit that are kept, the newest first. A run counts whose record holds, and that did what
// the plan says. One that was hindered by something else than the commit does not answer.
func (f *finder) askKept(t *Tested, plan *engine.Plan) bool {
	req := plan.Request()
	for _, id := range f.kept[key{t.ID, runs.DigestOf(req.Source)}] {
		run, _, err := f.store().Record(id).Load()
		if err != nil || !plan.RanAlready(run) {
			continue
		}
		a := f.ask(run)
		if a.passing {
			continue
		}
		if t.Run != "" { // it answered already: does an older one agree?
			if a.verdict != t.Verdict {
				f.note("the runs of %.12s disagree: %s says %s, %s said %s", t.ID, t.Run, t.Verdict, id, a.verdict)
				return true
			}
			continue
		}
		if v, err := api.Verify(f.store().Path(id)); err != nil || len(v.Findings) > 0 {
			f.note("run %s is not asked: its record does not hold; markmill verify shows why", id)
			continue
		}
		t.take(run, a)
		t.Kept = true
	}
	return t.Run != ""
}

// ofNotebook reports whether an error is one of the notebook on this commit, and not one of Markmill or the system.
func ofNotebook(err error) bool {
	if _, list := errors.AsType[notebooks.ErrorList](err); list {
		return true
	}
	one, ok := errors.AsType[*notebooks.Error](err)
	return ok && one.Kind != notebooks.KindInternal
}

// conclude says what was found.
func (f *finder) conclude(good worktree.OID) error {
	suspects := f.search.suspects()
	if len(suspects) > 1 {
		for _, c := range suspects {
			about, err := f.repo.Describe(f.history.Commits[c])
			if err != nil {
				return err
			}
			f.result.Candidates = append(f.result.Candidates, about)
		}
		return nil
	}
	r := f.result
	r.First = f.tested[f.history.Commits[suspects[0]]]
	r.Step = r.First.Step
	r.Before = f.tested[good]
	inside := f.history.Parents[suspects[0]]
	for _, t := range r.Tested { // the latest good answer is the nearest, unless a parent gave one
		if t.Verdict == Good && len(inside) > 0 {
			r.Before = f.tested[t.ID]
		}
	}
	for _, p := range inside {
		if t := f.tested[f.history.Commits[p]]; t != nil && t.Verdict == Good {
			r.Before = t
		}
	}
	if r.Before.run != nil && r.First.run != nil {
		step, how := firstDifference(r.Before.run, r.First.run)
		if step != r.Step {
			r.Differs, r.Difference = step, how
		}
		if r.Step == "" {
			r.Step = step
		}
	}
	return nil
}

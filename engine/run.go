package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/runs"
)

// Result is a run that has ended and is in the store.
type Result struct {
	Dir      string // the run directory
	Run      *runs.Run
	Worktree string // the worktree, if it was to be kept
	Left     error  // why the run's private folder could not be removed; the next run tries again
}

// Interrupt is the cause that a caller cancels a run's context with when a signal asked for it.
type Interrupt struct {
	Signal int
	Abort  *runs.AbortData // who asked for it by runs.Record.Abort; nil: a signal did
}

func (i Interrupt) Error() string {
	if i.Abort != nil {
		return i.Abort.Blocker().Message
	}
	return fmt.Sprintf("interrupted by signal %d", i.Signal)
}

// run is the state of one run: what it shares with its parts, and the results of its steps.
type run struct {
	eng   *Engine
	plan  *Plan
	id    runs.RunID
	sinks Sinks
	whole context.Context // of the run, without its time limit
	// hurried is the context of what is done whether or not the run was interrupted
	hurried context.Context

	rec      *recorder
	ws       *workspace
	sessions *sessions
	verdict  *verdict
	inner    *innerRuns

	key        []byte // of the digests that stand for secrets
	results    map[notebooks.StepID]runs.StepFinishedData
	scraps     map[string]runs.ScrapData
	turns      map[notebooks.StepID]*turn // of agents: the last attempt's
	kept       *keptTurn                  // that the run goes on with; nil: none
	scrapsRead int64                      // bytes of the scraps file
	reuse      *reuse                     // nil: the run begins anew
	warm       *Warm                      // nil: the interpreters start with their first steps

	late        []runs.InnerRun  // inner runs that outlived their step
	judged      *runs.JudgesData // nil: no protected file changed
	lastCommit  string           // of the run's chain
	bundle      *runs.BundleData // of the run's commits; nil without
	keepsOutput bool             // the run directory keeps the output notebooks
	signErr     error            // why the output notebooks could not be signed
}

func (e *Engine) newRun(p *Plan, sinks Sinks) (*run, error) {
	id, err := p.request.ID, error(nil)
	if id == "" {
		if id, err = e.NewID(p.request.Path); err != nil {
			return nil, err
		}
	}
	r := &run{eng: e, plan: p, id: id, sinks: sinks, verdict: &verdict{},
		results: map[notebooks.StepID]runs.StepFinishedData{}, scraps: map[string]runs.ScrapData{},
		turns: map[notebooks.StepID]*turn{}}
	if r.key, err = p.newKey(e.Random); err != nil {
		return nil, err
	}
	r.rec = &recorder{eng: e, plan: p, verdict: r.verdict, sinks: sinks, id: id, trace: newTrace(e.Now, p)}
	r.ws = &workspace{eng: e, plan: p, rec: r.rec, mark: process.NewMark(), root: e.workRoot(id)}
	r.sessions = &sessions{eng: e, plan: p, ws: r.ws, trace: r.rec.trace,
		live: map[string]kernel.Session{}, endings: map[string]*stream{}, lost: map[string]lostState{}}
	r.inner = &innerRuns{eng: e, plan: p, rec: r.rec, ws: r.ws}
	return r, nil
}

// Run does what a plan says and returns the finished record. The error means that Markmill failed; a notebook that
// failed is a Result whose Run says so. Cancelling ctx ends the step, finishes the record as interrupted and returns
// it.
func (e *Engine) Run(ctx context.Context, p *Plan, sinks Sinks) (result *Result, err error) {
	defer func() { err = p.concealError(err) }()
	warm := make(chan struct{})
	go func() { runs.Warm(); close(warm) }()
	defer func() { <-warm }()
	r, err := e.newRun(p, sinks)
	if err != nil {
		return nil, err
	}
	if err := r.useWarm(); err != nil {
		return nil, err
	}
	defer r.dropWarm()
	_ = e.Tidy(p.root()) // runs maintain reconcile reports what could not be removed; it hinders no other run
	if p.interrupted != nil {
		release, err := p.interrupted.lock()
		if err != nil {
			return nil, err
		}
		defer release()
		if r.kept = e.cutTurn(p); r.kept != nil {
			r.ws.root = r.kept.Root
			defer func() { r.kept.free() }()
		}
	}
	release, err := r.rec.create()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := r.remembered(e.Store(p.root())); err != nil {
		return nil, artifact(err)
	}
	ctx, stop := abortable(ctx, r.rec.record)
	defer stop()
	err = r.begin()
	switch {
	case err == nil:
	case len(r.rec.events) == 0: // nothing was recorded: there was no run
		return nil, errors.Join(artifact(err), os.RemoveAll(r.rec.record.Path()))
	case !r.rec.has(runs.PlanUpdated):
		return nil, artifact(err)
	}
	if err == nil {
		err = r.do(ctx)
	}
	if err != nil {
		r.broken(err)
	}
	if kerr := r.keepData(ctx, err != nil); kerr != nil {
		r.broken(kerr)
	}
	cleaned := make(chan error, 1)
	go func() { cleaned <- r.ws.cleanUp() }() // while the record is finished
	record, err := r.finish(ctx)
	left := <-cleaned
	if sinks.Ended != nil {
		err = errors.Join(err, sinks.Ended(r.rec.record.Path(), err == nil))
	}
	if err != nil {
		return nil, err
	}
	result = &Result{Dir: r.rec.record.Path(), Run: record, Left: left}
	if e.Ended != nil {
		e.Ended(result.Dir)
	}
	if p.request.KeepTree && r.ws.tree != nil {
		result.Worktree = r.ws.tree.Dir()
	}
	return result, nil
}

// sourceFile is the name of the notebook's copy in the run directory.
func (p *Plan) sourceFile() string { return "notebook" + forms.Extension(p.notebook) }

// begin records what is to be done: the notebook, the contract and the plan.
func (r *run) begin() error {
	if err := r.rec.open(); err != nil {
		return err
	}
	from, err := r.resumedFrom()
	if err != nil {
		return err
	}
	p, root := r.plan, r.plan.root()
	if err := r.rec.emit(runs.RunStarted, "", runs.RunStartedData{
		RunID: r.id, Markmill: r.eng.Version, Views: runs.ViewsVersion, Notebook: p.request.Path,
		SourcePath: p.request.SourcePath(root),
		Form:       string(p.notebook.Form), SourceFile: p.sourceFile(), Repository: root, Folder: p.folder(),
		Depth: p.depth,
		Actor: r.eng.actor(),
		Host:  runtime.GOOS + "/" + runtime.GOARCH, PID: cmp.Or(r.eng.PID, os.Getpid()), Paths: r.ws.paths(),
		Assets: p.request.Assets, Output: p.request.output(), OutputForm: string(p.request.OutputForm),
		OutputPath: p.request.OutputPath, Sandbox: &p.sandbox,
		Parent: r.eng.parent(), ResumedFrom: from, Options: p.Options(),
		Sweep: p.request.Sweep, Rerun: p.request.Rerun,
		EnvironmentDigest: p.environmentDigest(r.eng),
	}); err != nil {
		return err
	}
	if err := r.inner.announce(r.id); err != nil {
		return err
	}
	if err := r.rec.emit(runs.ContractCreated, "", r.contract()); err != nil {
		return err
	}
	if err := r.rec.emit(runs.PlanUpdated, "", p.data()); err != nil {
		return err
	}
	return r.recordEligibility()
}

// do takes a run from its gates to the publishing of its commits.
func (r *run) do(ctx context.Context) (err error) {
	if err := r.gates(); err != nil || r.verdict.gated {
		r.verdict.blocked = r.verdict.blocked || err == nil
		return err
	}
	defer func() {
		if cerr := r.sessions.close(); err == nil {
			err = cerr
		}
	}()
	steps, cancel := r.bound(ctx)
	defer cancel()
	uncancelled, release := hurried(ctx) // an interrupted run is checked and kept like any other
	defer release()
	r.hurried, r.rec.hurried = uncancelled, uncancelled
	for _, phase := range []struct {
		name string
		do   func() error
	}{
		{"worktree", func() error {
			if err := r.kept.aside(); err != nil {
				return artifact(err)
			}
			if err := r.open(ctx); err != nil {
				return err
			}
			return r.readShown()
		}},
		{"", func() error { return r.steps(steps) }},
		{"judge", func() error { return r.judgeAgain(steps) }},
		{"close kernels", func() error {
			err := r.sessions.close()
			r.ws.place.Leave()
			return err
		}},
		{"settle", func() error { return r.settle(uncancelled) }},
		{"inputs", func() error { return r.recordInputs(uncancelled) }},
		{"checks", func() error { return r.check(uncancelled) }},
		{"publish", func() error { return r.publish(uncancelled) }},
	} {
		if phase.name == "" {
			err = phase.do()
		} else {
			err = r.rec.trace.span(phase.name, phase.do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gates records the gates that are not met and takes the approval that the run needs.
func (r *run) gates() error {
	for _, g := range r.plan.gates {
		if err := r.rec.emit(runs.GateBlocked, "", g); err != nil {
			return err
		}
		r.verdict.block(g)
	}
	r.verdict.gated = len(r.plan.gates) > 0
	if !r.plan.needsApproval() {
		return nil
	}
	err := r.approval()
	if err != nil {
		r.verdict.gated = true // an approval that cannot be looked for is none
	}
	return err
}

func (r *run) steps(ctx context.Context) error {
	for i := range r.plan.steps {
		if err := r.reuseOrStep(ctx, &r.plan.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// settle captures what happened while the interpreters were closed: code that the author set to run at their end (a
// trap, atexit), and writes of processes that steps had left. Nothing of the run is alive after it.
func (r *run) settle(ctx context.Context) error {
	change, err := r.ws.capture(ctx, "", r.plan.TaskID()+": the end of its interpreters")
	if err != nil {
		return err
	}
	r.verdict.tested.step("", change, false)
	if r.late, err = r.inner.take(""); err != nil {
		return err
	}
	return r.withholdChange("", change)
}

// broken turns a failure of the engine during a run into a blocker, so that the record is finished all the same.
func (r *run) broken(err error) {
	r.rec.reserve.Release()
	code := runs.CodeArtifactWriteFailure
	var e *notebooks.Error
	if errors.As(err, &e) && e.Kind == notebooks.KindProvider {
		code, r.verdict.blocked = runs.CodeProviderUnavailable, true
	}
	if errors.Is(err, worktree.ErrNotRestored) {
		code = runs.CodeStateNotRebuilt
	}
	r.verdict.block(runs.Blocker{Code: code, Message: failureWords(err)})
	// Checks that were not reached are recorded as such, so that no reader believes that they were made.
	const skipped = "the run ended before it"
	for _, c := range []struct {
		t    runs.EventType
		data any
	}{
		{runs.GitDiffChecked, runs.DiffCheckedData{Skipped: skipped}},
		{runs.VerificationCompleted, runs.VerificationData{Skipped: skipped}},
	} {
		if r.rec.has(c.t) {
			continue
		}
		if err := r.rec.emit(c.t, "", c.data); err != nil {
			return // the journal cannot be written, which finish reports
		}
	}
}

// failureWords describes a failure of the system in one line, with the remedy if the cause is known.
func failureWords(err error) string {
	words := strings.ReplaceAll(err.Error(), "\n", "; ")
	if remedy := runs.Remedy(err); remedy != "" && !strings.Contains(words, remedy) {
		words += "; " + remedy
	}
	return words
}

// artifact is the error for a file of the record that could not be written; nil for nil.
func artifact(err error) error {
	if err == nil || errors.As(err, new(*notebooks.Error)) {
		return err
	}
	return &notebooks.Error{Kind: notebooks.KindArtifact, Msg: "the record cannot be written: " + err.Error(),
		Hint: runs.Remedy(err), Err: err}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/runs"
)

// Result is a run that has ended and stands in the store.
type Result struct {
	Dir      string // the run directory
	Run      *runs.Run
	Worktree string // the worktree, when it was to be kept
	Left     error  // why the run's private folder could not be removed; the next run tries again
}

// Interrupt is the cause that a caller cancels a run's context with when a signal asked for it.
type Interrupt struct{ Signal int }

func (i Interrupt) Error() string { return fmt.Sprintf("interrupted by signal %d", i.Signal) }

// run is everything of one run that changes.
type run struct {
	eng      *Engine
	plan     *Plan
	id       runs.RunID
	record   *runs.Record
	journal  *runs.Journal
	reserve  *runs.Reserve
	events   []runs.Event
	trace    *trace
	signErr  error // why the output notebooks could not be signed
	traceErr error // why the trace could not be written

	work     *workdir
	tree     *worktree.Tree
	env      []string
	granted  []string // see grants
	caches   *sandbox.Shared
	sessions map[string]kernel.Session
	lost     map[string]lostState       // by session
	running  map[alive]notebooks.StepID // what steps left, and which
	unseen   []string                   // what captures may have missed
	mark     kernel.Mark
	warden   *kernel.Warden // nil: nothing stays to end the run's processes; see warden.go
	before   worktree.Fingerprint
	key      []byte // of the digests that stand for secrets

	records    map[notebooks.StepID]runs.StepFinishedData
	scraps     map[string]runs.ScrapData
	scrapsRead int64
	blockers   []runs.Blocker
	failed     notebooks.StepID // the step that ended the run's good course
	gated      bool             // a gate was not met: nothing started
	blocked    bool             // a blocker of status blocked came in the middle
	whole      context.Context  // of the run, without its time limit
	late       bool             // the run passed its time limit, and that stands among the blockers
	untested   []changedSince   // what changed since the last test step, or by one
	tested     bool             // a test step ran
	mutated    bool             // the user's checkout changed
	lastCommit string           // of the run's chain
	carry      *carry           // nil: the run begins anew
	inner      []runs.RunID     // runs of steps that were taken over
	innerLate  []runs.InnerRun  // those of them that outlived their step
	bundle     *runs.BundleData // of the run's commits; nil without
	keeps      bool             // the run directory keeps the output notebooks
	opaques    []string         // repositories inside the checkout of a run in place
	judged     *runs.JudgesData // nil: no protected file changed
	loose      []string         // folders of the record, slash-separated, whose files no event may name: see unnamed
}

// Run does what a plan says and returns the finished record. Its error means that Markmill failed;
// a notebook that failed is a Result whose Run says so. Cancelling ctx ends the step, finishes the
// record as interrupted and returns it.
func (e *Engine) Run(ctx context.Context, p *Plan) (result *Result, err error) {
	r := &run{eng: e, plan: p, mark: kernel.NewMark(), sessions: map[string]kernel.Session{}, lost: map[string]lostState{}, scraps: map[string]runs.ScrapData{},
		records: map[notebooks.StepID]runs.StepFinishedData{}}
	defer func() { err = r.concealError(err) }()
	r.trace = newTrace(e.Now)
	warm := make(chan struct{})
	go func() { runs.Warm(); close(warm) }()
	defer func() { <-warm }()
	r.id = p.Request.ID
	if r.id == "" {
		if r.id, err = e.NewID(p.Request.Path); err != nil {
			return nil, err
		}
	}
	root := p.root()
	if r.key, err = p.newKey(e.Random); err != nil {
		return nil, err
	}
	_ = e.Tidy(root) // what resists is told by runs reconcile; it hinders no other run
	var release func()
	if r.record, release, err = e.Store(root).Create(r.id); err != nil {
		return nil, artifact(err)
	}
	defer release()
	defer func() { r.reserve.Release() }()
	err = r.open(root)
	if r.journal != nil {
		defer r.journal.Close()
	}
	switch {
	case err == nil:
	case len(r.events) == 0: // nothing was recorded: there was no run
		return nil, errors.Join(artifact(err), os.RemoveAll(r.record.Path()))
	case r.events[len(r.events)-1].Type != runs.PlanUpdated:
		return nil, artifact(err)
	}
	if err == nil {
		err = r.do(ctx)
	}
	if err != nil {
		r.broken(err)
	}
	// The private folder is of no more use: it is removed while the record is finished.
	cleaned := make(chan error, 1)
	go func() { cleaned <- r.cleanUp() }()
	record, err := r.finish(ctx)
	left := <-cleaned
	if e.Place != nil {
		err = errors.Join(err, e.Place(r.id, err == nil))
	}
	if err != nil {
		return nil, err
	}
	result = &Result{Dir: r.record.Path(), Run: record, Left: left}
	if p.Request.KeepTree && r.tree != nil {
		result.Worktree = r.tree.Dir()
	}
	return result, nil
}

// NewID makes the id of a run of a notebook.
func (e *Engine) NewID(notebook string) (runs.RunID, error) {
	random := make([]byte, 8)
	if _, err := io.ReadFull(e.Random, random); err != nil {
		return "", fmt.Errorf("random bytes for the run's id: %w", err)
	}
	return runs.NewRunID(e.Now(), taskID(notebook), random), nil
}

// sourceFile is the name of the notebook's copy in the run directory.
func (p *Plan) sourceFile() string { return "notebook" + forms.Extension(p.Notebook) }

// open begins the record: the notebook's bytes and the journal.
func (r *run) open(root string) error {
	p := r.plan
	source := p.Notebook.Source
	var err error
	if r.reserve, err = runs.NewReserve(r.record.Path()); err != nil {
		return err
	}
	if r.journal, err = r.record.Begin(p.sourceFile(), source, r.eng.Now); err != nil {
		return err
	}
	r.journal.StepSync = p.Notebook.Front.Durability == "step"
	from, err := r.resumedFrom()
	if err != nil {
		return err
	}
	if err := r.emit(runs.RunStarted, "", runs.RunStartedData{
		RunID: r.id, Markmill: r.eng.Version, Views: runs.ViewsVersion, Notebook: p.Request.Path, SourcePath: p.sourcePath(), Form: string(p.Notebook.Form), SourceFile: p.sourceFile(),
		Repository: root, Folder: p.folder(), Depth: p.Depth, Host: runtime.GOOS + "/" + runtime.GOARCH, PID: os.Getpid(),
		Paths: r.paths(), Assets: p.Request.Assets, Output: p.Request.Output, OutputForm: string(p.Request.OutputForm),
		Sandbox: &p.Sandbox, Parent: r.eng.parent(), ResumedFrom: from, Options: p.options(),
	}); err != nil {
		return err
	}
	if err := r.announce(r.id); err != nil {
		return err
	}
	if err := r.emit(runs.ContractCreated, "", r.contract()); err != nil {
		return err
	}
	return r.emit(runs.PlanUpdated, "", p.data())
}

// broken turns a failure of the engine in the middle of a run into a blocker, so that the record
// is finished all the same.
func (r *run) broken(err error) {
	r.reserve.Release()
	code := runs.CodeArtifactWriteFailure
	var e *notebooks.Error
	if errors.As(err, &e) && e.Kind == notebooks.KindProvider {
		code, r.blocked = runs.CodeProviderUnavailable, true
	}
	if errors.Is(err, worktree.ErrNotRestored) {
		code = runs.CodeStateNotRebuilt
	}
	r.blockers = append(r.blockers, runs.Blocker{Code: code, Message: failureWords(err)})
	// The checks that were not reached are recorded as that: a reader must not take them for made.
	for _, c := range []struct {
		t    runs.EventType
		data any
	}{{runs.GitDiffChecked, runs.DiffCheckedData{Skipped: "the run ended before it"}},
		{runs.VerificationCompleted, runs.VerificationData{Skipped: "the run ended before it"}}} {
		if slices.ContainsFunc(r.events, func(e runs.Event) bool { return e.Type == c.t }) {
			continue
		}
		if err := r.emit(c.t, "", c.data); err != nil {
			return // the journal cannot be written: finish will say so
		}
	}
}

// paths are this run's and this user's paths that an output notebook shows by name.
func (r *run) paths() []runs.PathName {
	work := filepath.Join(r.eng.Cache, "work", string(r.id))
	list := []runs.PathName{{Path: worktree.Path(r.plan.Source, filepath.Join(work, "tree")), Name: "<worktree>"}, {Path: filepath.Join(work, "tmp"), Name: "<tmp>"},
		{Path: filepath.Join(work, "home"), Name: "<home>"}, {Path: work, Name: "<work>"}}
	if r.plan.inFolder() {
		list = append(list, runs.PathName{Path: r.plan.Request.Folder, Name: "<worktree>"})
	} else if r.plan.mode() == runs.MutationInPlace && r.plan.Source != nil {
		list = append(list, runs.PathName{Path: r.plan.Source.Root(), Name: "<worktree>"})
	} else if r.plan.Source != nil {
		list = append(list, runs.PathName{Path: r.plan.Source.Root(), Name: "<source>"})
	}
	if home, ok := r.eng.Getenv("HOME"); ok && len(home) > 1 {
		list = append(list, runs.PathName{Path: home, Name: "<home>"})
	}
	if c := r.plan.Request.Resume; c != nil {
		list = append(list, c.Run.Started.Paths...) // what is carried over shows the paths of then
	}
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].Path) > len(list[j].Path) })
	return list
}

// emit appends an event to the journal and tells the observer. One that finds the disk full is written into the
// room that is kept for the end, and the error is told all the same: the run ends there.
func (r *run) emit(t runs.EventType, step notebooks.StepID, data any) error {
	raw, err := r.clean(data)
	if err != nil {
		return err
	}
	ev, failed := r.journal.Append(t, step, raw)
	if failed != nil {
		if !r.reserve.Release() {
			return artifact(failed)
		}
		if ev, err = r.journal.Append(t, step, raw); err != nil {
			return artifact(err)
		}
		failed = artifact(failed)
	}
	r.events = append(r.events, ev)
	if r.eng.Observe != nil {
		r.eng.Observe(ev)
	}
	return failed
}

// do makes the worktree and runs the steps, then checks what they did.
func (r *run) do(ctx context.Context) (err error) {
	p := r.plan
	for _, g := range p.Gates {
		if err := r.emit(runs.GateBlocked, "", g); err != nil {
			return err
		}
		r.blockers = append(r.blockers, g.Blocker())
	}
	r.gated = len(p.Gates) > 0
	if p.needsApproval() {
		if err := r.approval(); err != nil {
			r.gated = true // an approval that cannot be looked for is none
			return err
		}
	}
	if r.gated {
		r.blocked = true
		return nil
	}
	defer func() {
		if cerr := r.closeSessions(); err == nil {
			err = cerr
		}
	}()
	steps, cancel := r.bound(ctx)
	defer cancel()
	if err := r.trace.span("worktree", func() error { return r.makeTree(ctx) }); err != nil {
		return err
	}
	for i := range p.Steps {
		if err := r.carryOrStep(steps, &p.Steps[i]); err != nil {
			return err
		}
	}
	if err := r.trace.span("judge", func() error { return r.judgeAgain(steps) }); err != nil {
		return err
	}
	if err := r.trace.span("close kernels", r.closeSessions); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupted run is checked and kept like any other
	if err := r.trace.span("checks", func() error { return r.check(ctx) }); err != nil {
		return err
	}
	return r.trace.span("publish", func() error { return r.publish(ctx) })
}

// settle captures what was still done when the interpreters were closed: what the author has set to run at their end (a
// trap, atexit), and what the processes did that steps had left. Nothing of the run is left to change anything after
// it.
func (r *run) settle(ctx context.Context) error {
	change, err := r.tree.Capture(context.WithoutCancel(ctx), "", r.plan.TaskID()+": the end of its interpreters")
	if err != nil {
		return err
	}
	r.note(change)
	r.changedSince("", change)
	if r.innerLate, err = r.takeInner(""); err != nil {
		return err
	}
	return r.withholdChange("", change)
}

// note keeps what a capture may have missed.
func (r *run) note(change *worktree.Change) {
	if change.Unseen != "" && !slices.Contains(r.unseen, change.Unseen) {
		r.unseen = append(r.unseen, change.Unseen)
	}
}

// makeTree makes the run's private folder and the worktree of the base commit.
func (r *run) makeTree(ctx context.Context) (err error) {
	p := r.plan
	guarded := r.guard()
	defer func() {
		if gerr := guarded(); err == nil {
			err = gerr
		}
	}()
	if r.work, err = r.eng.makeWorkdir(r.id); err != nil {
		return artifact(err)
	}
	inPlace := p.mode() == runs.MutationInPlace && p.Source != nil
	if p.Source != nil && !inPlace {
		if r.before, err = p.Source.Fingerprint(ctx, r.ownPath); err != nil {
			return err
		}
	}
	o := worktree.Options{RunID: string(r.id), Dir: r.work.Tree, Base: p.Base, IncludeDirty: p.Request.Dirty == DirtyInclude, Reverse: p.Request.Reverse,
		Copy: append(append([]string{}, p.Notebook.Front.Copy...), p.Request.Copy...), Author: author, Now: r.eng.Now, Processes: r.processes}
	if inPlace {
		if r.tree, err = worktree.InPlace(ctx, p.Source, o); err == nil {
			r.opaques = r.tree.Opaque()
			r.before, err = p.Source.Fingerprint(ctx, r.ownPath)
		}
	} else if p.inFolder() {
		r.tree, err = worktree.InFolder(ctx, p.Request.Folder, r.folderOptions(o))
	} else {
		r.tree, err = worktree.Create(ctx, p.Source, o)
	}
	if err != nil {
		return err
	}
	r.env = append(r.environment(r.work, r.tree.Dir()), r.tree.Env()...)
	return nil
}

// author is who a run's commits are by: not the user, who has not made them.
var author = worktree.Identity{Name: "Markmill", Email: "markmill@localhost"}

func (r *run) closeSessions() error {
	var errs []error
	for name, s := range r.sessions {
		errs = append(errs, s.Close())
		delete(r.sessions, name)
	}
	return errors.Join(errs...)
}

// cleanUp removes what the run made outside its record.
func (r *run) cleanUp() error {
	var errs []error
	keep := r.plan.Request.KeepTree && r.tree != nil
	if r.warden != nil {
		r.warden.Close()
	}
	if r.tree != nil {
		errs = append(errs, r.tree.Close(keep))
	}
	if r.work != nil {
		errs = append(errs, r.work.close(keep))
	}
	return errors.Join(errs...)
}

// failureWords tells a failure of the system's in one line, with what to do about it where its cause is known.
func failureWords(err error) string {
	words := strings.ReplaceAll(err.Error(), "\n", "; ")
	if remedy := runs.Remedy(err); remedy != "" && !strings.Contains(words, remedy) {
		words += "; " + remedy
	}
	return words
}

// artifact is the error of a file of the record that could not be written.
func artifact(err error) error {
	var e *notebooks.Error
	if errors.As(err, &e) {
		return err
	}
	return &notebooks.Error{Kind: notebooks.KindArtifact, Msg: "the record cannot be written: " + err.Error(), Hint: runs.Remedy(err), Err: err}
}

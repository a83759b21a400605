package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// finish writes the views and closes the record. All other files are written before the last event, from the record as
// that event completes it. If one of them cannot be written, the verdict becomes a failure before it is recorded.
func (r *run) finish(ctx context.Context) (*runs.Run, error) {
	v := r.verdict
	var order *runs.OrderError
	if err := runs.CheckOrder(r.rec.events); errors.As(err, &order) && order.Missing != runs.RunCompleted {
		v.block(order.Blocker())
	}
	var signal Interrupt
	interrupted := errors.As(context.Cause(ctx), &signal)
	if interrupted && signal.Abort != nil {
		v.block(signal.Abort.Blocker())
	}
	data := runs.CompletedData{Status: v.status(r.plan.leavesOut()), Blockers: v.blockers,
		SourceRepositoryMutated: v.mutated, Bundle: r.bundle, InnerRuns: r.late, ResultCommit: r.lastCommit}
	if interrupted {
		data.Status, data.Signal, data.Aborted = runs.Interrupted, signal.Signal, signal.Abort
	}
	if v.gated {
		data.NotApplicable = []string{"steps: a gate was not met", "diff: nothing ran", "tests: nothing ran"}
	}
	event, record, err := r.conclude(&data)
	if err != nil {
		return nil, err
	}
	return record, r.rec.commit(event)
}

// conclude writes the views of the record that data completes. A view that cannot be written or that refuses, and a
// secret that is found, change data, and the views are written again.
func (r *run) conclude(data *runs.CompletedData) (event runs.Event, record *runs.Run, err error) {
	fail := func() {
		if data.Status.Passed() {
			data.Status = runs.Fail
		}
	}
	var refusal Refused
	for told, refused, failed := false, false, false; ; {
		before := len(r.verdict.blockers)
		if event, err = r.last(data); err != nil {
			return event, nil, err
		}
		record, err = r.views(event, before)
		switch {
		case err == nil || failed && record != nil:
			return event, record, nil
		case errors.Is(err, errLeaked) && !told:
			told, data.Blockers = true, slices.Clone(r.verdict.blockers)
			fail()
		case errors.As(err, &refusal) && !refused:
			refused = true
			r.verdict.block(refusal.blocker())
			data.Blockers = slices.Clone(r.verdict.blockers)
			fail()
		case failed:
			return event, nil, err
		default:
			r.rec.reserve.Release()
			failed, data.Status = true, runs.Fail
			data.Blockers = append(data.Blockers, runs.Blocker{Code: runs.CodeArtifactWriteFailure,
				Message: failureWords(err)})
		}
	}
}

// last stages OUTPUT and prepares the last event from data, with the output notebooks that the run directory does not
// keep.
func (r *run) last(data *runs.CompletedData) (runs.Event, error) {
	data.Outputs = nil
	var err error
	if data.Files, err = r.rec.unnamed(); err != nil {
		return runs.Event{}, err
	}
	event, err := r.rec.prepare(data)
	if err != nil {
		return event, err
	}
	if event, err = r.sign(data, event); err != nil || r.sinks.StageOutput == nil || r.keepsOutput ||
		r.verdict.leaks() {
		return event, err
	}
	record, err := r.rec.fold(event)
	if err != nil {
		return event, err
	}
	data.Outputs = r.sinks.StageOutput(r.viewInput(record))
	if r.verdict.leaks() { // what shows a secret is given anew, with a record that says so
		data.Outputs = nil
	}
	if r.keepsOutput = len(data.Outputs) == 0; r.keepsOutput {
		return event, nil
	}
	return r.rec.prepare(data)
}

// sign adds the signatures of the output notebooks to the last event.
func (r *run) sign(data *runs.CompletedData, event runs.Event) (runs.Event, error) {
	data.Signatures, r.signErr = nil, nil
	if r.sinks.Sign == nil {
		return event, nil
	}
	record, err := r.rec.fold(event)
	if err != nil {
		return event, err
	}
	if data.Signatures, err = r.sinks.Sign(r.viewInput(record)); err != nil {
		r.signErr = fmt.Errorf("the output notebook cannot be signed: %w", err)
		return event, nil
	}
	return r.rec.prepare(data)
}

// views writes every view of the record that event completes. The run directory is searched for secrets before a view
// seals it and at the end; before is the number of blockers in event.
func (r *run) views(event runs.Event, before int) (*runs.Run, error) {
	record, err := r.rec.fold(event)
	if err != nil {
		return nil, err
	}
	known := record.Digests()
	if known[runs.JournalFile], err = r.rec.journal.DigestWith(event); err != nil {
		return nil, err
	}
	// One that cannot be written does not keep the others from being: what can be read of the record is whole.
	var failures []error
	for _, err := range []error{r.rec.traceErr, r.signErr} {
		if err != nil {
			failures = append(failures, err)
		}
	}
	search := func() error {
		replaced, err := r.rec.withhold()
		for _, path := range replaced {
			delete(known, path)
		}
		if err == nil && len(r.verdict.blockers) > before {
			err = errLeaked
		}
		return err
	}
	partial := len(failures) > 0 // the record lacks a file
	for _, v := range r.sinks.Views {
		if v.Seals {
			if err := search(); err != nil {
				return record, err
			}
		}
		in := r.viewInput(record)
		in.Known = known
		if err := v.Write(in); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", v.Name, err))
			partial = partial || !v.Beside && !errors.As(err, new(Refused))
		}
	}
	if partial {
		failures = append(failures, r.rec.record.Remove(runs.SumsFile))
	}
	if err := search(); err != nil {
		return record, err
	}
	return record, errors.Join(failures...)
}

func (r *run) viewInput(record *runs.Run) ViewInput {
	return ViewInput{Dir: r.rec.record.Path(), Notebook: r.plan.notebook, Run: record, Clean: r.cleanView}
}

// cleanView masks what a view writes outside the run directory.
func (r *run) cleanView(name string, b []byte) []byte {
	if r.plan.mask.In(b) {
		r.rec.leak("", name)
	}
	return r.plan.mask.Bytes(b)
}

// publish puts the run's commits into its record, and on a branch of the source repository if one was asked for and the
// run passed. It is the last step that can fail.
func (r *run) publish(ctx context.Context) (err error) {
	if r.ws.tree == nil || r.verdict.leaks() {
		return nil
	}
	if r.bundle, err = r.ws.tree.Bundle(ctx, r.rec.record.Path()); err != nil {
		return fmt.Errorf("the run's commits cannot be written: %w", err)
	}
	name := r.plan.request.Branch
	var commits *worktree.Bundle
	if r.bundle != nil && (name != "" || r.plan.mask != nil) {
		if commits, err = worktree.OpenBundle(r.rec.record.File(runs.BundleFile)); err != nil {
			return err
		}
		defer commits.Close()
		if err := r.searchCommits(commits); err != nil {
			return err
		}
	}
	if name == "" || len(r.verdict.blockers) > 0 || r.whole.Err() != nil || r.plan.needsAcceptance() ||
		r.plan.request.Rerun != nil {
		return nil
	}
	total, err := r.ws.tree.Total(ctx)
	if err != nil {
		return err
	}
	_, err = r.plan.source.Branch(commits, newBranch(r.plan.notebook, r.plan.TaskID(), worktree.NewBranch{Name: name,
		RunID: string(r.id), Base: r.ws.tree.Base(), Tree: total.Tree, Now: r.eng.Now()}))
	return err
}

// newBranch completes a branch with what its commit says.
func newBranch(nb *notebooks.Notebook, task string, b worktree.NewBranch) worktree.NewBranch {
	b.Message = fmt.Sprintf("%s\n\n%s: %s\n", cmp.Or(nb.Front.Title, task), worktree.RunTrailer, b.RunID)
	b.Program = Author
	return b
}

// searchCommits removes a bundle that shows a secret: the uncommitted changes that a run began with were not searched
// before.
func (r *run) searchCommits(commits *worktree.Bundle) error {
	if r.plan.mask == nil {
		return nil
	}
	found, err := commits.Any(r.plan.mask.In)
	if err != nil || !found {
		return err
	}
	r.rec.leak("", "the commits of the run, with the uncommitted changes that it began with")
	r.bundle = nil
	return os.Remove(r.rec.record.File(runs.BundleFile))
}

// verdict collects what decides how a run ends.
type verdict struct {
	blockers []runs.Blocker
	failed   notebooks.StepID // the first step that did not pass; later steps are skipped
	gated    bool             // a gate was not met: nothing was started
	blocked  bool             // a blocker found during the run gives the status blocked
	late     bool             // the run's time limit has passed, and a blocker says so
	tested   tested
	mutated  bool // the user's checkout changed
}

// status derives the run's status. partial says that the command line left steps out.
func (v *verdict) status(partial bool) runs.Status {
	switch {
	case v.blocked:
		return runs.Blocked
	case len(v.blockers) > 0:
		return runs.Fail
	case partial:
		return runs.Partial
	}
	return runs.Pass
}

func (v *verdict) block(b runs.Blocker) { v.blockers = append(v.blockers, b) }

// fail adds a blocker for a step. Only finally steps run after it.
func (v *verdict) fail(step notebooks.StepID, code, words string) {
	v.block(runs.Blocker{Code: code, Step: step, Message: words})
	if v.failed == "" {
		v.failed = step
	}
}

// last is the blocker that was added last, if it is about the step.
func (v *verdict) last(step notebooks.StepID) *runs.Blocker {
	if n := len(v.blockers); n > 0 && v.blockers[n-1].Step == step {
		return &v.blockers[n-1]
	}
	return nil
}

// leak records that the value of a secret would have been written; where must not show the value.
func (v *verdict) leak(step notebooks.StepID, where string) {
	b := runs.Blocker{Code: runs.CodeSecretLeaked, Step: step, Message: "the value of a secret would stand in " + where}
	if !slices.ContainsFunc(v.blockers, func(o runs.Blocker) bool {
		return o.Code == b.Code && o.Step == b.Step && o.Message == b.Message
	}) {
		v.block(b)
	}
}

// leaked describes the leak of a step; "" without one.
func (v *verdict) leaked(step notebooks.StepID) string {
	for _, b := range v.blockers {
		if b.Code == runs.CodeSecretLeaked && b.Step == step {
			return b.Message
		}
	}
	return ""
}

// leaks reports whether the run would have written a secret anywhere. Nothing of such a run goes into the repository.
func (v *verdict) leaks() bool {
	return slices.ContainsFunc(v.blockers, func(b runs.Blocker) bool { return b.Code == runs.CodeSecretLeaked })
}

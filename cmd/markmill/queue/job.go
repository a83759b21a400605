package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"markmill/cmd/api"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/worktree/exchange"
	"markmill/notebooks"
	"markmill/render/safe"
	"markmill/runs"
)

// attempt is one worker's work on a job.
type attempt struct {
	*worker
	lease *jetstream.Lease
	spec  *queue.Spec
	stop  context.CancelCauseFunc // of the run
	sent  map[string]sentFile     // by their paths on the disk

	mu  sync.Mutex
	why error // why the run was stopped: it was canceled, the job is lost, or cannot be published
}

// interrupted stops the run for a reason.
func (a *attempt) interrupted(why error) {
	a.mu.Lock()
	first := a.why == nil
	if first {
		a.why = why
	}
	a.mu.Unlock()
	if !first {
		return
	}
	cause := engine.Interrupt{Signal: int(syscall.SIGTERM)}
	if c, ok := errors.AsType[*jetstream.Cancellation](why); ok {
		cause.Abort = &runs.AbortData{Reason: c.Reason, Actor: c.By, Time: time.Now().UTC()}
	}
	a.stop(cause)
}

func (a *attempt) reason() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.why
}

// do runs a job to its end, or gives it back.
func (w *worker) do(ctx context.Context, lease *jetstream.Lease) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a := &attempt{worker: w, lease: lease, spec: lease.Job.Spec(), stop: stop, sent: map[string]sentFile{}}
	lease.Keep(a.interrupted)
	words, err := a.work(running)
	switch {
	case err != nil:
		w.tell("job %s: %s", a.spec.ID, err)
		lease.Drop()
	default:
		w.tell("job %s: %s", a.spec.ID, words)
	}
}

// work returns what became of the job. An error says that nothing could be told the queue: another worker gets the job.
func (a *attempt) work(ctx context.Context) (words string, err error) {
	root, err := a.repository(ctx)
	if err != nil {
		return a.giveBack(err.Error(), backoff(a.lease.Job.InVain))
	}
	eng, err := a.engine(root)
	if err != nil {
		return a.refuse(err)
	}
	req := a.spec.Request
	if before := a.lease.Job.Furthest(); before != nil {
		id, run, err := a.restore(ctx, before)
		if id != "" {
			defer func() { _ = a.store.Remove(id) }() // the next worker of this store removes it else
		}
		if err != nil {
			return a.giveBack(err.Error(), backoff(a.lease.Job.InVain))
		}
		if run.Status() != runs.Interrupted && !unwritten(run) { // only the end of the job was not published
			return a.ended(a.store.Path(id), run)
		}
		if cut, err := eng.Interrupted(a.store.Path(id)); err == nil {
			if again, err := cut.Request(nil); err == nil {
				again.OutputForm, req = req.OutputForm, again
			}
		}
	}
	if req.ID, err = eng.NewID(req.Path); err != nil {
		return "", err
	}
	req.Repository, req.Base, req.Dirty, req.Output = root, a.spec.Base, engine.DirtyIgnore, ""
	plan, err := eng.Plan(ctx, req)
	if err == nil {
		err = safe.CheckNormalize(plan.Notebook())
	}
	if ctx.Err() != nil {
		return a.cut(ctx, nil)
	}
	if err != nil {
		return a.refuse(err)
	}
	a.tell("job %s: run %s of %s", a.spec.ID, req.ID, req.Path)
	defer func() { _ = a.store.Remove(req.ID) }()
	err = a.lease.Hear(func(by, text string) error {
		return a.store.Record(req.ID).Steer(runs.SteerData{Text: text, Actor: by, Time: time.Now().UTC()})
	})
	if err != nil {
		return "", err
	}
	p := &publisher{attempt: a, plan: plan, record: a.store.Record(req.ID), id: req.ID}
	result, err := eng.Run(ctx, plan, engine.Sinks{Views: api.Views(), Observers: []engine.Observer{{Event: p.event}}})
	switch {
	case a.reason() != nil && !isCanceled(a.reason()):
		return "", a.reason()
	case err != nil:
		return a.giveBack(err.Error(), backoff(a.lease.Job.InVain))
	}
	switch status := result.Run.Status(); {
	case status == runs.Interrupted:
		return a.cut(ctx, result)
	case unwritten(result.Run):
		return a.giveBack("this worker could not write the record: "+result.Run.Blockers()[0].Message, backoff(a.lease.Job.InVain))
	}
	return a.ended(result.Dir, result.Run)
}

// repository is the root of a repository that has the base commit: the one around the worker, or one of the base alone.
func (a *attempt) repository(ctx context.Context) (string, error) {
	if a.own != nil {
		if _, err := a.own.Resolve(a.spec.Base); err == nil {
			return a.own.Root(), nil
		}
	}
	dir := a.dir("bases", a.spec.Base)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	made, err := exchange.MakeBase(dir, a.spec.Base, func(to io.Writer) (bool, error) {
		return a.q.GetBase(ctx, a.spec.Base, to)
	})
	if err == nil && !made {
		err = fmt.Errorf("neither the repository of the worker nor the queue has the base commit %s", a.spec.Base)
	}
	return dir, err
}

// engine makes the engine for a repository.
func (a *attempt) engine(root string) (*engine.Engine, error) {
	eng, _, err := api.NewEngine(root)
	if err != nil {
		return nil, err
	}
	if eng.Config.Sign != "" || os.Getenv("MARKMILL_SIGN_KEY") != "" {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: "the repository's settings, or MARKMILL_SIGN_KEY, " +
			"say that records are signed, which a worker does not do", Hint: "run the notebook with markmill run"}
	}
	eng.Version, eng.Tools = a.Version, a.Program
	eng.Store = func(string) runs.Store { return a.store }
	return eng, nil
}

// restore makes the record of an earlier run of the job in the store, as far as it was published, and completes it.
func (a *attempt) restore(ctx context.Context, before *queue.Part) (runs.RunID, *runs.Run, error) {
	if err := a.store.Remove(before.Run); err != nil {
		return "", nil, err
	}
	files := make([]queue.File, 0, len(before.Files))
	for _, f := range before.Files {
		files = append(files, f)
	}
	err := a.store.Admit(before.Run, func(to string) error {
		if err := a.write(ctx, files, to); err != nil {
			return err
		}
		return runs.At(to).WriteNew(runs.JournalFile, before.Journal)
	})
	if err != nil {
		return "", nil, err
	}
	record := a.store.Record(before.Run)
	if _, err := record.Reconcile(time.Now, api.Rebuild); err != nil {
		return before.Run, nil, err
	}
	run, _, err := record.Load()
	return before.Run, run, err
}

func isCanceled(err error) bool {
	_, ok := errors.AsType[*jetstream.Cancellation](err)
	return ok
}

// unwritten reports whether the record of a run could not be written, as on a full disk. Another worker goes on.
func unwritten(run *runs.Run) bool {
	return run.Status() == runs.Fail && slices.ContainsFunc(run.Blockers(), func(b runs.Blocker) bool {
		return b.Code == runs.CodeArtifactWriteFailure
	})
}

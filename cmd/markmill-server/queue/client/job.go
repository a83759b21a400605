package client

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

	"markmill/cmd/internal/records"
	"markmill/cmd/internal/signing"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/worktree/exchange"
	"markmill/render/safe"
	"markmill/runs"
)

// attempt is one worker's work on a job.
type attempt struct {
	*worker
	lease *jetstream.Lease
	spec  *queue.Spec
	stop  context.CancelCauseFunc // of the run
	key   signing.Key             // that signs the record
	again func()                  // makes ready what a run like this one can begin with; nil: it was none
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

// do runs a job to its end, or releases it.
func (w *worker) do(ctx context.Context, lease *jetstream.Lease) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a := &attempt{worker: w, lease: lease, spec: lease.Job.Spec(), stop: stop, sent: map[string]sentFile{}}
	lease.Keep(a.interrupted)
	words, err := a.work(running)
	switch {
	case err != nil && !errors.Is(err, jetstream.ErrFenced): // the queue can be told, perhaps
		why := err.Error()
		if words, err = a.giveBack(why, backoff(lease.Job.InVain)); err != nil {
			words = why + "; and it could not be given back: " + err.Error()
			lease.Drop()
		}
		w.tell("job %s: %s", a.spec.ID, words)
	case err != nil:
		w.tell("job %s: %s", a.spec.ID, err)
		lease.Drop()
	default:
		w.tell("job %s: %s", a.spec.ID, words)
	}
	if a.again != nil {
		a.again()
	}
}

// next plans the run of the job again, as if it had just been taken.
func (a *attempt) next(root string) (*engine.Engine, *engine.Plan, error) {
	eng, err := a.engine(root)
	if err != nil {
		return nil, nil, err
	}
	req := a.spec.Request
	a.place(&req, root)
	plan, err := eng.Plan(context.Background(), req)
	return eng, plan, err
}

// place has a run work in a repository of this machine. Its OUTPUT is written by who submitted the job.
func (a *attempt) place(req *engine.Request, root string) {
	req.Repository, req.Base, req.Dirty, req.Output = root, a.spec.Base, engine.DirtyIgnore, ""
	req.OutputPath = a.spec.Output
}

// work returns a message about the outcome. An error means that another worker gets the job: its lease is lost, or the
// queue could not be informed.
func (a *attempt) work(ctx context.Context) (words string, err error) {
	if err := a.spec.Check(); err != nil { // a program that is not ours may have written the entry
		return a.refuse(err)
	}
	root, err := a.repository(ctx)
	if err != nil {
		return a.giveBack(err.Error(), backoff(a.lease.Job.InVain))
	}
	eng, err := a.engine(root)
	if err != nil {
		return a.refuse(err)
	}
	if a.key, err = signing.Open(eng.Config, eng.Getenv, a.stderr); err == nil && a.spec.Signed && a.key.File == "" {
		err = errors.New("records of this job are signed, and this worker has no key (MARKMILL_SIGN_KEY)")
	}
	if err != nil { // another worker may have one
		return a.giveBack(err.Error(), backoff(a.lease.Job.InVain))
	}
	req := a.spec.Request
	if before := a.lease.Job.Furthest(); before != nil {
		id, run, err := a.restore(ctx, before)
		if id != "" {
			defer func() { _ = a.drop(id) }() // the next worker of this store removes it else
		}
		if err != nil {
			return a.giveBack(err.Error(), backoff(a.lease.Job.InVain))
		}
		if run.Status() != runs.Interrupted && !unwritten(run) { // only the end of the job was not published
			return a.ended(a.store.Path(id), run) // one that asks for an approval has finished no step
		}
		if cut, err := eng.Interrupted(a.store.Path(id)); err == nil {
			if again, err := cut.Request(nil); err == nil {
				again.OutputForm, again.Sweep, req = req.OutputForm, req.Sweep, again
			}
		}
	}
	if req.ID, err = eng.NewID(req.Path); err != nil {
		return "", err
	}
	a.place(&req, root)
	plan, err := eng.Plan(ctx, req)
	if err == nil {
		err = errors.Join(safe.CheckNormalize(plan.Notebook()), queue.CheckNotebook(plan.Notebook()))
	}
	if ctx.Err() != nil {
		return a.cut(ctx, nil)
	}
	if err != nil {
		return a.refuse(err)
	}
	defer func() {
		_ = a.drop(req.ID)
		a.retain(eng.Config.Retention)
	}()
	err = a.lease.Hear(func(by, text string) error {
		return a.store.Record(req.ID).Steer(runs.SteerData{Text: text, Actor: by, Time: time.Now().UTC()})
	})
	if err != nil {
		return "", err
	}
	p := &publisher{attempt: a, plan: plan, record: a.store.Record(req.ID), id: req.ID}
	words = "run %s of %s"
	if a.Warm {
		if eng.Warm = a.warm.take(plan, eng); eng.Warm != nil {
			words += ", with an interpreter that was ready"
		}
		a.again = func() {
			a.warm.make(context.WithoutCancel(ctx),
				func() (*engine.Engine, *engine.Plan, error) { return a.next(root) })
		}
	}
	a.tell("job %s: "+words, a.spec.ID, req.ID, req.Path)
	result, err := eng.Run(ctx, plan, engine.Sinks{Views: views.Views(), Sign: a.key.Manifests(),
		Observers: []engine.Observer{{Event: p.event}}})
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
		return a.giveBack("this worker could not write the record: "+result.Run.Blockers()[0].Message,
			backoff(a.lease.Job.InVain))
	}
	if asks(result.Run) {
		return a.ask(result.Dir, result.Run)
	}
	return a.ended(result.Dir, result.Run)
}

// repository returns the root of a repository that has the base commit: the one around the worker, or a copy of that
// commit.
func (a *attempt) repository(ctx context.Context) (string, error) {
	dir, has := a.dir("bases", a.spec.Base), false
	if a.own != nil {
		_, err := a.own.Resolve(a.spec.Base)
		if has = err == nil; has && !a.wantsClean(ctx) {
			return a.own.Root(), nil
		}
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if has {
		return dir, exchange.FetchBase(ctx, dir, a.spec.Base, a.own.Root())
	}
	fetched := a.fetchBase(ctx, dir)
	if fetched == nil {
		return dir, nil
	}
	made, err := exchange.MakeBase(dir, a.spec.Base, func(to io.Writer) (bool, error) {
		return a.Queue.GetBase(ctx, a.spec.Base, to)
	})
	if err == nil && !made {
		err = fmt.Errorf("neither the repository of the worker nor the queue has the base commit %s%w", a.spec.Base,
			fetched)
	}
	return dir, err
}

// wantsClean reports whether the notebook requires a checkout without changes and that of the worker has some, which
// are not the submitter's.
func (a *attempt) wantsClean(ctx context.Context) bool {
	dirty, err := a.own.Dirty(ctx)
	if err != nil || len(dirty) == 0 {
		return false
	}
	eng, err := a.engine(a.own.Root())
	if err != nil {
		return false // which the run says
	}
	nb, err := eng.Parse(a.spec.Request)
	return err == nil && slices.Contains(nb.Front.Require, "clean")
}

// fetchTime bounds the fetch of a base commit.
const fetchTime = 10 * time.Minute

// fetchBase copies the base commit from the job's repository. Its error is the rest of a sentence.
func (a *attempt) fetchBase(ctx context.Context, dir string) error {
	if a.spec.Repository == "" {
		return errors.New("")
	}
	ctx, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	err := queue.CheckRepository(a.spec.Repository)
	if err == nil {
		err = exchange.FetchBase(ctx, dir, a.spec.Base, a.spec.Repository)
	}
	if err != nil {
		return fmt.Errorf(", and it cannot be fetched from %s: %w", a.spec.Repository, err)
	}
	return nil
}

// engine makes the engine for a repository.
func (a *attempt) engine(root string) (*engine.Engine, error) {
	eng, err := a.engineAt(root)
	if err != nil {
		return nil, err
	}
	if a.own == nil || root != a.own.Root() {
		eng.Config.Data = nil // a copy of the base has no files that Git ignores, and nobody looks for some there
	}
	eng.Floor = &engine.Floor{Sandbox: a.Sandbox, Mode: runs.MutationWorktree}
	eng.Job = &engine.Job{ID: a.spec.ID, Requester: runs.Person{User: a.spec.By, Email: a.spec.Email}}
	eng.Job.Answers, err = a.lease.Job.Answers()
	return eng, err
}

// restore writes the published part of an earlier run's record into the store, and completes it.
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
	if _, err := record.Reconcile(time.Now, records.Rebuild); err != nil {
		return before.Run, nil, err
	}
	run, _, err := record.Load()
	return before.Run, run, err
}

func isCanceled(err error) bool {
	_, ok := errors.AsType[*jetstream.Cancellation](err)
	return ok
}

// unwritten reports whether the record of a run could not be written, as on a full disk. Another worker continues then.
func unwritten(run *runs.Run) bool {
	return run.Status() == runs.Fail && slices.ContainsFunc(run.Blockers(), func(b runs.Blocker) bool {
		return b.Code == runs.CodeArtifactWriteFailure
	})
}

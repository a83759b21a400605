package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/records"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// worker takes jobs and runs them.
type worker struct {
	*Client
	queue.WorkerOptions
	name     string
	store    runs.Store // of its runs while they go on: their records are published
	notifier *notifier
	own      *worktree.Source // the repository around the working directory; nil outside one
	warm     prepared
}

// engineAt makes the engine for a repository; "" is none. Its records are in the worker's store.
func (w *worker) engineAt(root string) (*engine.Engine, error) {
	eng, _, err := engines.New(root)
	if err == nil {
		eng.Version, eng.Tools, eng.Schedules = w.Version, w.Program, w.Store
		eng.Store = func(string) runs.Store { return w.store }
	}
	return eng, err
}

// drop removes the record of a run that is published, or that another run goes on with. What the run wrote and Git
// ignores stays, as long as the retention says.
func (w *worker) drop(id runs.RunID) error {
	if record := w.store.Record(id); record.HasData() {
		w.tell("run %s: what it wrote and Git ignores is kept in %s", id, record.DataDir())
	}
	return w.store.Remove(id)
}

// retain removes old data of runs, in the checkout's store.
func (w *worker) retain(r engine.Retention) {
	words, err := records.PruneData(runs.Store{Dir: w.Store}, r)
	if err != nil {
		words = err.Error() // the next run tries again
	}
	if words != "" {
		w.tell("%s", words)
	}
}

// maxWorkers bounds the workers of one store.
const maxWorkers = 1000

// Work takes jobs and runs them, until its context ends, or with Drain until there are none.
func (c *Client) Work(ctx context.Context, o queue.WorkerOptions) error {
	process.SealDescriptors()
	wish := sandbox.Wish{Mode: o.Sandbox}
	offer := sandbox.Probe(ctx, c.Program, wish.Need())
	if why := sandbox.Refusal(wish, sandbox.Decide(wish, offer)); why != "" {
		return &notebooks.Error{Kind: notebooks.KindProvider, Msg: "--sandbox " + o.Sandbox + ": " + why,
			Hint: "--sandbox on runs jobs in as much of a sandbox as this machine has"}
	}
	w := &worker{Client: c, WorkerOptions: o}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w.name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
	if c.Root != "" {
		if w.own, err = worktree.Open(c.Root); err != nil {
			return err
		}
	}
	release, err := w.claimStore()
	if err != nil {
		return err
	}
	defer release()
	consumer, err := c.Queue.NewConsumer(ctx, queue.Worker{Name: w.name, Queues: o.Queues, Labels: o.Labels},
		o.Lease, time.Now)
	if err != nil {
		return err
	}
	defer consumer.Close()
	w.tell("worker %s takes jobs, %d at a time; Ctrl-C gives back those that run", w.name, o.Jobs)
	if o.Schedule {
		scheduling, stop := context.WithCancel(ctx)
		var ended sync.WaitGroup
		ended.Go(func() {
			if err := c.Schedule(scheduling, o.Queues[0]); err != nil {
				w.tell("scheduler: %s", err)
			}
		})
		defer ended.Wait()
		defer stop()
	}
	if w.notifier, err = w.newNotifier(nil); err != nil {
		return err
	}
	go w.notifier.work(ctx)
	defer w.warm.close()
	var group sync.WaitGroup
	errs := make([]error, o.Jobs)
	for i := range o.Jobs {
		group.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				var lease *jetstream.Lease
				if lease, errs[i] = consumer.Take(ctx, o.Drain); lease == nil {
					return
				}
				w.do(ctx, lease)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// claimStore locks the first free store of workers. The next run in it removes what a killed worker left there.
func (w *worker) claimStore() (release func(), err error) {
	for n := range maxWorkers {
		w.store = runs.Store{Dir: w.Store}.Worker(n)
		if err := os.MkdirAll(w.store.Dir, 0o700); err != nil {
			return nil, err
		}
		release, err := runs.Lock(w.store.Dir)
		if errors.Is(err, runs.ErrLive) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ids, err := w.store.IDs()
		if len(ids) > 0 {
			eng, terr := w.engineAt(w.Root)
			if err = errors.Join(err, terr); err == nil {
				err = eng.Tidy("") // which keeps what a killed run wrote and Git ignores
			}
		}
		for _, id := range ids {
			if err == nil {
				err = w.drop(id)
			}
		}
		if err != nil {
			release()
			return nil, err
		}
		return release, nil
	}
	return nil, fmt.Errorf("%s has %d workers already", w.dir("workers"), maxWorkers)
}

// prepared holds the interpreter that a worker keeps ready for the next run.
type prepared struct {
	mu    sync.Mutex
	ready *engine.Warm
	busy  bool // one is being made
	group sync.WaitGroup
	over  bool
}

// warmAfter is the pause after a job before the next interpreter starts, so that the record can be fetched first.
const warmAfter = 200 * time.Millisecond

// take returns the prepared interpreter if the run of a plan can use it, to one caller only; nil if there is none.
func (w *prepared) take(plan *engine.Plan, eng *engine.Engine) *engine.Warm {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready == nil || !w.ready.Fits(plan, eng) {
		return nil
	}
	ready := w.ready
	w.ready = nil
	return ready
}

// make prepares, while the worker waits, an interpreter for a run like the last one.
func (w *prepared) make(ctx context.Context, plan func() (*engine.Engine, *engine.Plan, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy || w.over {
		return
	}
	w.busy = true
	w.group.Go(func() {
		time.Sleep(warmAfter)
		eng, p, err := plan()
		var made *engine.Warm
		w.mu.Lock()
		old := w.ready
		if err != nil || old != nil && old.Fits(p, eng) {
			w.busy = false
			w.mu.Unlock()
			return // a run that begins cold says what is wrong
		}
		w.ready = nil
		w.mu.Unlock()
		closeWarm(old)
		made, _ = eng.NewWarm(ctx, p)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy = false; w.over {
			closeWarm(made)
			return
		}
		w.ready = made
	})
}

// close ends the prepared interpreter.
func (w *prepared) close() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.group.Wait()
	closeWarm(w.ready)
}

func closeWarm(w *engine.Warm) {
	if w != nil {
		_ = w.Close() // the next run removes what is left
	}
}

package launch

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/sweep"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/runs"
)

// sweepQueue submits the rows of a sweep.
type sweepQueue struct {
	spec queue.Spec // of all rows
	eng  *engine.Engine
	keys map[string]string // of singletons: the job of the row
	root string            // of the repository
}

// runRows runs a sweep, and if it has a queue, its rows as jobs. Jobs that have not ended go on, unless the sweep ends
// at a run that did not pass.
func runRows(ctx context.Context, a *program.App, o *RowOptions, signed bool, s *sweep.Sweep) (done *runs.Sweep,
	err error) {
	if o.Name == "" {
		return s.Run(ctx)
	}
	rows, err := queueRows(a, o, signed, s)
	if err != nil {
		return nil, err
	}
	a.Repo = rows.root
	at, err := jobqueue.Connection(a, &o.Options)
	if err != nil {
		return nil, err
	}
	// ctx ends with a signal, too
	err = jobqueue.UseQueue(a, "queue submit", at, true, func(_ context.Context, q program.Queue) (int, error) {
		following, stop := context.WithCancel(context.WithoutCancel(ctx))
		var group sync.WaitGroup
		group.Go(func() { q.FollowRows(following) })
		s.Work.Elsewhere = func(row int, req engine.Request) (sweep.Arrival, error) {
			return rows.submit(following, q, queue.IDOf(fmt.Sprintf("%s-%d", s.ID(), row)), req)
		}
		done, err = s.Run(ctx)
		stop()
		group.Wait()
		if ctx.Err() == nil { // else a resumed sweep goes on with the jobs
			q.CancelRows(context.WithoutCancel(ctx), "the sweep "+string(s.ID())+" ended at a run that did not pass")
		}
		return program.ExitPass, err
	})
	return done, err
}

func queueRows(a *program.App, o *RowOptions, signed bool, s *sweep.Sweep) (*sweepQueue, error) {
	if err := queue.CheckName("--queue", o.Name); err != nil {
		return nil, err
	}
	if err := o.JobOptions.Check(); err != nil {
		return nil, err
	}
	if s.Shared() {
		return nil, program.Usagef("--queue: the runs of the sweep work in the folder, which no worker has; leave it " +
			"out")
	}
	at := s.Engine.Config.Repository
	if at != "" {
		if err := queue.CheckRepository(at); err != nil {
			return nil, err
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &sweepQueue{root: s.Engine.Source.Root(), eng: s.Engine, keys: map[string]string{},
		spec: queue.Spec{Queue: o.Name, Priority: queue.Priority(o.Priority), Labels: o.Labels, Retries: o.Retries,
			Repository: at, Signed: signed,
			Project: filepath.Base(s.Engine.Source.Root()), By: a.UserName(),
			Email: s.Engine.Source.Email(), Host: host}}, nil
}

// submit submits a row, unless it was.
func (q *sweepQueue) submit(ctx context.Context, to program.Queue, job string, req engine.Request) (sweep.Arrival,
	error) {
	spec := q.spec
	spec.ID, spec.Base = job, cmp.Or(req.Base, "HEAD")
	var err error
	if spec.Output, err = jobqueue.OutputIn(q.root, req.Output); err != nil {
		return nil, err
	}
	req.MadeOf = req.SourcePath(q.root)
	if spec.Singleton, err = q.singleton(job, req); err != nil {
		return nil, err
	}
	req.ID, req.Repository, req.Output, req.Base = "", "", "", ""
	spec.Request = req
	ended := to.SubmitRow(ctx, &spec)
	return func(ctx context.Context) (runs.RunID, string, error) {
		select {
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		case end := <-ended:
			return end.Run, cmp.Or(end.Reason, string(end.State)), end.Err
		}
	}, nil
}

// singleton is that of a row. Rows of the same key would leave out or cancel each other: only overlap: queue has all of
// them run.
func (q *sweepQueue) singleton(job string, req engine.Request) (*queue.Singleton, error) {
	nb, err := q.eng.Parse(req)
	if err != nil || nb.Front.Singleton.Key == "" {
		return nil, err
	}
	bound, err := params.Bind(req.Path, nb.Params, req.Given, params.Options{AllowUnknown: true, Getenv: q.eng.Getenv})
	if err != nil {
		return nil, err
	}
	bound = slices.DeleteFunc(bound, func(b notebooks.Bound) bool { return !b.Given })
	one, err := jobqueue.Singleton(nb, q.eng, req, bound)
	if err != nil || one == nil || one.Overlap == queue.OverlapQueue {
		return one, err
	}
	if other := q.keys[one.Key]; other != "" {
		return nil, program.Usagef("singleton: the rows %s and %s have the key %q, and with overlap: %s not both "+
			"would run; name a parameter of the sweep in the key, or write overlap: "+
			"queue", other, job, one.Key, one.Overlap)
	}
	q.keys[one.Key] = job
	return one, nil
}

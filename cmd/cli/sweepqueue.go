package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"markmill/cmd/api/sweep"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/runs"
)

// rowOptions say where the rows of a sweep run.
type rowOptions struct {
	queueOptions
	jobOptions
	name string // of the queue; "" runs them here
}

// sweepQueue submits the rows of a sweep.
type sweepQueue struct {
	spec queue.Spec // of all rows
	eng  *engine.Engine
	keys map[string]string // of singletons: the job of the row
	root string            // of the repository
}

// runRows runs a sweep, and if it has a queue, its rows as jobs. Jobs that have not ended go on, unless the sweep ends
// at a run that did not pass.
func (a *app) runRows(ctx context.Context, o *rowOptions, signed bool, s *sweep.Sweep) (done *runs.Sweep, err error) {
	if o.name == "" {
		return s.Run(ctx)
	}
	rows, err := a.queueRows(o, signed, s)
	if err != nil {
		return nil, err
	}
	o.repo = rows.root
	at, err := a.connection(&o.queueOptions)
	if err != nil {
		return nil, err
	}
	err = a.useQueue("queue submit", at, true, func(_ context.Context, q Queue) (int, error) { // ctx ends with a signal, too
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
		return exitPass, err
	})
	return done, err
}

func (a *app) queueRows(o *rowOptions, signed bool, s *sweep.Sweep) (*sweepQueue, error) {
	if err := queue.CheckName("--queue", o.name); err != nil {
		return nil, err
	}
	if err := o.jobOptions.check(); err != nil {
		return nil, err
	}
	if s.Shared() {
		return nil, usagef("--queue: the runs of the sweep work in the folder, which no worker has; leave it out")
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
		spec: queue.Spec{Queue: o.name, Priority: queue.Priority(o.priority), Labels: o.labels, Retries: o.retries,
			Repository: at, Signed: signed,
			Project: filepath.Base(s.Engine.Source.Root()), By: a.userName(),
			Email: s.Engine.Source.Email(), Host: host}}, nil
}

// submit submits a row, unless it was.
func (q *sweepQueue) submit(ctx context.Context, to Queue, job string, req engine.Request) (sweep.Arrival, error) {
	spec := q.spec
	spec.ID, spec.Base = job, cmp.Or(req.Base, "HEAD")
	var err error
	if spec.Output, err = outputIn(q.root, req.Output); err != nil {
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
	one, err := singleton(nb, q.eng, req, bound)
	if err != nil || one == nil || one.Overlap == queue.OverlapQueue {
		return one, err
	}
	if other := q.keys[one.Key]; other != "" {
		return nil, usagef("singleton: the rows %s and %s have the key %q, and with overlap: %s not both would run; "+
			"name a parameter of the sweep in the key, or write overlap: queue", other, job, one.Key, one.Overlap)
	}
	q.keys[one.Key] = job
	return one, nil
}

// again is the option that goes on with the jobs of a sweep.
func (o *rowOptions) again() string {
	if o.name == "" {
		return ""
	}
	words := " --queue " + o.name
	if len(o.labels) > 0 {
		words += " --label " + strings.Join(o.labels, ",")
	}
	if o.priority != string(queue.Normal) {
		words += " --priority " + o.priority
	}
	if o.retries > 0 {
		words += fmt.Sprintf(" --retries %d", o.retries)
	}
	return words
}

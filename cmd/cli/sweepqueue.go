package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"markmill/cmd/api/sweep"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/runs"
)

// rowOptions say where the rows of a sweep run.
type rowOptions struct {
	queueOptions
	jobOptions
	name string // of the queue; "" runs them here
}

// sweepQueue submits the rows of a sweep, through one process of markmill-server.
type sweepQueue struct {
	spec  queue.Spec // of all rows
	eng   *engine.Engine
	keys  map[string]string // of singletons: the job of the row
	root  string            // of the repository
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu    sync.Mutex
	waits map[string]chan queue.RowEnd // by job
	ended error                        // why the program has ended
}

// queueRows starts the program, and has the sweep use it. It returns nil for a sweep whose rows run here.
func (a *app) queueRows(o *rowOptions, signed bool, s *sweep.Sweep) (*sweepQueue, error) {
	if o.name == "" {
		return nil, nil
	}
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
	q := &sweepQueue{waits: map[string]chan queue.RowEnd{}, root: s.Engine.Source.Root(), eng: s.Engine,
		keys: map[string]string{},
		spec: queue.Spec{Queue: o.name, Priority: queue.Priority(o.priority), Labels: o.labels, Retries: o.retries,
			Repository: at, Signed: signed,
			Project: filepath.Base(s.Engine.Source.Root()), By: a.userName(),
			Email: s.Engine.Source.Email(), Host: host}}
	o.repo = q.root
	if q.cmd, err = a.serverWith(&o.queueOptions, "queue", "rows"); err != nil {
		return nil, err
	}
	out, err := q.cmd.StdoutPipe()
	if err == nil {
		q.stdin, err = q.cmd.StdinPipe()
	}
	if err == nil {
		err = q.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go q.read(out)
	s.Work.Elsewhere = func(row int, req engine.Request) (sweep.Arrival, error) {
		return q.row(queue.IDOf(fmt.Sprintf("%s-%d", s.ID(), row)), req)
	}
	return q, nil
}

// read hands out what the program says.
func (q *sweepQueue) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var end queue.RowEnd
		if err == nil {
			err = codec.Unmarshal(line, &end)
		}
		q.mu.Lock()
		if err != nil {
			if q.ended = err; errors.Is(err, io.EOF) {
				q.ended = errors.New("markmill-server has ended")
			}
			for _, wait := range q.waits {
				close(wait)
			}
			clear(q.waits)
			q.mu.Unlock()
			return
		}
		if wait := q.waits[end.Job]; wait != nil {
			wait <- end
			delete(q.waits, end.Job)
		}
		q.mu.Unlock()
	}
}

// row submits a row, unless it was.
func (q *sweepQueue) row(job string, req engine.Request) (_ sweep.Arrival, err error) {
	spec, wait := q.spec, make(chan queue.RowEnd, 1)
	spec.ID, spec.Base = job, cmp.Or(req.Base, "HEAD")
	if spec.Output, err = outputIn(q.root, req.Output); err != nil {
		return nil, err
	}
	req.MadeOf = req.SourcePath(q.root)
	if spec.Singleton, err = q.singleton(job, req); err != nil {
		return nil, err
	}
	req.ID, req.Repository, req.Output, req.Base = "", "", "", ""
	spec.Request = req
	line, err := codec.Marshal(queue.RowCall{Spec: &spec})
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	if err = q.ended; err == nil {
		q.waits[job] = wait
		_, err = q.stdin.Write(append(line, '\n'))
	}
	q.mu.Unlock()
	return func(ctx context.Context) (runs.RunID, string, error) {
		select {
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		case end, ok := <-wait:
			switch {
			case !ok:
				return "", "", q.ended
			case end.Error != "":
				return "", "", errors.New(end.Error)
			}
			return end.Run, cmp.Or(end.Reason, string(end.State)), nil
		}
	}, err
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

// end ends the program. The jobs go on, unless cancel says why they do not.
func (q *sweepQueue) end(cancel string) error {
	if q == nil {
		return nil
	}
	line, err := codec.Marshal(queue.RowCall{Cancel: cancel})
	if err == nil && cancel != "" {
		_, _ = q.stdin.Write(append(line, '\n')) // the program may have ended
	}
	return errors.Join(err, q.stdin.Close(), q.cmd.Wait())
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

package queue

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"markmill/cmd/markmill-server/workbench"
	"markmill/engine/queue"
	"markmill/engine/queue/desk"
	"markmill/engine/queue/jetstream"
	"markmill/render/plain"
)

// clerk implements desk.Desk.
type clerk struct{ *program }

// Desk connects the workbench to the queue of a call.
func Desk(call queue.Call) workbench.Desk {
	return func(ctx context.Context) (desk.Desk, error) {
		p := &program{Call: call, stdout: io.Discard, stderr: os.Stderr}
		if err := p.connect(ctx, false); err != nil {
			return nil, err
		}
		return clerk{p}, nil
	}
}

func (c clerk) Close() { c.q.Close() }

// Jobs requests all that it returns at once.
func (c clerk) Jobs(ctx context.Context, f queue.Filter) (*desk.Jobs, error) {
	to := &desk.Jobs{Counts: make([]int, len(desk.Counted))}
	asks := []func() error{
		func() (err error) { to.Jobs, to.Total, err = c.q.List(ctx, f); return err },
		func() (err error) { to.Paused, err = c.q.Paused(ctx); return err },
		func() (err error) { to.Workers, err = c.q.Attendance(ctx); return err },
		func() (err error) {
			running := queue.Filter{States: []queue.State{queue.StateRunning}, Limit: mostLeases}
			to.Leases, _, err = c.q.List(ctx, running)
			return err
		},
	}
	for i, state := range desk.Counted {
		asks = append(asks, func() (err error) { to.Counts[i], err = c.q.Count(ctx, state, f.Queue); return err })
	}
	errs := make([]error, len(asks))
	var group sync.WaitGroup
	for i, ask := range asks {
		group.Go(func() { errs[i] = ask() })
	}
	group.Wait()
	if f.Notebook != "" {
		to.Looked = min(to.Total, jetstream.MostRead)
	}
	return to, errors.Join(errs...)
}

// mostLeases bounds the jobs that are shown with their workers.
const mostLeases = 500

func (c clerk) Job(ctx context.Context, id string, after uint64) (*desk.Job, error) {
	list, last, err := c.q.Since(ctx, id, after)
	if err != nil {
		return nil, err
	}
	job, found, err := c.q.Current(ctx, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, jetstream.NoJob(id)
	}
	to := &desk.Job{Job: job, Last: last}
	for i := range list {
		e := &list[i]
		if e.Spec != nil {
			to.Spec = desk.Spec{By: e.Spec.By, Host: e.Spec.Host, Base: e.Spec.Base, Output: e.Spec.Output,
				Retries: e.Spec.Retries}
		}
		to.Events = append(to.Events, queue.Event{Kind: e.Kind, Time: e.Time, By: e.By, Reason: e.Reason,
			Worker: e.Worker, Run: string(e.Run), Step: e.Step, Finished: e.Finished})
		if e.Run != to.Run && e.Run != "" {
			to.Run, to.Journal, to.Files = e.Run, nil, nil
		}
		to.Journal = append(to.Journal, e.Journal...)
		to.Files = append(to.Files, e.Files...)
	}
	if to.Waits, err = c.q.Waits(ctx, &job, time.Now()); err != nil || !job.State.Leased() {
		return to, err
	}
	all, err := c.q.Attendance(ctx)
	to.Expired = job.Expired(all)
	if i := slices.IndexFunc(all, func(a queue.Attendance) bool { return a.Name == job.Worker }); i >= 0 {
		to.Worker = &all[i]
	}
	return to, err
}

func (c clerk) Tails(ctx context.Context, files []queue.File) (list []desk.Tail, err error) {
	for _, f := range files {
		text, err := c.q.Tail(ctx, f, desk.TailBytes)
		if err != nil {
			return nil, err
		}
		list = append(list, desk.Tail{Path: f.Path, Skipped: f.Bytes - int64(len(text)), Text: text})
	}
	return list, nil
}

func (c clerk) Alerts(ctx context.Context, most int) (*desk.Alerts, error) {
	all, err := c.outbox(ctx)
	if err != nil {
		return nil, err
	}
	to := &desk.Alerts{Total: len(all)}
	for _, d := range all[:min(len(all), most)] {
		one := desk.Alert{Alert: d.Alert, Words: plain.OneLine(d.Alert.Words())}
		for _, r := range d.To {
			told := desk.Told{Target: r.Target, State: r.State, Next: r.Next, By: r.By, Why: r.Why}
			if n := len(r.Tries); n > 0 {
				told.At, told.Error = r.Tries[n-1].Time, r.Tries[n-1].Error
			}
			one.To = append(one.To, told)
		}
		to.Alerts = append(to.Alerts, one)
	}
	to.Mutes, err = c.held(ctx, time.Now())
	return to, err
}

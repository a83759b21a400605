package queue

import (
	"context"
	"errors"
	"io"
	"net/rpc"
	"slices"
	"sync"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/desk"
	"markmill/engine/queue/jetstream"
	"markmill/render/plain"
)

// desk answers requests of the workbench on standard input and output, until the input ends. The workbench does not
// link NATS, and a running process answers at once, where each call of markmill jobs would start a server.
func (p *program) desk(ctx context.Context) (int, error) {
	server := rpc.NewServer()
	if err := server.RegisterName(desk.Name, &clerk{p, ctx}); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() { server.ServeConn(pipes{p.stdin, p.stdout}); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return exitPass, nil
}

// pipes is a connection over standard input and output.
type pipes struct {
	io.Reader
	io.Writer
}

func (pipes) Close() error { return nil }

// clerk implements the service of package desk.
type clerk struct {
	*program
	ctx context.Context
}

// Jobs lists jobs, with the workers, pauses and leases that an operator needs. It requests all of these at once.
func (c *clerk) Jobs(f queue.Filter, to *desk.Jobs) error {
	ctx := c.ctx
	to.Counts = make([]int, len(desk.Counted))
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
	return errors.Join(errs...)
}

// mostLeases bounds the jobs that are shown with their workers.
const mostLeases = 500

// Job returns a job, and its entries from a given one on.
func (c *clerk) Job(in desk.JobAsked, to *desk.Job) error {
	list, last, err := c.q.Since(c.ctx, in.ID, in.After)
	if err != nil {
		return err
	}
	job, found, err := c.q.Current(c.ctx, in.ID)
	if err != nil {
		return err
	}
	if !found {
		return jetstream.NoJob(in.ID)
	}
	to.Job, to.Last = job, last
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
	if to.Waits, err = c.q.Waits(c.ctx, &job, time.Now()); err != nil || !job.State.Leased() {
		return err
	}
	all, err := c.q.Attendance(c.ctx)
	to.Expired = job.Expired(all)
	if i := slices.IndexFunc(all, func(a queue.Attendance) bool { return a.Name == job.Worker }); i >= 0 {
		to.Worker = &all[i]
	}
	return err
}

// Tails returns the ends of files of a record.
func (c *clerk) Tails(files []queue.File, to *[]desk.Tail) error {
	for _, f := range files {
		text, err := c.q.Tail(c.ctx, f, desk.TailBytes)
		if err != nil {
			return err
		}
		*to = append(*to, desk.Tail{Path: f.Path, Skipped: f.Bytes - int64(len(text)), Text: text})
	}
	return nil
}

// Alerts lists the newest alerts, and the mutes.
func (c *clerk) Alerts(most int, to *desk.Alerts) error {
	all, err := c.outbox(c.ctx)
	if err != nil {
		return err
	}
	to.Total = len(all)
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
	to.Mutes, err = c.held(c.ctx, time.Now())
	return err
}

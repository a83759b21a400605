package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/queue/notify"
	"markmill/notebooks/forms"
	"markmill/runs"
)

// notifier puts the alerts of runs into the outbox, and delivers those that are due. Any number of notifiers may work
// at the same time.
type notifier struct {
	outbox
	store   runs.Store
	targets map[string]engine.AlertTarget
	name    string
	now     func() time.Time
	send    func(context.Context, engine.AlertTarget, *queue.Alert) error
	tell    func(format string, args ...any)
	unmute  time.Time // when the next mute ends; zero: none
}

// outbox is a *jetstream.Queue.
type outbox interface {
	UpdateSeries(ctx context.Context, empty *queue.Series, add func(*queue.Series) bool) error
	Alerts(ctx context.Context, each func(*queue.Delivery) error) error
	PutAlert(ctx context.Context, d *queue.Delivery) error
	ForgetAlert(ctx context.Context, d *queue.Delivery) error
	PostAlert(ctx context.Context, d *queue.Delivery) error
	StatesOf(ctx context.Context, a *queue.Alert) (map[string]string, error)
	Mutes(ctx context.Context) ([]*queue.Mute, error)
	PutMute(ctx context.Context, m *queue.Mute) error
	ForgetMute(ctx context.Context, m *queue.Mute) error
}

// claimTime is how long a claim lasts: longer than one attempt.
const claimTime = notify.Limit + 10*time.Second

// recheckTime is how often a waiting notifier checks for ended runs.
const recheckTime = 2 * time.Second

// newNotifier makes the notifier of this process. The targets are given where they were read before the run could
// change the settings; nil are those of the repository.
func (c *Client) newNotifier(targets map[string]engine.AlertTarget) (*notifier, error) {
	if targets == nil {
		cfg, err := engine.LoadConfig(c.Root)
		if err != nil {
			return nil, err
		}
		targets = cfg.Alerts
	}
	return &notifier{outbox: c.Queue, store: runs.Store{Dir: c.Store}, targets: targets, now: time.Now, tell: c.tell,
		send: (&notify.Sender{Getenv: os.LookupEnv}).Send,
		name: fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:8])}, nil
}

// collect puts the missing alerts of the store's runs into the outbox, in the order in which the runs ended.
func (c *notifier) collect(ctx context.Context) error {
	ids, err := c.store.AwaitingAlerts()
	if err != nil {
		return err
	}
	type found struct {
		run    *runs.Run
		source []byte
	}
	var all []found
	for _, id := range ids {
		record := c.store.Record(id)
		live := record.Alive()
		run, source, err := record.Load()
		switch {
		case live && (err != nil || run.Completed == nil): // it goes on
		case errors.Is(err, fs.ErrNotExist): // it has recorded nothing, or was removed
			err = c.store.AlertsKept(id)
			fallthrough
		case err != nil:
			if err != nil {
				c.tell("the alerts of run %s: %s", string(id), err)
			}
		default:
			all = append(all, found{run, source})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.run.FinishedAt.Compare(b.run.FinishedAt) })
	for _, f := range all {
		if err := c.post(ctx, projectOf(f.run.Started.Repository), f.run, f.source); err != nil {
			return err
		}
		if err := c.store.AlertsKept(f.run.ID); err != nil {
			return err
		}
	}
	return nil
}

// post puts the alerts of a run into the outbox.
func (c *notifier) post(ctx context.Context, project string, run *runs.Run, source []byte) error {
	nb, err := forms.Parse(run.Started.Notebook, source)
	if err != nil || nb.Front.Alerts == nil {
		return nil //nolint:nilerr // the run was of a version that read it
	}
	rules := nb.Front.Alerts
	return c.UpdateSeries(ctx, queue.NewSeries(project, run, rules), func(s *queue.Series) bool {
		if s.Seen(run.ID) {
			return false
		}
		s.Add(run, nb.Front.Title, rules, c.now())
		return true
	})
}

// pass sends every alert that is due, oldest first, and returns when the next one is due; the zero time if none waits.
// If an alert cannot be delivered to a target, later ones for that target wait.
func (c *notifier) pass(ctx context.Context) (next time.Time, failed int, err error) {
	mutes, err := c.mutes(ctx)
	if err != nil {
		return next, 0, err
	}
	var open []*queue.Delivery
	err = c.Alerts(ctx, func(d *queue.Delivery) error {
		if d.Open() {
			open = append(open, d)
			return nil
		}
		if c.now().Sub(d.Alert.Time) > jetstream.Kept {
			return c.ForgetAlert(ctx, d)
		}
		return nil
	})
	if err != nil {
		return next, 0, err
	}
	slices.SortStableFunc(open, (*queue.Delivery).Compare)
	held := map[string]bool{} // targets
	for _, d := range open {
		if err := c.quiet(ctx, d, mutes); err != nil {
			return next, failed, err
		}
		for i := range d.To {
			r := &d.To[i]
			if r.State != queue.Waiting || held[r.Target] {
				continue
			}
			target, known := c.targets[r.Target]
			held[r.Target] = true
			if !known { // somebody else may know it
				next = soonest(next, c.now().Add(time.Minute))
				continue
			}
			at, err := c.attempt(ctx, d, r, target)
			if err != nil {
				return next, failed, err
			}
			if held[r.Target] = !at.IsZero(); held[r.Target] {
				next = soonest(next, at)
			}
			if r.State == queue.GivenUp || held[r.Target] && r.Tried > 0 {
				failed++
			}
		}
	}
	return next, failed, ctx.Err()
}

func soonest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// attempt sends an alert to one target, if it is due and not claimed by another process. It returns when the next
// attempt is due; the zero time if there is none.
func (c *notifier) attempt(ctx context.Context, d *queue.Delivery, r *queue.Receipt, target engine.AlertTarget) (
	next time.Time, err error) {
	now := c.now()
	if d.Claim != nil && d.Claim.By != c.name && d.Claim.Until.After(now) {
		return soonest(d.Claim.Until, now.Add(time.Second)), nil // it may be done before
	}
	if r.Next.After(now) {
		return r.Next, nil
	}
	d.Claim = &queue.Claim{By: c.name, Until: now.Add(claimTime)}
	switch err := c.PutAlert(ctx, d); {
	case errors.Is(err, jetstream.ErrFenced): // another process has it
		return now.Add(time.Second), nil
	case err != nil:
		return next, err
	}
	if ctx.Err() != nil {
		return next, ctx.Err()
	}
	sent := c.send(ctx, target, &d.Alert)
	if sent != nil && ctx.Err() != nil { // this process ends: it is no failure of the receiver
		d.Claim = nil
		return next, errors.Join(ctx.Err(), c.PutAlert(context.WithoutCancel(ctx), d))
	}
	final, after := false, time.Duration(0)
	if f, ok := errors.AsType[*notify.Failure](sent); ok {
		final, after = f.Final, f.After
	}
	r.Ended(c.now().UTC(), sent, final, after)
	d.Claim = nil
	if sent != nil {
		c.tell("alert %s to %s: %s", d.Alert.ID, r.Target, sent)
	}
	// What was sent is recorded even if the process is asked to end.
	if err := c.PutAlert(context.WithoutCancel(ctx), d); err != nil && !errors.Is(err, jetstream.ErrFenced) {
		return next, err
	}
	return r.Next, nil
}

// deliver collects and sends until ctx ends, nothing waits, or the given time has passed; with 0 it makes one pass.
func (c *notifier) deliver(ctx context.Context, patience time.Duration) (waits bool, failed int, err error) {
	for begin := c.now(); ; {
		if err := c.collect(ctx); err != nil {
			return false, 0, err
		}
		next, failed, err := c.pass(ctx)
		switch {
		case err != nil:
			return false, failed, err
		case next.IsZero() && (patience == 0 || c.unmute.IsZero() || c.unmute.Sub(begin) > patience):
			return false, failed, nil
		case next.IsZero():
			next = c.unmute
		case patience == 0 || next.Sub(begin) > patience:
			return true, failed, nil
		}
		select {
		case <-ctx.Done():
			return true, failed, nil
		case <-time.After(min(max(next.Sub(c.now()), 100*time.Millisecond), recheckTime)):
		}
	}
}

// work is the notifier of a worker.
func (c *notifier) work(ctx context.Context) {
	for ctx.Err() == nil {
		if _, _, err := c.deliver(ctx, 0); err != nil && ctx.Err() == nil {
			c.tell("alerts: %s", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// alert puts the alerts of a job's run into the outbox, before the entry that ends the job. If the worker is killed in
// between, the next one does the same, with the same effect.
func (a *attempt) alert(run *runs.Run) error {
	if a.spec.Request.Sweep != nil {
		return nil
	}
	source, err := a.store.Record(run.ID).Source()
	if err != nil {
		return err
	}
	return a.notifier.post(context.Background(), a.spec.Project, run, source)
}

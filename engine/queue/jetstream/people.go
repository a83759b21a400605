package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks"
)

// The actions of people on jobs.

func refused(format string, args ...any) *notebooks.Error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf(format, args...)}
}

// NoJob is the error of a job that is not there.
func NoJob(id string) error {
	err := refused("there is no job %s", id)
	err.Hint = "markmill queue list lists them; markmill queue prune removes those that ended long ago"
	err.Err = queue.ErrNoJob
	return err
}

// wake publishes the wake-up that makes a worker look at a job.
func (q *Queue) wake(ctx context.Context, job *queue.Job) error {
	set := labelSet(job.Labels)
	if set != noLabels { // workers learn of it
		if err := q.set(ctx, "mm.labels."+job.Queue+"."+set, job.Labels, 0); err != nil {
			return err
		}
	}
	return q.retry(ctx, func() error {
		_, err := q.js.Publish(ctx, wakeSubject(job.Queue, job.Priority, set, job.ID), nil,
			jetstream.WithRetryAttempts(0))
		return err
	})
}

// Submit puts a job into its queue. If a job with that id exists, it is returned, and made is false.
func (q *Queue) Submit(ctx context.Context, spec *queue.Spec, now time.Time) (job *queue.Job, made bool, err error) {
	if err := spec.Check(); err != nil {
		return nil, false, err
	}
	h, err := q.read(ctx, spec.ID)
	if err != nil {
		return nil, false, err
	}
	if h == nil {
		e := &queue.Entry{Kind: queue.Enqueued, Time: now, By: spec.By, Spec: spec}
		state := &queue.Job{}
		if err := errors.Join(state.Add(e), q.checkAfter(ctx, spec.After)); err != nil {
			return nil, false, err
		}
		older := ""
		if spec.Singleton != nil {
			instead, cancel, err := q.single(ctx, spec, now)
			if err != nil || instead != nil {
				return instead, false, err
			}
			older = cancel
			*state = queue.Job{} // what it is behind is known now
			if err := state.Add(e); err != nil {
				return nil, false, err
			}
		}
		// The wake-up comes first: without a job it is dropped in time, while a job without a wake-up would be lost.
		if err := q.ready(ctx, state, now); err != nil {
			return nil, false, err
		}
		_, err := q.append(ctx, state, 0, e)
		if err == nil && older != "" {
			err = q.supersede(ctx, older, spec, now)
		}
		if err == nil && state.State == queue.StateHeld {
			state, err = q.free(ctx, spec.ID, now) // what it comes after may be there
		}
		if err == nil {
			return state, true, nil
		}
		if !errors.Is(err, ErrFenced) {
			return nil, false, err
		}
		if h, err = q.read(ctx, spec.ID); err != nil { // another process was as quick
			return nil, false, err
		}
	}
	if h == nil {
		return nil, false, refused("job %s is being removed; submit it again in a moment", spec.ID)
	}
	return &h.Job, false, nil
}

// supersede cancels the job that another one replaces, if it has not ended.
func (q *Queue) supersede(ctx context.Context, older string, spec *queue.Spec, now time.Time) error {
	_, err := q.Cancel(ctx, older, spec.By, "job "+spec.ID+" of the singleton "+spec.Singleton.Key+" takes its place",
		now)
	if h, readErr := q.read(ctx, older); readErr == nil && h != nil && h.State.Ended() {
		return nil
	}
	return err
}

// ready makes a waiting job available: now, or when other jobs have ended.
func (q *Queue) ready(ctx context.Context, job *queue.Job, now time.Time) error {
	if job.State != queue.StateHeld {
		return q.wake(ctx, job)
	}
	return q.hold(ctx, job.Before(), job.ID, now)
}

// existing is read for a job that must be there.
func (q *Queue) existing(ctx context.Context, id string) (*history, error) {
	h, err := q.read(ctx, id)
	if err == nil && h == nil {
		err = NoJob(id)
	}
	return h, err
}

// Job returns a job with its history.
func (q *Queue) Job(ctx context.Context, id string) (*queue.History, error) {
	h, err := q.existing(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.History, nil
}

// Answer records a person's answer to the request of a job's run, and wakes the job up. It returns an error if the job
// no longer requests anything, or requests something else.
func (q *Queue) Answer(ctx context.Context, id string, e *queue.Entry) (*queue.Job, error) {
	h, err := q.existing(ctx, id)
	if err != nil {
		return nil, err
	}
	if h.State != queue.StateUnapproved {
		return nil, refused("job %s waits for no approval: it is %s", id, h.State)
	}
	if err := h.Add(e); err != nil {
		return nil, err
	}
	if err := q.wake(ctx, &h.Job); err != nil { // first: a wake-up without an answer is dropped in its time
		return nil, err
	}
	if _, err = q.append(ctx, &h.Job, h.last, e); errors.Is(err, ErrFenced) {
		err = refused("job %s was answered or canceled meanwhile", id)
	}
	return &h.Job, err
}

// control is a person's request to the worker of a job.
type control struct {
	Job    string `json:"job"`
	Begun  uint64 `json:"begun"` // of history: a job that was put back since is another matter
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Cancel ends a waiting job, and asks the worker of a leased one to end it. It returns the job as it is then.
func (q *Queue) Cancel(ctx context.Context, id, by, reason string, now time.Time) (*queue.Job, error) {
	for {
		h, err := q.existing(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case h.State.Ended():
			return nil, refused("job %s has ended already: %s", id, h.State)
		case h.State == queue.StateEnqueued, h.State == queue.StateHeld, h.State == queue.StateUnapproved:
			state := h.Job
			e := &queue.Entry{Kind: queue.Canceled, Time: now, By: by, Reason: reason}
			if err := state.Add(e); err != nil {
				return nil, err
			}
			if _, err = q.append(ctx, &state, h.last, e); errors.Is(err, ErrFenced) {
				continue // a worker has taken it meanwhile
			}
			if err == nil {
				err = q.settle(ctx, id, now)
			}
			return &state, err
		}
		return &h.Job, q.set(ctx, "mm.ctl."+id, control{Job: id, Begun: h.begun, By: by, Reason: reason}, 0)
	}
}

// asked returns the request to the worker of a job; nil for none.
func (q *Queue) asked(ctx context.Context, h *history) (*control, error) {
	c := &control{}
	at, err := q.last(ctx, q.control, controlStream, "mm.ctl."+h.ID, c)
	if err != nil || at == 0 || c.Begun != h.begun {
		return nil, err
	}
	return c, nil
}

// Retry puts a failed, canceled or dead job back into its queue.
func (q *Queue) Retry(ctx context.Context, id, by, reason string, now time.Time) (*queue.Job, error) {
	h, err := q.existing(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case h.State == queue.StateCompleted:
		return nil, refused("job %s has passed, and there is nothing to do again", id)
	case h.State.Ended():
		e := &queue.Entry{Kind: queue.Enqueued, Time: now, By: by, Reason: reason}
		if err := errors.Join(h.Add(e), q.checkAfter(ctx, h.After)); err != nil {
			return nil, err
		}
		if s := h.Spec(); s.Singleton != nil {
			alone := *s
			alone.Singleton = &queue.Singleton{Key: s.Singleton.Key, Overlap: queue.OverlapSkip}
			if other, _, err := q.single(ctx, &alone, now); err != nil || other != nil {
				if err == nil {
					err = refused("job %s of the same singleton, %s, is %s; cancel it first", other.ID, s.Singleton.Key,
						other.State)
				}
				return nil, err
			}
		}
		if _, err := q.append(ctx, &h.Job, h.last, e); err != nil {
			return nil, err
		}
	case h.State != queue.StateEnqueued && h.State != queue.StateHeld:
		return nil, refused("job %s is %s; cancel it first", id, h.State)
	}
	// Also for a waiting job: the process that retried it may have been killed before this.
	if err := q.ready(ctx, &h.Job, now); err != nil || h.State != queue.StateHeld {
		return &h.Job, err
	}
	return q.free(ctx, id, now)
}

// beat tells the other workers that the one of a job is alive.
func (q *Queue) beat(job string) { _ = q.nc.PublishMsg(&nats.Msg{Subject: "mm.hb." + job}) }

package jetstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

// A job that waits for others is held: it has entries, but no wake-up. While it is held, there is a message
// mm.dep.OTHER.JOB for each of the others. The process that ends a job checks the jobs that this one holds before it
// removes the wake-up of the ended job; if it is killed in between, the next worker that gets that wake-up does the
// same. Actions of people may have no wake-up, and if a server of a cluster lags behind, two jobs that end at once may
// each see the other one still running. Workers therefore check all messages from time to time.
//
// A far-future schedule for each job would do the same, but could not be listed, nor name what it waits for.

// hold records that a job waits for others.
func (q *Queue) hold(ctx context.Context, others []string, job string, now time.Time) error {
	for _, other := range others {
		if err := q.set(ctx, "mm.dep."+other+"."+job, now, 0); err != nil {
			return err
		}
	}
	return nil
}

// checkAfter returns an error for jobs that do not exist or cannot complete.
func (q *Queue) checkAfter(ctx context.Context, after []string) error {
	seen, err := q.States(ctx, after)
	if err != nil {
		return err
	}
	return q.completes(ctx, after, seen)
}

// completes is checkAfter for states that may come from a lagging server: a job that is missing there, or has ended,
// may have been submitted or retried since.
func (q *Queue) completes(ctx context.Context, after []string, seen map[string]queue.Job) (err error) {
	for _, id := range after {
		job, ok := seen[id]
		if !ok || job.State.Ended() && job.State != queue.StateCompleted {
			if job, ok, err = q.Current(ctx, id); err != nil {
				return err
			}
		}
		switch {
		case !ok:
			return NoJob(id)
		case job.State.Ended() && job.State != queue.StateCompleted:
			err := refused("job %s is %s, and what comes after it would never run", id, job.State)
			err.Hint = "put it back first: markmill queue retry " + id + " --reason …"
			return err
		}
	}
	return nil
}

// settle checks the jobs that wait for an ended one, those that wait for them, and so on.
func (q *Queue) settle(ctx context.Context, job string, now time.Time) error {
	for ended := []string{job}; len(ended) > 0; ended = ended[1:] {
		err := each(ctx, q, "mm.dep."+ended[0]+".*", func(msg *jetstream.RawStreamMsg, since time.Time) error {
			id := jobOf(msg.Subject)
			job, err := q.free(ctx, id, now)
			if err != nil {
				return err
			}
			if job == nil {
				if now.Sub(since) < orphaned {
					return nil // it is being submitted, perhaps
				}
				return q.drop(ctx, msg.Subject)
			}
			if job.State.Ended() {
				ended = append(ended, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// free puts a held job into its queue if the jobs it waits for have completed, and cancels it if they cannot. It
// returns the job as it is then; nil if there is none.
func (q *Queue) free(ctx context.Context, id string, now time.Time) (*queue.Job, error) {
	h, err := q.read(ctx, id)
	if err != nil || h == nil {
		return nil, err
	}
	if h.State == queue.StateHeld {
		seen, err := q.States(ctx, h.After)
		if err != nil {
			return nil, err
		}
		e, err := q.waited(ctx, &h.Job, seen, now)
		if e == nil || err != nil {
			return &h.Job, err
		}
		e.Time = now
		if err := h.Add(e); err != nil {
			return nil, err
		}
		if _, err := q.append(ctx, &h.Job, h.last, e); err != nil {
			return &h.Job, ignoreFence(err) // who was quicker does the rest
		}
	}
	if h.State == queue.StateEnqueued { // also when whoever wrote that was killed before this
		if err := q.wake(ctx, &h.Job); err != nil {
			return nil, err
		}
	}
	return &h.Job, q.drop(ctx, "mm.dep.*."+id)
}

// waited returns the entry that ends the waiting of a job; nil while it must wait. The states may come from a lagging
// server, where only "completed" is certain.
func (q *Queue) waited(ctx context.Context, job *queue.Job, seen map[string]queue.Job, now time.Time) (
	e *queue.Entry, err error) {
	all := true
	for _, id := range job.After {
		other, ok := seen[id]
		if !all && ok && !other.State.Ended() {
			continue
		}
		if other.State != queue.StateCompleted {
			if other, ok, err = q.Current(ctx, id); err != nil {
				return nil, err
			}
		}
		switch {
		case !ok:
			return &queue.Entry{Kind: queue.Canceled, Reason: "job " + id + ", which it came after, was removed"}, nil
		case !other.State.Ended():
			all = false
		case other.State != queue.StateCompleted:
			why := fmt.Sprintf("job %s, which it came after, is %s", id, other.State)
			if other.Reason != "" {
				why += ": " + other.Reason
			}
			return &queue.Entry{Kind: queue.Canceled, Reason: why}, nil
		}
	}
	if all && job.Behind != "" {
		if all, err = q.behind(ctx, job, now); err != nil {
			return nil, err
		}
	}
	if !all {
		return nil, nil
	}
	return &queue.Entry{Kind: queue.Freed}, nil
}

// holds returns the jobs that hold one.
func (q *Queue) holds(ctx context.Context, job *queue.Job) (words []string, err error) {
	jobs, err := q.States(ctx, job.Before())
	for _, id := range job.Before() {
		if other := jobs[id]; other.State != queue.StateCompleted {
			words = append(words, "job "+id+", which it comes after, is "+string(other.State))
		}
	}
	return words, err
}

// behind reports whether the job before one of a singleton has ended. Where that one ended without having run, the one
// before it counts.
func (q *Queue) behind(ctx context.Context, job *queue.Job, now time.Time) (bool, error) {
	for before := job.Behind; before != ""; {
		other, ok, err := q.Current(ctx, before)
		if err != nil {
			return false, err
		}
		switch {
		case ok && !other.State.Ended() && before == job.Behind:
			return false, nil
		case ok && !other.State.Ended():
			return false, q.hold(ctx, []string{before}, job.ID, now)
		case ok && other.Attempts == 0:
			before = other.Behind
		default:
			before = ""
		}
	}
	return true, nil
}

// maxHeld bounds the messages that a sweep looks through.
const maxHeld = 100_000

// sweep settles what a process that was killed left, and what was seen too early.
func (q *Queue) sweep(ctx context.Context, now time.Time) error {
	msgs, _, err := q.browse(ctx, stateStream, jetstream.ConsumerConfig{FilterSubject: "mm.dep.*.*"}, 0, maxHeld)
	if err != nil {
		return err
	}
	held := map[string][]string{} // by the job that each waits for
	for _, msg := range msgs {
		part := strings.Split(msg.Subject(), ".")
		held[part[2]] = append(held[part[2]], part[3])
	}
	failed, waits := map[string]bool{}, map[string]bool{} // what others wait for, and what waits for one that runs
	for some := range slices.Chunk(slices.Sorted(maps.Keys(held)), 500) {
		jobs, err := q.States(ctx, some)
		if err != nil {
			return err
		}
		for _, id := range some {
			switch job, ok := jobs[id]; {
			case !ok || job.State.Ended() && job.State != queue.StateCompleted:
				failed[id] = true
			case !job.State.Ended():
				for _, one := range held[id] {
					waits[one] = true
				}
			}
		}
	}
	for id, those := range held {
		if failed[id] || slices.ContainsFunc(those, func(one string) bool { return !waits[one] }) {
			if err := q.settle(ctx, id, now); err != nil {
				return err
			}
		}
	}
	return nil
}

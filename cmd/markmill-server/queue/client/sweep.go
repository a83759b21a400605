package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"markmill/engine/queue"
)

// rows are the jobs of a sweep that have not ended.
type rows struct {
	mutex   sync.Mutex
	waiting map[string]chan<- queue.RowEnd // by job
}

// pollRows is how often the states of all jobs are requested.
const pollRows = 200 * time.Millisecond

// SubmitRow submits a row of a sweep, unless an earlier process of the sweep has. The channel gets how the job ended
// once its record is here, if FollowRows is at work. The job outlives this process.
func (c *Client) SubmitRow(ctx context.Context, spec *queue.Spec) <-chan queue.RowEnd {
	ended := make(chan queue.RowEnd, 1)
	job, made, err := c.enqueue(ctx, spec)
	if err == nil && !made && job.State == queue.StateCanceled {
		_, err = c.Queue.Retry(ctx, spec.ID, c.User, "the sweep goes on", time.Now().UTC())
	}
	switch {
	case err != nil:
		ended <- queue.RowEnd{Err: err}
	case job.ID != spec.ID: // another one of the singleton goes on
		ended <- queue.RowEnd{State: queue.StateCanceled, Reason: fmt.Sprintf("it was not submitted: job %s of the "+
			"singleton %s is %s", job.ID, spec.Singleton.Key, job.State)}
	default:
		c.rows.mutex.Lock()
		defer c.rows.mutex.Unlock()
		if c.rows.waiting == nil {
			c.rows.waiting = map[string]chan<- queue.RowEnd{}
		}
		c.rows.waiting[spec.ID] = ended
	}
	return ended
}

// pending are the jobs whose end is not known, sorted.
func (r *rows) pending() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Sorted(maps.Keys(r.waiting))
}

// end says how a job has ended.
func (r *rows) end(job string, end queue.RowEnd) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.waiting[job] <- end // there is room for one
	delete(r.waiting, job)
}

// FollowRows fetches the records of rows that have ended, until ctx ends.
func (c *Client) FollowRows(ctx context.Context) {
	tick := time.NewTicker(pollRows)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for ids := range slices.Chunk(c.rows.pending(), 500) {
			jobs, err := c.Queue.States(ctx, ids)
			for _, id := range ids {
				if job, found := jobs[id]; found && job.State.Ended() {
					c.rows.end(id, c.fetchRow(ctx, id))
				} else if err != nil && ctx.Err() == nil {
					c.rows.end(id, queue.RowEnd{Err: err})
				}
			}
		}
	}
}

func (c *Client) fetchRow(ctx context.Context, id string) (end queue.RowEnd) {
	h, err := c.Queue.Job(ctx, id)
	if err != nil {
		return queue.RowEnd{Err: err}
	}
	end = queue.RowEnd{State: h.State, Reason: h.Reason}
	end.Run, end.Err = c.fetch(ctx, h)
	return end
}

// CancelRows cancels the rows that have not ended.
func (c *Client) CancelRows(ctx context.Context, why string) {
	for _, id := range c.rows.pending() {
		if _, err := c.Queue.Cancel(ctx, id, c.User, why, time.Now().UTC()); err != nil {
			c.tell("job %s: %s", id, err) // it may have ended meanwhile
		}
	}
}

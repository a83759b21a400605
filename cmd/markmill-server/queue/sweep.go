package queue

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// rows is a sweep whose rows are jobs. It reads requests as lines of RowCall from standard input, and prints a line of
// RowEnd for each ended row once its record is here.
type rows struct {
	*Client
	pending map[string]*queue.Spec
}

// pollRows is how often the states of all jobs are requested.
const pollRows = 200 * time.Millisecond

// Rows ends when its input ends, and ignores signals, which are for its parent. The jobs outlive both.
func (c *Client) Rows(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	r := &rows{Client: c, pending: map[string]*queue.Spec{}}
	calls, failed := make(chan queue.RowCall), make(chan error, 1)
	go func() {
		for lines := bufio.NewReader(c.stdin); ; {
			line, err := lines.ReadBytes('\n')
			var call queue.RowCall
			if err == nil {
				err = codec.Unmarshal(line, &call)
			}
			if err != nil {
				failed <- err
				return
			}
			calls <- call
		}
	}()
	tick := time.NewTicker(pollRows)
	defer tick.Stop()
	for {
		select {
		case err := <-failed:
			if err == io.EOF {
				err = nil
			}
			return err
		case call := <-calls:
			if call.Spec == nil {
				return r.cancelAll(ctx, call.Cancel)
			}
			if err := r.begin(ctx, call.Spec); err != nil {
				if err := r.say(queue.RowEnd{Job: call.Spec.ID, Error: err.Error()}); err != nil {
					return err
				}
			}
		case <-tick.C:
			if err := r.poll(ctx); err != nil {
				return err
			}
		}
	}
}

// begin submits a row, unless an earlier process of the sweep has.
func (r *rows) begin(ctx context.Context, spec *queue.Spec) error {
	job, made, err := r.enqueue(ctx, spec)
	if err == nil && !made && job.State == queue.StateCanceled {
		_, err = r.Queue.Retry(ctx, spec.ID, r.User, "the sweep goes on", time.Now().UTC())
	}
	switch {
	case err != nil:
	case job.ID != spec.ID: // another one of the singleton goes on
		why := fmt.Sprintf("it was not submitted: job %s of the singleton %s is %s", job.ID, spec.Singleton.Key,
			job.State)
		return r.say(queue.RowEnd{Job: spec.ID, State: queue.StateCanceled, Reason: why})
	default:
		r.pending[spec.ID] = spec
	}
	return err
}

// poll fetches the records of rows that have ended.
func (r *rows) poll(ctx context.Context) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(r.pending)), 500) {
		jobs, err := r.Queue.States(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if job, ok := jobs[id]; !ok || !job.State.Ended() {
				continue
			}
			delete(r.pending, id)
			if err := r.say(r.fetchRow(ctx, id)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rows) fetchRow(ctx context.Context, id string) queue.RowEnd {
	h, err := r.Queue.Job(ctx, id)
	if err != nil {
		return queue.RowEnd{Job: id, Error: err.Error()}
	}
	end := queue.RowEnd{Job: id, State: h.State, Reason: h.Reason}
	if end.Run, err = r.fetch(ctx, h); err != nil {
		end.Error = err.Error()
	}
	return end
}

func (r *rows) say(end queue.RowEnd) error {
	line, err := codec.Marshal(end)
	if err == nil {
		_, err = fmt.Fprintf(r.stdout, "%s\n", line)
	}
	return err
}

// cancelAll cancels the rows that have not ended.
func (r *rows) cancelAll(ctx context.Context, why string) error {
	for id := range r.pending {
		if _, err := r.Queue.Cancel(ctx, id, r.User, why, time.Now().UTC()); err != nil {
			r.tell("job %s: %s", id, err) // it may have ended meanwhile
		}
	}
	return nil
}

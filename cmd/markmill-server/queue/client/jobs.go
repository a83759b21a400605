package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/render/plain"
	"markmill/runs"
)

// Submit puts a job into its queue. It returns the exit code: that of its run if it waits for it.
func (c *Client) Submit(ctx context.Context, spec *queue.Spec, o queue.SubmitOptions) (int, error) {
	job, made, err := c.enqueue(ctx, spec)
	if err != nil {
		return 0, err
	}
	switch {
	case made && job.State == queue.StateHeld:
		c.tell("job %s waits in the queue %s, %s", job.ID, job.Queue, waiting(job))
	case made:
		c.tell("job %s waits in the queue %s", job.ID, job.Queue)
	case job.ID != spec.ID && spec.Singleton.Overlap == queue.OverlapSteer:
		c.tell("job %s of the singleton %s runs, and its agent was told the parameters; nothing was submitted", job.ID,
			spec.Singleton.Key)
	case job.ID != spec.ID:
		c.tell("job %s of the singleton %s is %s; nothing was submitted", job.ID, spec.Singleton.Key, job.State)
	default:
		c.tell("job %s was submitted before, and is %s", job.ID, job.State)
	}
	switch {
	case o.Wait || o.Follow:
		return c.wait(ctx, job.ID, o)
	case o.JSON:
		return exitPass, c.Show(ctx, job.ID, true)
	}
	_, err = fmt.Fprintln(c.stdout, job.ID)
	return exitPass, err
}

// wait waits for the end of the job, fetches its record and returns the exit code of its run.
func (c *Client) wait(ctx context.Context, id string, o queue.SubmitOptions) (int, error) {
	var entries []queue.Entry
	err := c.Queue.Follow(ctx, id, func(job *queue.Job, e *queue.Entry) error {
		switch {
		case o.Follow:
			c.line(job, e)
		case e.Kind == queue.Asked:
			c.tell("job %s waits: %s", job.ID, e.Reason)
		}
		entries = append(entries, *e)
		return nil
	})
	if err != nil {
		return 0, err
	}
	h, err := queue.Fold(entries)
	if err == nil && h.State == queue.StateRemoved {
		h, err = c.Queue.Job(ctx, id) // which says that there is none
	}
	if err != nil {
		return 0, err
	}
	return c.fetched(ctx, h, o.JSON)
}

// Follow prints the entries of a job as they come, until it has ended.
func (c *Client) Follow(ctx context.Context, id string) error {
	return c.Queue.Follow(ctx, id, func(job *queue.Job, e *queue.Entry) error { c.line(job, e); return nil })
}

// line prints an entry for people, if it is a claim, a step or an end.
func (c *Client) line(job *queue.Job, e *queue.Entry) {
	words := string(e.Kind)
	switch {
	case e.Kind == queue.Recorded && e.Step == "":
		return
	case e.Kind == queue.Recorded:
		words = "step " + e.Step
	case e.Kind == queue.Claimed:
		words += " by " + e.Worker
	}
	if e.By != "" {
		words += " by " + e.By
	}
	if e.Reason != "" {
		words += ": " + e.Reason
	}
	fmt.Fprintf(c.stdout, "%s  %s  %s\n", e.Time.Local().Format(time.TimeOnly),
		plain.OneLine(job.ID), plain.OneLine(words))
}

// Fetch fetches the record of an ended job, and returns the exit code of its run.
func (c *Client) Fetch(ctx context.Context, id string, asJSON bool) (int, error) {
	h, err := c.Queue.Job(ctx, id)
	if err != nil {
		return 0, err
	}
	return c.fetched(ctx, h, asJSON)
}

func (c *Client) fetched(ctx context.Context, h *queue.History, asJSON bool) (int, error) {
	if !h.State.Ended() {
		c.tell("job %s has not ended: it is %s", h.ID, h.State)
		return exitFail, nil
	}
	id, err := c.fetch(ctx, h)
	if err != nil {
		return 0, err
	}
	switch {
	case id == "":
		c.tell("job %s %s, and left no record: %s", h.ID, h.State, h.Reason)
	case h.Reason != "":
		c.tell("job %s %s: %s; its record is %s", h.ID, h.State, h.Reason, runs.Store{Dir: c.Store}.Path(id))
	default:
		c.tell("job %s %s; its record is %s", h.ID, h.State, runs.Store{Dir: c.Store}.Path(id))
	}
	if asJSON {
		if err := c.print("job", h.Show()); err != nil {
			return 0, err
		}
	}
	switch {
	case h.State == queue.StateCompleted:
		return exitPass, nil
	case h.Status == runs.Blocked:
		return exitBlocked, nil
	}
	return exitFail, nil
}

// Verify names the messages in the queue that no program of Markmill wrote, or removes them.
func (c *Client) Verify(ctx context.Context, mend bool) (int, error) {
	if _, _, err := c.Queue.List(ctx, queue.Filter{Limit: 1}); err != nil { // it reads all of them
		return 0, err
	}
	found, what := c.Queue.Foreign(), "found"
	if mend {
		var err error
		if found, err = c.Queue.Mend(ctx, c.User, time.Now().UTC()); err != nil {
			return 0, err
		}
		what = "removed"
	}
	for _, m := range found {
		c.tell("%s: %s, message %s of %s", what, m.Subject, strconv.FormatUint(m.Sequence, 10), m.Stream)
	}
	c.tell("%s %s that no program of Markmill wrote", plain.Counted(len(found), "message"), what)
	if len(found) > 0 && !mend {
		return exitFail, nil
	}
	return exitPass, nil
}

// Last returns the id of the job that List shows first.
func (c *Client) Last(ctx context.Context) (string, error) {
	jobs, _, err := c.Queue.List(ctx, queue.Filter{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(jobs) == 0 {
		return "", jetstream.NoJob("last")
	}
	return jobs[0].ID, nil
}

// List prints jobs.
func (c *Client) List(ctx context.Context, f queue.Filter, asJSON bool) error {
	jobs, total, err := c.Queue.List(ctx, f)
	if err != nil {
		return err
	}
	doc := queue.List{Jobs: append([]queue.Job{}, jobs...), Total: total}
	if doc.Paused, err = c.Queue.Paused(ctx); err != nil {
		return err
	}
	doc.Foreign = c.Queue.Foreign()
	if asJSON {
		return c.print("jobs", doc)
	}
	for _, m := range doc.Foreign {
		c.tell("skipped: %s, message %s of %s, which no program of Markmill wrote; queue verify --mend removes it",
			m.Subject, strconv.FormatUint(m.Sequence, 10), m.Stream)
	}
	for _, one := range doc.Paused {
		c.tell("the queue %s is paused, by %s at %s: %s", one.Queue, one.By, one.Time.Local().Format(time.DateTime),
			one.Reason)
	}
	if len(doc.Jobs) == 0 {
		c.tell("no jobs")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tSTATE\tQUEUE\tNOTEBOOK\tCHANGED\tSAYS")
	for _, job := range doc.Jobs {
		says := job.Reason
		if job.Step != "" {
			says = "step " + job.Step
		}
		if (job.State == queue.StateEnqueued || job.State == queue.StateHeld) && says == "" {
			says = waiting(&job)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", plain.OneLine(job.ID), job.State, plain.OneLine(job.Queue),
			plain.OneLine(job.Notebook), job.Changed.Local().Format(time.DateTime), plain.Cut(plain.OneLine(says), 80))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch more := doc.Total - len(doc.Jobs); {
	case f.Notebook != "":
		c.tell("looked through the newest %d of %d jobs", min(doc.Total, jetstream.MostRead), doc.Total)
	case more > 0:
		c.tell("%d more; --limit shows up to 500", more)
	}
	return nil
}

// waiting returns the reason why a job waits.
func waiting(job *queue.Job) string {
	var words []string
	if len(job.After) > 0 && job.State == queue.StateHeld {
		words = append(words, "after "+strings.Join(job.After, ", "))
	}
	if job.Behind != "" && job.State == queue.StateHeld {
		words = append(words, "when "+job.Behind+" has ended")
	}
	if job.Priority != queue.Normal {
		words = append(words, string(job.Priority)+" priority")
	}
	if len(job.Labels) > 0 {
		words = append(words, "for a worker with "+strings.Join(job.Labels, ", "))
	}
	return strings.Join(words, ", ")
}

// Document is what happened to a job.
func (c *Client) Document(ctx context.Context, id string) (doc queue.Shown, err error) {
	h, err := c.Queue.Job(ctx, id)
	if err != nil {
		return doc, err
	}
	doc = h.Show()
	if doc.Waits, err = c.Queue.Waits(ctx, &h.Job, time.Now()); err == nil && h.State == queue.StateUnapproved {
		doc.Asked, err = c.request(ctx, h)
	}
	return doc, err
}

// Show prints what happened to a job.
func (c *Client) Show(ctx context.Context, id string, asJSON bool) error {
	if asJSON {
		doc, err := c.Document(ctx, id)
		if err != nil {
			return err
		}
		return c.print("job", doc)
	}
	h, err := c.Queue.Job(ctx, id)
	if err != nil {
		return err
	}
	waits, err := c.Queue.Waits(ctx, &h.Job, time.Now())
	if err != nil {
		return err
	}
	state := queue.Job{}
	for i := range h.Entries {
		if err := state.Add(&h.Entries[i]); err != nil {
			return err
		}
		c.line(&state, &h.Entries[i])
	}
	c.tell("job %s: %s, queue %s, attempts %d", h.ID, h.State, h.Queue, h.Attempts)
	for _, why := range waits {
		c.tell("it waits: %s", why)
	}
	return nil
}

// Cancel cancels a job, or has its worker end it.
func (c *Client) Cancel(ctx context.Context, id, reason string) error {
	job, err := c.Queue.Cancel(ctx, id, c.User, reason, time.Now().UTC())
	if err != nil {
		return err
	}
	if job.State == queue.StateCanceled {
		c.tell("job %s is canceled", id)
	} else {
		c.tell("its worker, %s, ends job %s", job.Worker, id)
	}
	return nil
}

// Retry puts a job back into its queue.
func (c *Client) Retry(ctx context.Context, id, reason string) error {
	job, err := c.Queue.Retry(ctx, id, c.User, reason, time.Now().UTC())
	if err != nil {
		return err
	}
	c.tell("job %s waits in the queue %s again", job.ID, job.Queue)
	return nil
}

// Pause keeps workers from taking jobs of a queue.
func (c *Client) Pause(ctx context.Context, name, reason string) error {
	err := c.Queue.Pause(ctx, queue.Pause{Queue: name, By: c.User, Reason: reason, Time: time.Now().UTC()})
	if err == nil {
		c.tell("no worker takes a job of the queue %s; those that run go on", name)
	}
	return err
}

// Resume lets them take jobs again.
func (c *Client) Resume(ctx context.Context, name string) error {
	was, err := c.Queue.Resume(ctx, name)
	if err == nil {
		c.tell("workers take jobs of the queue %s again, which %s had paused: %s", name, was.By, was.Reason)
	}
	return err
}

// Steer tells the agent that works on a job something.
func (c *Client) Steer(ctx context.Context, id, text string) error {
	err := c.Queue.Steer(ctx, id, c.User, text)
	if err == nil {
		c.tell("it was left for the agent of job %s", id)
	}
	return err
}

// Prune removes jobs that ended longer ago, but for the newest so many.
func (c *Client) Prune(ctx context.Context, age time.Duration, keep int) error {
	now := time.Now().UTC()
	did, err := c.Queue.Prune(ctx, now.Add(-age), keep, c.User, now)
	err = errors.Join(err, c.forgetOutputs(ctx))
	c.tell("%s removed, and %d KiB of files", plain.Counted(did.Jobs, "job"), int(did.Bytes>>10))
	return err
}

package queue

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

func (p *program) submit(ctx context.Context) (int, error) {
	if p.Server.URL != "" { // workers elsewhere have no repository that has the commit
		if err := p.sendBase(ctx); err != nil {
			return 0, err
		}
	}
	job, made, err := p.q.Submit(ctx, p.Spec, time.Now().UTC())
	if err == nil && job.ID == p.Spec.ID {
		err = p.noteOutput(p.Spec)
	}
	if err != nil {
		return 0, err
	}
	switch {
	case made && job.State == queue.StateHeld:
		p.tell("job %s waits in the queue %s, %s", job.ID, job.Queue, waiting(job))
	case made:
		p.tell("job %s waits in the queue %s", job.ID, job.Queue)
	case job.ID != p.Spec.ID && p.Spec.Singleton.Overlap == queue.OverlapSteer:
		p.tell("job %s of the singleton %s runs, and its agent was told the parameters; nothing was submitted", job.ID,
			p.Spec.Singleton.Key)
	case job.ID != p.Spec.ID:
		p.tell("job %s of the singleton %s is %s; nothing was submitted", job.ID, p.Spec.Singleton.Key, job.State)
	default:
		p.tell("job %s was submitted before, and is %s", job.ID, job.State)
	}
	p.ID = job.ID
	switch {
	case p.Wait || p.Follow:
		return p.wait(ctx)
	case p.JSON:
		return p.show(ctx)
	}
	_, err = fmt.Fprintln(p.stdout, job.ID)
	return exitPass, err
}

// wait waits for the end of the job, fetches its record and returns the exit code of its run.
func (p *program) wait(ctx context.Context) (int, error) {
	var entries []queue.Entry
	err := p.q.Follow(ctx, p.ID, func(job *queue.Job, e *queue.Entry) error {
		switch {
		case p.Follow:
			p.line(job, e)
		case e.Kind == queue.Asked:
			p.tell("job %s waits: %s", job.ID, e.Reason)
		}
		entries = append(entries, *e)
		return nil
	})
	if err != nil {
		return 0, err
	}
	h, err := queue.Fold(entries)
	if err == nil && h.State == queue.StateRemoved {
		h, err = p.q.Job(ctx, p.ID) // which says that there is none
	}
	if err != nil {
		return 0, err
	}
	return p.fetched(ctx, h)
}

func (p *program) follow(ctx context.Context) (int, error) {
	return exitPass, p.q.Follow(ctx, p.ID, func(job *queue.Job, e *queue.Entry) error { p.line(job, e); return nil })
}

// line prints an entry for people, if it is a claim, a step or an end.
func (p *program) line(job *queue.Job, e *queue.Entry) {
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
	fmt.Fprintf(p.stdout, "%s  %s  %s\n", e.Time.Local().Format(time.TimeOnly),
		plain.OneLine(job.ID), plain.OneLine(words))
}

// fetchJob fetches the record of an ended job, and returns the exit code of its run.
func (p *program) fetchJob(ctx context.Context) (int, error) {
	h, err := p.q.Job(ctx, p.ID)
	if err != nil {
		return 0, err
	}
	return p.fetched(ctx, h)
}

func (p *program) fetched(ctx context.Context, h *queue.History) (int, error) {
	if !h.State.Ended() {
		p.tell("job %s has not ended: it is %s", h.ID, h.State)
		return exitFail, nil
	}
	id, err := p.fetch(ctx, h)
	if err != nil {
		return 0, err
	}
	switch {
	case id == "":
		p.tell("job %s %s, and left no record: %s", h.ID, h.State, h.Reason)
	case h.Reason != "":
		p.tell("job %s %s: %s; its record is %s", h.ID, h.State, h.Reason, runs.Store{Dir: p.Store}.Path(id))
	default:
		p.tell("job %s %s; its record is %s", h.ID, h.State, runs.Store{Dir: p.Store}.Path(id))
	}
	if p.JSON {
		if err := p.print("job", h.Show()); err != nil {
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

// verify names the messages in the queue that no program of Markmill wrote, or removes them.
func (p *program) verify(ctx context.Context) (int, error) {
	if _, _, err := p.q.List(ctx, queue.Filter{Limit: 1}); err != nil { // it reads all of them
		return 0, err
	}
	found, what := p.q.Foreign(), "found"
	if p.Mend {
		var err error
		if found, err = p.q.Mend(ctx, p.User, time.Now().UTC()); err != nil {
			return 0, err
		}
		what = "removed"
	}
	for _, f := range found {
		p.tell("%s: %s, message %s of %s", what, f.Subject, strconv.FormatUint(f.Sequence, 10), f.Stream)
	}
	p.tell("%s %s that no program of Markmill wrote", plain.Counted(len(found), "message"), what)
	if len(found) > 0 && !p.Mend {
		return exitFail, nil
	}
	return exitPass, nil
}

func (p *program) list(ctx context.Context) (int, error) {
	jobs, total, err := p.q.List(ctx, p.Filter)
	if err != nil {
		return 0, err
	}
	doc := queue.List{Jobs: append([]queue.Job{}, jobs...), Total: total}
	if doc.Paused, err = p.q.Paused(ctx); err != nil {
		return 0, err
	}
	doc.Foreign = p.q.Foreign()
	if p.JSON {
		return exitPass, p.print("jobs", doc)
	}
	for _, f := range doc.Foreign {
		p.tell("skipped: %s, message %s of %s, which no program of Markmill wrote; queue verify --mend removes it",
			f.Subject, strconv.FormatUint(f.Sequence, 10), f.Stream)
	}
	for _, one := range doc.Paused {
		p.tell("the queue %s is paused, by %s at %s: %s", one.Queue, one.By, one.Time.Local().Format(time.DateTime),
			one.Reason)
	}
	if len(doc.Jobs) == 0 {
		p.tell("no jobs")
		return exitPass, nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
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
		return 0, err
	}
	switch more := doc.Total - len(doc.Jobs); {
	case p.Filter.Notebook != "":
		p.tell("looked through the newest %d of %d jobs", min(doc.Total, jetstream.MostRead), doc.Total)
	case more > 0:
		p.tell("%d more; --limit shows up to 500", more)
	}
	return exitPass, nil
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

func (p *program) show(ctx context.Context) (int, error) {
	h, err := p.q.Job(ctx, p.ID)
	if err != nil {
		return 0, err
	}
	waits, err := p.q.Waits(ctx, &h.Job, time.Now())
	if err != nil {
		return 0, err
	}
	if p.JSON {
		doc := h.Show()
		doc.Waits = waits
		if h.State == queue.StateUnapproved {
			if doc.Asked, err = p.request(ctx, h); err != nil {
				return 0, err
			}
		}
		return exitPass, p.print("job", doc)
	}
	state := queue.Job{}
	for i := range h.Entries {
		if err := state.Add(&h.Entries[i]); err != nil {
			return 0, err
		}
		p.line(&state, &h.Entries[i])
	}
	p.tell("job %s: %s, queue %s, attempts %d", h.ID, h.State, h.Queue, h.Attempts)
	for _, why := range waits {
		p.tell("it waits: %s", why)
	}
	return exitPass, nil
}

func (p *program) cancel(ctx context.Context) (int, error) {
	job, err := p.q.Cancel(ctx, p.ID, p.User, p.Reason, time.Now().UTC())
	if err != nil {
		return 0, err
	}
	if job.State == queue.StateCanceled {
		p.tell("job %s is canceled", p.ID)
	} else {
		p.tell("its worker, %s, ends job %s", job.Worker, p.ID)
	}
	return exitPass, nil
}

func (p *program) retry(ctx context.Context) (int, error) {
	job, err := p.q.Retry(ctx, p.ID, p.User, p.Reason, time.Now().UTC())
	if err != nil {
		return 0, err
	}
	p.tell("job %s waits in the queue %s again", job.ID, job.Queue)
	return exitPass, nil
}

func (p *program) pause(ctx context.Context) (int, error) {
	err := p.q.Pause(ctx, queue.Pause{Queue: p.ID, By: p.User, Reason: p.Reason, Time: time.Now().UTC()})
	if err == nil {
		p.tell("no worker takes a job of the queue %s; those that run go on", p.ID)
	}
	return exitPass, err
}

func (p *program) resume(ctx context.Context) (int, error) {
	was, err := p.q.Resume(ctx, p.ID)
	if err == nil {
		p.tell("workers take jobs of the queue %s again, which %s had paused: %s", p.ID, was.By, was.Reason)
	}
	return exitPass, err
}

func (p *program) steer(ctx context.Context) (int, error) {
	err := p.q.Steer(ctx, p.ID, p.User, p.Text)
	if err == nil {
		p.tell("it was left for the agent of job %s", p.ID)
	}
	return exitPass, err
}

func (p *program) prune(ctx context.Context) (int, error) {
	now := time.Now().UTC()
	did, err := p.q.Prune(ctx, now.Add(-time.Duration(p.AgeNS)), p.Keep, p.User, now)
	err = errors.Join(err, p.forgetOutputs(ctx))
	p.tell("%s removed, and %d KiB of files", plain.Counted(did.Jobs, "job"), int(did.Bytes>>10))
	return exitPass, err
}

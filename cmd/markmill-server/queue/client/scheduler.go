package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/schedules"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// scheduler submits the scheduled notebooks of the repository around it when they are due.
type scheduler struct {
	*Client
	queue  string // that the jobs go to
	repo   *worktree.Source
	scope  string
	states *jetstream.Schedules
	now    func() time.Time
	submit func(ctx context.Context, n *schedules.Notebook, r *schedule.Run) error // starts markmill queue submit

	list  []schedules.Notebook
	found time.Time // when list was made
}

const (
	leadTime   = 30 * time.Second // for which a scheduler that says nothing keeps the lead
	checkEvery = leadTime / 3
	findEvery  = time.Minute // a notebook whose schedule was saved is seen by then
)

// jobOf returns the id of the job of a due time. It is the same for every scheduler, so the job is submitted once.
func jobOf(key string, due time.Time) string { return key + "-" + due.UTC().Format("20060102T150405Z") }

func (c *Client) newScheduler(ctx context.Context, to string, lead time.Duration) (*scheduler, error) {
	s := &scheduler{Client: c, queue: to, now: time.Now}
	var err error
	if s.repo, err = worktree.Open(c.Root); err != nil {
		return nil, err
	}
	s.scope, s.submit = schedules.Scope(s.repo), s.start
	s.states, err = c.Queue.Schedules(ctx, s.scope, c.Server.Replicas, lead)
	return s, err
}

// Schedule submits what is due to a queue until its context ends.
func (c *Client) Schedule(ctx context.Context, to string) error {
	s, err := c.newScheduler(ctx, to, leadTime)
	if err != nil {
		return err
	}
	return s.run(ctx, checkEvery)
}

// run calls submitDue, at least once in every period, until its context ends.
func (s *scheduler) run(ctx context.Context, every time.Duration) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	who, leads, first := fmt.Sprintf("%s-%d", host, os.Getpid()), false, true
	defer func() { s.states.Resign(context.Background()) }()
	for ctx.Err() == nil {
		has, err := s.states.Lead(ctx, who)
		switch {
		case err != nil:
			s.tell("scheduler: %s", err)
		case has && !leads:
			s.tell("scheduler %s submits what is due in %s; Ctrl-C ends it", who, s.repo.Root())
		case !has && (leads || first):
			s.tell("scheduler %s waits: another one of this repository has the lead", who)
		}
		if leads, first = has, false; leads {
			s.submitDue(ctx, s.now())
		}
		now := s.now()
		wait := now.Truncate(time.Minute).Add(time.Minute).Sub(now) // until something may be due
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, every)):
		}
	}
	return nil
}

// submitDue decides for each notebook what is due. A mistake in one does not keep the others from running.
func (s *scheduler) submitDue(ctx context.Context, now time.Time) {
	if err := schedules.Beat(runs.Store{Dir: s.Store}, "markmill schedule serve", now); err != nil {
		s.tell("scheduler: %s", err)
	}
	if s.found.IsZero() || now.Sub(s.found).Abs() >= findEvery {
		list, err := schedules.Find(ctx, s.repo)
		if err != nil {
			s.tell("scheduler: %s", err)
			return
		}
		for _, n := range list {
			if n.Err != nil {
				s.tell("scheduler: %s", n.Err)
			}
		}
		s.list, s.found = list, now
	}
	for i := range s.list {
		if n := &s.list[i]; n.Err == nil && ctx.Err() == nil {
			if err := s.step(ctx, n, now); err != nil {
				s.tell("scheduler: %s: %s", n.Path, err)
			}
		}
	}
}

// step decides for one notebook. The job of a due time is recorded before it is submitted, and a recorded job that is
// not in the queue is submitted again, with the same id.
func (s *scheduler) step(ctx context.Context, n *schedules.Notebook, now time.Time) error {
	key := schedules.Key(s.scope, n.Path)
	ended, err := s.finish(ctx, n, key)
	if err != nil {
		return err
	}
	var submit *schedule.Run
	cancel := ""
	err = s.states.Update(ctx, key, func(st *schedule.State) error {
		submit, cancel, st.Notebook = nil, "", n.Path
		if st.Seen.IsZero() { // it goes on where run-due has ended
			own, err := schedules.Keep(runs.Store{Dir: s.Store}, n.Path).Load()
			if err != nil {
				return err
			}
			st.Cron, st.Timezone, st.Seen, st.Paused = own.Cron, own.Timezone, own.Seen, own.Paused
		}
		if r := st.Run; r != nil && !r.Ended {
			switch h, err := s.Queue.Find(ctx, r.ID); {
			case err != nil:
				return err
			case h == nil:
				submit = r
				return nil
			case ended != nil && ended.ID == r.ID:
				st.Run = ended
			}
		}
		due, stop := st.Look(n.Schedule, n.Times, now.UTC())
		if stop {
			cancel = st.Run.ID
		}
		if !due.IsZero() {
			submit = &schedule.Run{Due: due, ID: jobOf(key, due)}
			st.Run = submit
		}
		return nil
	})
	switch {
	case err != nil:
	case cancel != "":
		_, err = s.Queue.Cancel(ctx, cancel, "markmill schedule serve", "due again (overlap: cancel)", now.UTC())
		if h, ferr := s.Queue.Find(ctx, cancel); ferr == nil && h != nil && h.State.Ended() {
			err = nil // by itself, meanwhile
		}
	case submit != nil:
		s.tell("%s is due: %s; job %s", n.Path, submit.Due.In(n.Times.Zone).Format(time.RFC3339), submit.ID)
		if err = s.submit(ctx, n, submit); errors.As(err, new(refusal)) {
			err = errors.Join(err, s.states.Update(ctx, key, func(st *schedule.State) error {
				if st.Run != nil && st.Run.ID == submit.ID {
					st.Run.Ended, st.Run.Error = true, err.Error()
				}
				return nil
			}))
		}
	}
	return err
}

// finish fetches the record of an ended job, writes its output and returns how it ended; nil for an unfinished one. It
// is idempotent.
func (s *scheduler) finish(ctx context.Context, n *schedules.Notebook, key string) (*schedule.Run, error) {
	st, err := s.states.Load(ctx, key)
	if err != nil || st.Run == nil || st.Run.Ended {
		return nil, err
	}
	h, err := s.Queue.Find(ctx, st.Run.ID)
	if err != nil || h == nil || !h.State.Ended() {
		return nil, err
	}
	r := *st.Run
	r.Ended, r.Status = true, h.Status
	keep, err := s.mirror(n, st, &r, h)
	if err != nil {
		return nil, err
	}
	if n.Commit == "" { // another checkout may have submitted it
		err = s.noteOutput(&queue.Spec{ID: h.ID, Output: r.Output})
	}
	id := runs.RunID("")
	if err == nil {
		id, err = s.fetch(ctx, h)
	}
	if err == nil && id != "" && n.Commit != "" && h.State == queue.StateCompleted {
		run := r
		run.ID = string(id)
		r.Commit, err = schedules.Commit(ctx, s.Program, s.repo, runs.Store{Dir: s.Store}, n, &run,
			func(oid string) error {
				return keep.Note(func(r *schedule.Run) { r.Commit = oid })
			})
	}
	final := (*notebooks.Error)(nil)
	switch {
	case err == nil && id == "":
		r.Error = h.Reason
	case errors.As(err, &final):
		r.Error = err.Error()
	case err != nil:
		return nil, err // it is tried again
	}
	err = keep.Note(func(now *schedule.Run) { *now = r })
	s.tell("%s: job %s %s", n.Path, h.ID, h.State)
	return &r, err
}

// mirror records in the store what the job is about to write to the repository, for concurrent runs and for markmill
// schedule.
func (s *scheduler) mirror(n *schedules.Notebook, st schedule.State, r *schedule.Run, h *queue.History) (
	*schedules.Keeper, error) {
	eng, _, err := engines.New(s.repo.Root())
	if err != nil {
		return nil, err
	}
	req := h.Spec().Request
	req.ID = h.Run
	if r.Output, err = schedules.OutputOf(n, r, eng, req); err != nil {
		r.Error = err.Error()
	}
	keep := schedules.Keep(runs.Store{Dir: s.Store}, n.Path)
	return keep, keep.Update(func(now *schedule.State) error {
		paused := now.Paused
		*now, now.Run = st, r
		now.Paused = paused
		return nil
	})
}

// refusal is the reason why a notebook cannot be submitted at all.
type refusal struct{ error }

// start submits a job as a person would.
func (s *scheduler) start(ctx context.Context, n *schedules.Notebook, r *schedule.Run) error {
	due := r.Due.In(n.Times.Zone)
	args := []string{"queue", "submit", n.Path}
	if n.Output != "" && n.Commit == "" {
		args = append(args, schedule.Output(n.Schedule, due))
	}
	args = append(args, "--key", r.ID, "--queue", s.queue, "--repo", s.repo.Root())
	if n.Params != "" {
		args = append(args, "-y", schedule.Params(n.Schedule, due))
	}
	for option, value := range map[string]string{"--nats-creds": s.Server.Credentials, "--nats-ca": s.Server.CA,
		"--nats-cert": s.Server.Cert, "--nats-key": s.Server.Key, "--files": s.Server.Files} {
		if value != "" {
			args = append(args, option, value)
		}
	}
	cmd := exec.CommandContext(ctx, s.Program, args...)
	var said strings.Builder
	cmd.Dir, cmd.Stderr = s.repo.Root(), &said
	cmd.Env = append(os.Environ(), "MARKMILL_NATS="+s.Server.URL, "MARKMILL_DIR="+s.Store)
	err := cmd.Run()
	if err != nil {
		words := strings.TrimPrefix(strings.TrimSpace(said.String()), "markmill: ")
		if err = fmt.Errorf("%s", words); cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitUsage {
			err = refusal{err}
		}
	}
	return err
}

// ChangeSchedule makes the schedulers of the queue pause a notebook, or ends the pause.
func (c *Client) ChangeSchedule(ctx context.Context, notebook string, pause bool, reason string) error {
	s, err := c.newScheduler(ctx, "", leadTime)
	if err != nil {
		return err
	}
	return s.states.Update(ctx, schedules.Key(s.scope, notebook), func(st *schedule.State) error {
		change := st.Resume
		if pause {
			change = st.Pause
		}
		st.Notebook = notebook
		change(c.User, reason, time.Now().UTC())
		return nil
	})
}

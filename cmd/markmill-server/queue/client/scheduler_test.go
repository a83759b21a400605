package client

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/cmd/internal/schedules"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/schedule"
	"markmill/engine/worktree/gittest"
)

// schedulers are several schedulers of one repository and one queue, with clocks of their own.
type schedulers struct {
	*testing.T
	list   []*scheduler
	broken bool // a kill before the job is in the queue
}

func newSchedulers(t *testing.T, front string) *schedulers {
	g := gittest.New(t)
	g.Write("n.md", "---\nschedule: "+front+"\n---\n\n```bash {#one}\ntrue\n```\n")
	g.Commit("begin")
	all := &schedulers{T: t}
	for range 2 {
		c := &Client{Connection: queue.Connection{Root: g.Dir, Store: filepath.Join(g.Dir, ".markmill")},
			stdout: io.Discard, stderr: io.Discard}
		var err error
		if c.Queue, err = jetstream.Connect(t.Context(), jetstream.Options{Dir: c.dir("nats")}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Queue.Close)
		s, err := c.newScheduler(t.Context(), "default", leadTime)
		if err != nil {
			t.Fatal(err)
		}
		s.submit = func(ctx context.Context, n *schedules.Notebook, r *schedule.Run) error {
			if all.broken {
				return errors.New("killed")
			}
			_, _, err := s.Queue.Submit(ctx, &queue.Spec{ID: r.ID, Queue: "default", Priority: queue.Normal,
				Request: engine.Request{Path: n.Path}}, time.Now())
			return err
		}
		all.list = append(all.list, s)
	}
	return all
}

// look has all look at a time of 25 November 2026, and returns the jobs in the queue with their states.
func (s *schedulers) look(clock string) string {
	s.Helper()
	at, err := time.Parse("02 15:04:05", clock)
	if err != nil {
		s.Fatal(err)
	}
	for _, one := range s.list {
		one.submitDue(s.Context(), time.Date(2026, 11, at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC))
	}
	list, _, err := s.list[0].Queue.List(s.Context(), queue.Filter{Limit: 100})
	if err != nil {
		s.Fatal(err)
	}
	var jobs []string
	for _, job := range list {
		_, due, _ := strings.Cut(job.ID, "-202611")
		jobs = append(jobs, due+" "+string(job.State))
	}
	slices.Sort(jobs)
	return strings.Join(jobs, ", ")
}

func (s *schedulers) want(clock, jobs string) {
	s.Helper()
	if got := s.look(clock); got != jobs {
		s.Errorf("at %s: %q, want %q", clock, got, jobs)
	}
}

// end ends the job of a due time.
func (s *schedulers) end(due string) {
	s.Helper()
	id := jobOf(schedules.Key(s.list[0].scope, "n.md"), time.Time{})
	id = id[:strings.LastIndex(id, "-")] + "-202611" + due
	if _, err := s.list[0].Queue.Cancel(s.Context(), id, "t", "ended", time.Now()); err != nil {
		s.Fatal(err)
	}
}

// TestSchedulers: two that both look submit a due time once; a kill before the submission, a clock that is set back and
// windows that were missed change nothing of that.
func TestSchedulers(t *testing.T) {
	s := newSchedulers(t, `{cron: "0 6 * * *", timezone: UTC}`)
	s.want("20 05:00:00", "")
	s.want("20 05:59:59", "")
	s.want("20 06:00:00", "20T060000Z enqueued")
	s.want("20 05:30:00", "20T060000Z enqueued")
	s.want("20 06:00:30", "20T060000Z enqueued")
	s.end("20T060000Z")
	s.want("20 06:01:00", "20T060000Z canceled")
	s.broken = true
	s.want("23 07:00:00", "20T060000Z canceled")
	s.broken = false
	s.want("23 07:01:00", "20T060000Z canceled, 23T060000Z enqueued")
	s.want("24 06:00:00", "20T060000Z canceled, 23T060000Z enqueued") // overlap: skip
	s.end("23T060000Z")
	s.want("24 07:00:00", "20T060000Z canceled, 23T060000Z canceled")
	for i, want := range []bool{true, false, true} {
		one := s.list[i%2]
		if leads, err := one.states.Lead(t.Context(), "s"); err != nil || leads != want {
			t.Errorf("lead %d: %v, %v", i, leads, err)
		}
	}
	s.list[0].states.Resign(t.Context())
	if leads, err := s.list[1].states.Lead(t.Context(), "s"); err != nil || !leads {
		t.Errorf("after the other gave up the lead: %v, %v", leads, err)
	}
	other, err := s.list[0].Queue.Schedules(t.Context(), "another repository", 1, leadTime)
	if err != nil {
		t.Fatal(err)
	}
	if leads, err := other.Lead(t.Context(), "s"); err != nil || !leads {
		t.Errorf("the lead of another repository on the same queue: %v, %v", leads, err)
	}
}

func TestSchedulersOverlap(t *testing.T) {
	s := newSchedulers(t, `{cron: "0 6 * * *", overlap: queue, catch-up: none}`)
	s.want("20 05:00:00", "")
	s.want("20 06:00:00", "20T060000Z enqueued")
	s.want("21 06:00:00", "20T060000Z enqueued")
	s.want("22 06:00:00", "20T060000Z enqueued")
	s.end("20T060000Z")
	s.want("22 06:01:00", "20T060000Z canceled, 21T060000Z enqueued")
	s.end("21T060000Z")
	s.want("23 06:30:00", "20T060000Z canceled, 21T060000Z canceled, 22T060000Z enqueued") // the 23rd was missed

	s = newSchedulers(t, `{cron: "0 6 * * *", overlap: cancel}`)
	s.want("20 05:00:00", "")
	s.want("20 06:00:00", "20T060000Z enqueued")
	if got := s.look("21 06:00:00"); got != "20T060000Z canceled, 21T060000Z enqueued" { // the second that looks
		t.Error(got)
	}
}

// TestRefusal: a notebook that cannot be submitted is tried again when it is due again, and not before.
func TestRefusal(t *testing.T) {
	s := newSchedulers(t, `{cron: "0 6 * * *"}`)
	s.list = s.list[:1]
	tries := 0
	s.list[0].submit = func(context.Context, *schedules.Notebook, *schedule.Run) error {
		tries++
		return refusal{errors.New("no step")}
	}
	s.want("20 05:00:00", "")
	for _, clock := range []string{"20 06:00:00", "20 06:01:00", "20 07:00:00", "21 06:00:00"} {
		s.want(clock, "")
	}
	state, err := s.list[0].states.Load(t.Context(), schedules.Key(s.list[0].scope, "n.md"))
	if err != nil || tries != 2 || state.Run == nil || state.Run.Error != "no step" {
		t.Errorf("%d tries, %+v, %v", tries, state.Run, err)
	}
}

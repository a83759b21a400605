package jetstream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"markmill/engine/queue"
)

// TestAfter: a job is taken when all that it comes after have completed, and ends when one of them fails, with those
// that come after it. Each is put back when what it comes after is.
func TestAfter(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	submit(t, q, "a", queue.Normal)
	submit(t, q, "b", queue.Normal)
	for id, after := range map[string][]string{"both": {"a", "b"}, "b2": {"b"}} {
		if job, err := submitAfter(t, q, id, after...); err != nil || job.State != queue.StateHeld {
			t.Fatal(job, err)
		}
	}
	if _, err := submitAfter(t, q, "b3", "b2"); err != nil {
		t.Fatal(err)
	}
	if _, err := submitAfter(t, q, "x", "nothing"); err == nil || there(t, q, "x") {
		t.Errorf("%v: a job comes after one that is not there", err)
	}
	from := consumer(t, q, "w")
	end(t, from, "a", queue.Completed)
	if h := state(t, q, "both"); h.State != queue.StateHeld {
		t.Errorf("%+v", h.Job)
	}
	if waits, err := q.Waits(t.Context(), &state(t, q, "both").Job, time.Now()); err != nil ||
		fmt.Sprint(waits) != "[job b, which it comes after, is enqueued]" {
		t.Error(waits, err)
	}
	end(t, from, "b", queue.Failed)
	for id, why := range map[string]string{"both": "job b, which it came after, is failed: so it ended",
		"b2": "job b, which it came after, is failed: so it ended",
		"b3": "job b2, which it came after, is canceled: job b,"} {
		if h := state(t, q, id); h.State != queue.StateCanceled || !strings.HasPrefix(h.Reason, why) {
			t.Errorf("%+v", h.Job)
		}
	}
	if _, err := q.Retry(t.Context(), "both", "p", "why", time.Now()); err == nil {
		t.Error("a job is put back that would never run")
	}
	for _, id := range []string{"b", "both"} {
		if _, err := q.Retry(t.Context(), id, "p", "why", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	end(t, from, "b", queue.Completed)
	end(t, from, "both", queue.Completed)
	if job, err := submitAfter(t, q, "late", "a", "both"); err != nil || job.State != queue.StateEnqueued {
		t.Error(job, err)
	}
	end(t, from, "late", queue.Completed)
	if n := q.mustCount(t, "mm.dep.>"); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// TestSweep: what a process that is killed between the end of a job and those that come after it leaves, a worker does:
// one that is there, and one that begins.
func TestSweep(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	submit(t, q, "a", queue.Normal)
	if _, err := submitAfter(t, q, "b", "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := submitAfter(t, q, "c", "b"); err != nil {
		t.Fatal(err)
	}
	first := consumer(t, q, "w")
	for _, id := range []string{"a", "b"} {
		l := take(t, first)
		if l.Job.ID != id {
			t.Fatalf("%s is taken instead of %s", l.Job.ID, id)
		}
		endKilled(t, l, queue.Completed)
	}
	first.Close()
	l, err := consumer(t, q, "next").Take(t.Context(), true)
	if l == nil || l.Job.ID != "c" || err != nil {
		t.Fatalf("%v, %v: a worker that begins, and drains the queue, does not find c", l, err)
	}
}

// endKilled ends a job as a process that is killed before it looks at what comes after it, and as if the job had no
// wake-up, like those that were held.
func endKilled(t *testing.T, l *Lease, kind queue.Kind) {
	t.Helper()
	if err := l.Publish(t.Context(), &queue.Entry{Kind: kind}); err != nil {
		t.Fatal(err)
	}
	if err := l.msg.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSweepTogether: jobs end at once, on several workers, and a server that lags behind told each that the others were
// still running. A worker finds the job that comes after two that completed, and one that comes after a failed one; and
// it ends none that waits for one that runs.
func TestSweepTogether(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	for _, id := range []string{"a", "b", "bad", "long"} {
		submit(t, q, id, queue.Normal)
	}
	for id, after := range map[string][]string{"both": {"a", "b"}, "waits": {"a", "long"}, "lost": {"bad", "long"}} {
		if _, err := submitAfter(t, q, id, after...); err != nil {
			t.Fatal(err)
		}
	}
	from := consumer(t, q, "w")
	a, b, bad := take(t, from), take(t, from), take(t, from)
	for _, l := range []*Lease{a, b, bad} {
		if err := q.settle(t.Context(), l.id, time.Now()); err != nil { // what such a worker does
			t.Fatal(err)
		}
		kind := queue.Completed
		if l == bad {
			kind = queue.Failed
		}
		endKilled(t, l, kind)
	}
	if err := q.sweep(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]queue.State{"both": queue.StateEnqueued, "waits": queue.StateHeld,
		"lost": queue.StateCanceled} {
		if h := state(t, q, id); h.State != want {
			t.Errorf("%s is %s instead of %s: %s", id, h.State, want, h.Reason)
		}
	}
	end(t, from, "long", queue.Completed)
	end(t, from, "both", queue.Completed)
	end(t, from, "waits", queue.Completed)
}

// TestLagging: a job after b is decided by what b is, not by what a server that lags behind says: that b is not there,
// has not ended, or failed before it was put back.
func TestLagging(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	submit(t, q, "b", queue.Normal)
	if _, err := submitAfter(t, q, "c", "b"); err != nil {
		t.Fatal(err)
	}
	c := state(t, q, "c").Job
	from := consumer(t, q, "w")
	decides := func(want queue.Kind) {
		t.Helper()
		now := state(t, q, "b").State
		for _, said := range []queue.State{"", queue.StateEnqueued, queue.StateFailed} {
			seen := map[string]queue.Job{"b": {ID: "b", State: said}}
			if said == "" {
				clear(seen)
			}
			var got queue.Kind
			if e, err := q.waited(t.Context(), &c, seen, time.Now()); err != nil {
				t.Fatal(err)
			} else if e != nil {
				got = e.Kind
			}
			if got != want {
				t.Errorf("b is %s, and a server says %q: what comes after it is %q instead of %q", now, said, got, want)
			}
			if err := q.completes(t.Context(), c.After, seen); err != nil && now != queue.StateFailed {
				t.Errorf("b is %s, and a server says %q: what comes after it is refused: %v", now, said, err)
			}
		}
	}
	decides("")
	end(t, from, "b", queue.Failed)
	decides(queue.Canceled)
	if _, err := q.Retry(t.Context(), "b", "p", "why", time.Now()); err != nil {
		t.Fatal(err)
	}
	decides("")
	end(t, from, "b", queue.Completed)
	decides(queue.Freed)
}

// TestOrphans: what was written for a job that comes after another one stays until the job may be there, and no longer.
func TestOrphans(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	now := time.Now().UTC()
	for _, c := range []struct {
		age  time.Duration
		left int
	}{{orphaned - time.Minute, 1}, {orphaned + time.Minute, 0}} {
		if err := q.hold(t.Context(), []string{"a"}, "killed", now.Add(-c.age)); err != nil {
			t.Fatal(err)
		}
		if err := q.sweep(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if n := q.mustCount(t, "mm.dep.>"); n != c.left {
			t.Errorf("%d messages are left after %s, and not %d", n, c.age, c.left)
		}
	}
}

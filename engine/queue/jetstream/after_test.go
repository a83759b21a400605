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
	from := taker(t, q, "w")
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

// TestSweep: what a process that is killed between the end of a job and those that come after it leaves, a worker does.
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
	l := take(t, taker(t, q, "w"))
	if err := l.Publish(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil { // and killed
		t.Fatal(err)
	}
	if err := l.msg.DoubleAck(t.Context()); err != nil { // as if there had been none, as of jobs that were held
		t.Fatal(err)
	}
	from := taker(t, q, "next")
	end(t, from, "b", queue.Completed)
	end(t, from, "c", queue.Completed)
}

// TestSweepTogether: two jobs end at once, on two workers, and a server that lags behind told each that the other job
// was still running. A worker finds the job that comes after both, and ends none that waits for one that runs.
func TestSweepTogether(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	for _, id := range []string{"a", "b", "long"} {
		submit(t, q, id, queue.Normal)
	}
	for id, after := range map[string][]string{"both": {"a", "b"}, "waits": {"a", "long"}} {
		if _, err := submitAfter(t, q, id, after...); err != nil {
			t.Fatal(err)
		}
	}
	from := taker(t, q, "w")
	a, b := take(t, from), take(t, from)
	for _, l := range []*Lease{a, b} {
		if err := q.settle(t.Context(), l.id, time.Now()); err != nil { // what such a worker does
			t.Fatal(err)
		}
		if err := l.Publish(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
			t.Fatal(err)
		}
		if err := l.msg.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.sweep(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]queue.State{"both": queue.StateEnqueued, "waits": queue.StateHeld} {
		if h := state(t, q, id); h.State != want {
			t.Errorf("%s is %s", id, h.State)
		}
	}
	end(t, from, "long", queue.Completed)
	end(t, from, "both", queue.Completed)
	end(t, from, "waits", queue.Completed)
}

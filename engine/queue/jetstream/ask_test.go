package jetstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"markmill/engine/queue"
)

// TestAsk: a job that asks for an approval is nobody's until it is answered, once, and goes on then; also when a worker
// looks at it between the wake-up and the answer.
func TestAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q, other := open(t, dir), open(t, dir)
	a, b := consumer(t, q, "a"), consumer(t, other, "b")
	answered := func(text string) *queue.Entry {
		return &queue.Entry{Kind: queue.Answered, Run: "r", By: "p", Time: time.Now(), Answer: []byte(text)}
	}
	answer := func(text string) error {
		_, err := q.Answer(t.Context(), "j", answered(text))
		return err
	}
	ask := func(l *Lease) {
		t.Helper()
		l.Keep(func(err error) { t.Error(err) })
		if err := l.Ask(t.Context(), &queue.Entry{Kind: queue.Asked, Run: "r", Contract: "sha256:c"}); err != nil {
			t.Fatal(err)
		}
	}
	nobodys := func(from *Consumer) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if l, err := from.Take(ctx, true); l != nil || err != nil {
			t.Fatalf("%v, %v: a job without its approval is taken", l, err)
		}
		if ctx.Err() != nil {
			t.Fatal("a job without its approval has a wake-up")
		}
	}
	submit(t, q, "j", queue.Normal)
	if err := answer(""); err == nil || !strings.Contains(err.Error(), "waits for no approval: it is enqueued") {
		t.Error(err)
	}
	first := take(t, a)
	ask(first)
	if h := state(t, q, "j"); h.State != queue.StateUnapproved || h.Contract != "sha256:c" || h.InVain != 0 {
		t.Errorf("%+v", h.Job)
	}
	nobodys(b)
	asking := queue.Filter{States: []queue.State{queue.StateUnapproved}, Limit: 5}
	if list, total, err := q.List(t.Context(), asking); err != nil || total != 1 || list[0].Contract != "sha256:c" {
		t.Error(list, total, err)
	}
	if why, err := q.Waits(t.Context(), &state(t, q, "j").Job, time.Now()); err != nil || len(why) != 1 ||
		!strings.Contains(why[0], "markmill approve j") {
		t.Error(why, err)
	}
	if _, err := q.Answer(t.Context(), "j", &queue.Entry{Kind: queue.Answered, Run: "another"}); err == nil {
		t.Error("the answer to another run is taken")
	}

	// A worker looks after the wake-up, for longer than a lease.
	h, err := q.read(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.wake(t.Context(), &h.Job); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	if l, err := b.Take(ctx, false); l != nil || err != nil {
		t.Fatalf("%v, %v: a job without its approval is taken", l, err)
	}
	e := answered("yes")
	if err := h.Add(e); err != nil {
		t.Fatal(err)
	}
	if _, err := q.append(t.Context(), &h.Job, h.last, e); err != nil {
		t.Fatal(err)
	}
	if err := answer("no"); err == nil {
		t.Error("a second answer is taken")
	}
	first.beat() // the last heartbeat may come late: the job is not lost to anybody
	l := take(t, b)
	if e := l.Job.Entries[3]; e.Kind != queue.Answered || string(e.Answer) != "yes" || l.Job.Contract != "" {
		t.Errorf("%+v", e)
	}

	// It asks again, many answer at once, and the same worker goes on.
	ask(l)
	nobodys(a)
	answers := make(chan error)
	for range 8 {
		go func() { answers <- answer("again") }()
	}
	taken := 0
	for range 8 {
		if <-answers == nil {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d of the answers given at once are taken", taken)
	}
	l = take(t, b)

	// It asks once more, and is canceled then.
	ask(l)
	if _, err := q.Cancel(t.Context(), "j", "p", "why", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := answer("late"); err == nil || state(t, q, "j").State != queue.StateCanceled {
		t.Error(err)
	}
	nobodys(a)
}

package jetstream

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"markmill/engine/queue"
)

// forge publishes a message as anybody may who has the permission.
func forge(t *testing.T, q *Queue, subject string, header nats.Header, body string) {
	t.Helper()
	msg := &nats.Msg{Subject: subject, Header: header, Data: []byte(body)}
	if _, err := q.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

// TestForeign: messages that no program of ours wrote, on every subject, stop no reader, no worker and no removal of
// old jobs. They are listed, and Mend removes them; the jobs stay as their entries say.
func TestForeign(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	now := time.Now().UTC()
	for _, id := range []string{"done", "waits", "again"} {
		submit(t, q, id, queue.Normal)
	}
	cancel := func(id string) {
		if _, err := q.Cancel(t.Context(), id, "t", "ended", now); err != nil {
			t.Fatal(err)
		}
	}
	cancel("done")
	file := nats.Header{fileHeader: []string{"1"}}
	foreign := map[string]nats.Header{
		"mm.job.canceled.default.done": nil, "mm.job.completed.default.nothing": nil, "mm.ev.done": nil,
		"mm.ev.nothing": nil, "mm.ev.large": file, "mm.ev.waits": nil, "mm.pause.default": nil, "mm.worker.w": nil,
		"mm.labels.default.gpu": nil, "mm.dep.done.waits": nil, "mm.ctl.waits": nil, "mm.one.x": nil,
		"mm.alert.out.x": nil, "mm.alert.mute.x": nil, "mm.alert.series.x": nil,
	}
	for subject, header := range foreign {
		forge(t, q, subject, header, "")
	}
	forge(t, q, "mm.ev.lost", file, `{"path":"","digest":"sha256:00","bytes":1,"parts":["00"]}`)
	forge(t, q, "mm.ev.again", nil, `{"kind":"answered","run":"x"}`)            // it waits for no approval
	forge(t, q, "mm.ev.other", nil, `{"kind":"enqueued","spec":{"id":"done"}}`) // of another job

	list := func(want int) {
		t.Helper()
		jobs, _, err := q.List(t.Context(), queue.Filter{Limit: 50})
		if err != nil || len(jobs) != want {
			t.Fatalf("%d jobs, %v: %+v", len(jobs), err, jobs)
		}
	}
	list(3)
	if h := state(t, q, "again"); h.State != queue.StateEnqueued || len(h.Entries) != 1 {
		t.Errorf("again: %+v", h)
	}
	if paused, err := q.Paused(t.Context()); err != nil || len(paused) > 0 {
		t.Errorf("%v, %v", paused, err)
	}
	if workers, err := q.Presence(t.Context()); err != nil || len(workers) > 0 {
		t.Errorf("%v, %v", workers, err)
	}
	if ids := outboxOf(t, q); len(ids) > 0 {
		t.Error(ids)
	}
	if _, err := q.Prune(t.Context(), now.Add(-time.Hour), 0, "t", now); err != nil {
		t.Errorf("prune: %v", err)
	}
	tk := consumer(t, q, "w", "gpu")
	for range 2 {
		if err := take(t, tk).End(t.Context(), &queue.Entry{Kind: queue.Failed, Reason: "x"}); err != nil {
			t.Error(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if l, err := tk.Take(ctx, true); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}

	t.Logf("%d attempts", len(foreign)+3)
	removed, err := q.Mend(t.Context(), "t", now)
	if err != nil || len(removed) < 14 {
		t.Errorf("%d removed, %v: %v", len(removed), err, removed)
	}
	list(3)
	if again, err := q.Mend(t.Context(), "t", now); err != nil || len(again) > 0 {
		t.Errorf("there is still %v, %v", again, err)
	}
	if job, there, err := q.Current(t.Context(), "done"); err != nil || !there || job.State != queue.StateCanceled {
		t.Errorf("done: %+v, %v", job, err)
	}
	if found := q.Foreign(); len(found) > 0 {
		t.Errorf("a list names %v", found)
	}
	if p, err := q.Prune(t.Context(), now.Add(time.Hour), 0, "t", now.Add(time.Hour)); err != nil || p.Jobs != 3 {
		t.Errorf("prune: %+v, %v", p, err)
	}
}

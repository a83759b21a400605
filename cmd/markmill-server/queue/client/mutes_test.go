package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/runs"
)

// mute mutes the check of the world's runs.
func (w *world) mute(reach time.Duration) *queue.Mute {
	w.Helper()
	m := &queue.Mute{Project: "p", Notebook: "w.md", Check: "s", From: w.now, Until: w.now.Add(reach), By: "me",
		Reason: "why"}
	if err := w.q.PutMute(w.Context(), m); err != nil {
		w.Fatal(err)
	}
	return m
}

// came lists what the target one got, as STATE, in no order.
func (w *world) came(state string) (n int) {
	for what, times := range w.got {
		if strings.HasPrefix(what, "one ") && strings.Contains(what, ">"+state+" ") {
			n += times
		}
	}
	return n
}

// TestMute: while a check is muted nothing of it is sent, and its states go on; at the end what is still bad is told,
// once, whoever looks how often.
func TestMute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.notifier("a")
	w.deliver(c)
	m := w.mute(time.Hour)
	w.record(runs.CheckCritical, true)
	w.deliver(c)
	if len(w.got) != 0 {
		t.Fatalf("it is muted, and %v came", w.got)
	}
	states := map[string]int{}
	err := w.q.Alerts(t.Context(), func(d *queue.Delivery) error {
		for _, r := range d.To {
			states[r.State+" "+r.By+" "+r.Why]++
		}
		return nil
	})
	if err != nil || len(states) != 1 || states["muted me why"] != 2 {
		t.Fatalf("the outbox has %v, %v", states, err)
	}
	w.now = m.Until.Add(time.Second)
	for i := range 4 {
		w.deliver(w.notifier(fmt.Sprint(i)))
	}
	w.each(2) // of two targets
	if w.came("critical") != 1 {
		t.Errorf("at the end came %v", w.got)
	}
	// It recovers, which is told as ever.
	w.record(runs.CheckOK, true)
	w.deliver(c)
	if w.came("ok") != 1 {
		t.Errorf("after the end came %v", w.got)
	}
}

// TestMuteOverBefore: nobody has looked before a mute was over, and the check has turned bad and good in it.
func TestMuteOverBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.mute(time.Hour)
	w.record(runs.CheckCritical, true)
	w.record(runs.CheckOK, true)
	w.now = m.Until.Add(time.Minute)
	w.deliver(w.notifier("a"))
	if len(w.got) != 0 {
		t.Errorf("%v came", w.got)
	}
}

// TestMuteIsCut: wherever a process is killed that settles a mute, the next one has its alerts told, once.
func TestMuteIsCut(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		w := newWorld(t)
		m := w.mute(time.Hour)
		w.record(runs.CheckCritical, true)
		c := w.notifier("a")
		w.deliver(c)
		w.now = m.Until.Add(time.Second)
		cut, left := errors.New("killed"), n
		fault := func() error {
			if left--; left == -1 {
				return cut
			}
			return nil
		}
		_, _, err := (&notifier{outbox: faulty{w.q, fault}, store: c.store, name: "b", now: c.now, send: c.send,
			tell: c.tell, targets: c.targets}).deliver(t.Context(), 0)
		if err != nil && !errors.Is(err, cut) {
			t.Fatal(err)
		}
		w.now = w.now.Add(claimTime + time.Second)
		w.deliver(w.notifier("c"))
		w.deliver(w.notifier("d"))
		if got := w.came("critical"); got != 1 && err == nil || got == 0 {
			t.Errorf("cut at %d: it came %d times", n, got)
		}
		if err == nil {
			if n < 4 {
				t.Errorf("only %d places were cut", n)
			}
			return
		}
	}
	t.Error("it was cut without end")
}

// TestMuteOfAlerts: those of another check or notebook are sent.
func TestMuteOfAlerts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, other := range []queue.Mute{{Project: "p", Notebook: "w.md", Check: "t"}, {Project: "p", Notebook: "v.md"},
		{Project: "q", Notebook: "w.md"}} {
		other.Until = w.now.Add(time.Hour)
		if err := w.q.PutMute(t.Context(), &other); err != nil {
			t.Fatal(err)
		}
	}
	w.record(runs.CheckCritical, true)
	w.deliver(w.notifier("a"))
	w.each(2)
}

// faulty is an outbox whose writer is killed.
type faulty struct {
	*jetstream.Queue
	fault func() error
}

func (f faulty) around(do func() error) error {
	err := f.fault()
	if err == nil {
		err = do()
	}
	if err == nil {
		err = f.fault()
	}
	return err
}

func (f faulty) PostAlert(ctx context.Context, d *queue.Delivery) error {
	return f.around(func() error { return f.Queue.PostAlert(ctx, d) })
}

func (f faulty) PutMute(ctx context.Context, m *queue.Mute) error {
	return f.around(func() error { return f.Queue.PutMute(ctx, m) })
}

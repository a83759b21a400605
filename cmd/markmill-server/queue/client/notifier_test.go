package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/queue/notify"
	"markmill/notebooks"
	"markmill/runs"
)

const watched = "---\nalerts: {on: [critical, recover], to: [one, two]}\n---\n\n```bash {#s .check}\ntrue\n```\n"

// world is a store, an outbox, receivers and a clock for notifiers.
type world struct {
	*testing.T
	store runs.Store
	q     *jetstream.Queue
	now   time.Time
	n     int

	mu   sync.Mutex
	got  map[string]int   // how often each target got each alert: "one about>state"
	down map[string]error // of targets
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	q, err := jetstream.Connect(t.Context(), jetstream.Options{Dir: dir + "/nats"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return &world{T: t, store: runs.Store{Dir: dir + "/store"}, q: q, now: time.Unix(1_800_000_000, 0).UTC(),
		got: map[string]int{}, down: map[string]error{}}
}

// clock goes on a second with every look.
func (w *world) clock() time.Time { w.now = w.now.Add(time.Second); return w.now }

// record makes the record of a run whose check is in a state, marked as one whose alerts are to be sent.
func (w *world) record(state runs.CheckState, end bool) runs.RunID {
	w.Helper()
	w.n++
	id := runs.NewRunID(w.now, "w.md", []byte{byte(w.n)})
	record, release, err := w.store.Create(id)
	if err != nil {
		w.Fatal(err)
	}
	defer release()
	if err := w.store.AwaitAlerts(id); err != nil {
		w.Fatal(err)
	}
	journal, err := record.Begin("notebook.md", []byte(watched), w.clock)
	if err != nil {
		w.Fatal(err)
	}
	add := func(kind runs.EventType, step string, data any) {
		if _, err := journal.Append(kind, notebooks.StepID(step), data); err != nil {
			w.Fatal(err)
		}
	}
	add(runs.RunStarted, "", runs.RunStartedData{RunID: id, Notebook: "w.md", SourcePath: "w.md",
		SourceFile: "notebook.md",
		Repository: "/src/p"})
	add(runs.PlanUpdated, "", runs.PlanData{Steps: []runs.PlannedStep{{ID: "s", Action: runs.ActionRun}}})
	scrap, err := runs.CheckData{State: state}.Scrap("s")
	if err != nil {
		w.Fatal(err)
	}
	add(runs.ScrapRecorded, "s", scrap)
	if end {
		add(runs.RunCompleted, "", runs.CompletedData{Status: runs.Fail})
	}
	if err := journal.Close(); err != nil {
		w.Fatal(err)
	}
	return id
}

func (w *world) send(_ context.Context, t engine.AlertTarget, a *queue.Alert) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.down[t.Webhook]; err != nil {
		return err
	}
	w.got[fmt.Sprintf("%s %s>%s %s", t.Webhook, a.Before, a.State, a.Run[:16])]++
	return nil
}

func (w *world) notifier(name string) *notifier {
	return &notifier{outbox: w.q, store: w.store, name: name, now: w.clock, send: w.send, tell: w.Logf,
		targets: map[string]engine.AlertTarget{"one": {Webhook: "one"}, "two": {Webhook: "two"}}}
}

func (w *world) deliver(c *notifier) {
	w.Helper()
	if _, _, err := c.deliver(w.Context(), 0); err != nil {
		w.Fatal(err)
	}
}

// each fails unless every alert of got has come once; there are n.
func (w *world) each(n int) {
	w.Helper()
	for what, times := range w.got {
		if times != 1 {
			w.Errorf("%s came %d times", what, times)
		}
	}
	if len(w.got) != n {
		w.Errorf("%d alerts came, want %d: %v", len(w.got), n, w.got)
	}
}

// TestReceiverIsDown: while a receiver is down for an hour, its alerts wait in their order, the other one gets its own
// at once, and at last each has come once.
func TestReceiverIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.down["one"] = &notify.Failure{Words: "status 503"}
	tries := 0
	for i := range 12 { // a run in five minutes
		w.record([]runs.CheckState{runs.CheckCritical, runs.CheckOK}[i%2], true)
		for end := w.now.Add(5 * time.Minute); w.now.Before(end); {
			c := w.notifier(fmt.Sprint(i)) // each time another process
			send := c.send
			c.send = func(ctx context.Context, t engine.AlertTarget, a *queue.Alert) error {
				if t.Webhook == "one" {
					tries++
				}
				return send(ctx, t, a)
			}
			w.deliver(c)
			w.now = w.now.Add(20 * time.Second)
		}
	}
	w.each(12)
	if tries < 5 || tries > 15 {
		t.Errorf("it was tried %d times in an hour", tries)
	}
	w.down = nil
	w.now = w.now.Add(15 * time.Minute)
	w.deliver(w.notifier("last"))
	w.each(24)
	if waits, _, err := w.notifier("after").deliver(t.Context(), 0); err != nil || waits {
		t.Error(waits, err)
	}
}

// cut is an outbox whose nth operation is the last: before it, or after.
type cut struct {
	outbox
	left int
}

var errCut = errors.New("killed")

func (c *cut) op(do func() error) error {
	if c.left--; c.left == -1 {
		return errCut
	}
	err := do()
	if c.left--; err == nil && c.left == -1 {
		return errCut
	}
	return err
}

func (c *cut) UpdateSeries(ctx context.Context, s *queue.Series, add func(*queue.Series) bool) error {
	return c.op(func() error { return c.outbox.UpdateSeries(ctx, s, add) })
}

func (c *cut) PutAlert(ctx context.Context, d *queue.Delivery) error {
	return c.op(func() error { return c.outbox.PutAlert(ctx, d) })
}

// TestNotifierIsKilled: wherever a notifier is killed, the next one loses nothing. A target gets an alert twice only if
// the kill came between its answer and the note of it.
func TestNotifierIsKilled(t *testing.T) {
	t.Parallel()
	twice, first := 0, newWorld(t)
	for n, done := 0, false; !done; n++ {
		w := &world{T: t, q: first.q, now: first.now.Add(time.Duration(n) * time.Hour), got: map[string]int{},
			store: runs.Store{Dir: filepath.Join(first.store.Dir, fmt.Sprint(n))}}
		w.record(runs.CheckCritical, true)
		w.record(runs.CheckOK, true)
		c := w.notifier("killed")
		c.outbox = &cut{outbox: w.q, left: n}
		_, _, err := c.deliver(t.Context(), 0)
		if done = err == nil; !done && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		w.now = w.now.Add(claimTime) // the next one is started
		w.deliver(w.notifier("next"))
		if len(w.got) != 4 {
			t.Errorf("killed at %d: %v", n, w.got)
		}
		for what, times := range w.got {
			switch {
			case times == 2:
				twice++
			case times != 1:
				t.Errorf("killed at %d: %s came %d times", n, what, times)
			}
		}
	}
	if twice != 4 { // four alerts, each of which has that moment once
		t.Errorf("%d alerts came twice", twice)
	}
}

// TestNotifiersTogether: of several notifiers each alert is sent by one.
func TestNotifiersTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 6 {
		w.record([]runs.CheckState{runs.CheckCritical, runs.CheckOK}[i%2], true)
	}
	now := w.now
	var group sync.WaitGroup
	for i := range 4 {
		c := w.notifier(fmt.Sprint(i))
		c.now = func() time.Time { return now }
		group.Go(func() {
			for range 20 {
				if _, _, err := c.deliver(t.Context(), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	w.each(12)
}

// TestRunsThatWait: a run that goes on is left alone, one that was killed counts, one that was removed is forgotten,
// and records stay until their alerts are in the outbox.
func TestRunsThatWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed := w.record(runs.CheckCritical, false)
	gone := w.record(runs.CheckCritical, true)
	if err := w.store.Remove(gone); err != nil {
		t.Fatal(err)
	}
	release, err := runs.Lock(w.store.Path(killed))
	if err != nil {
		t.Fatal(err)
	}
	w.deliver(w.notifier("a"))
	w.each(0)
	release()
	if removed, err := w.store.Prune(0, 0, w.now.Add(time.Hour)); err != nil || len(removed) != 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	w.deliver(w.notifier("b"))
	w.each(2)
	if removed, err := w.store.Prune(0, 0, w.now.Add(time.Hour)); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if left, err := w.store.AwaitingAlerts(); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

// TestUnknownTarget: an alert waits for a notifier whose settings have its target, and is not in the way of others.
func TestUnknownTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record(runs.CheckCritical, true)
	c := w.notifier("elsewhere")
	delete(c.targets, "one")
	waits, failed, err := c.deliver(t.Context(), 0)
	if err != nil || !waits || failed != 0 {
		t.Errorf("waits %v, %d failed, %v", waits, failed, err)
	}
	w.each(1)
	w.down["one"] = &notify.Failure{Words: "status 422", Final: true}
	if waits, failed, err = w.notifier("here").deliver(t.Context(), 0); err != nil || waits || failed != 1 {
		t.Errorf("waits %v, %d failed, %v", waits, failed, err)
	}
	var text strings.Builder
	client := &Client{Connection: queue.Connection{Store: w.store.Dir, User: "me"}, Queue: w.q, stdout: &text,
		stderr: &text}
	if err := client.ListAlerts(t.Context(), true, 50, false); err != nil ||
		!strings.Contains(text.String(), "one failed, two delivered") {
		t.Errorf("%v\n%s", err, text.String())
	}
	text.Reset()
	if err := client.ShowAlert(t.Context(), "", false); err != nil || !strings.Contains(text.String(), "status 422") {
		t.Errorf("%v\n%s", err, text.String())
	}
	w.down = nil
	client.Root = t.TempDir()
	settings := []byte("alerts: {one: {exec: [/bin/true]}}\n")
	if err := os.WriteFile(filepath.Join(client.Root, "markmill.yaml"), settings, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, err := client.RetryAlert(t.Context(), "", "mended"); err != nil || code != exitPass {
		t.Errorf("%d, %v\n%s", code, err, text.String())
	}
}

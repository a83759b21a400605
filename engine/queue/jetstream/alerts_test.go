package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"markmill/engine/queue"
	"markmill/runs"
)

// sees makes the function that adds a run with alerts to a series.
func sees(run string, ids ...string) func(*queue.Series) bool {
	return func(s *queue.Series) bool {
		if s.Seen(runs.RunID(run)) {
			return false
		}
		s.Recent, s.To, s.Alerts = append(s.Recent, runs.RunID(run)), []string{"ops"}, nil
		for _, id := range ids {
			s.Alerts = append(s.Alerts, queue.Alert{ID: id, Project: "p", Notebook: "w.md", Run: runs.RunID(run),
				Time: time.Unix(1, 0).UTC()})
		}
		return true
	}
}

func outboxOf(t *testing.T, q *Queue) (ids []string) {
	err := q.Alerts(t.Context(), func(d *queue.Delivery) error { ids = append(ids, d.Alert.ID); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestWatchIsCut: wherever a process is killed that puts the alerts of runs into the outbox, the next one has all of
// them there, once.
func TestWatchIsCut(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	cut := errors.New("killed")
	for n, done := 0, false; !done; n++ {
		series := &queue.Series{Project: "p", Notebook: fmt.Sprintf("w-%d.md", n)}
		name := func(id string) string { return fmt.Sprintf("%s-%d", id, n) }
		left := n
		q.fault = func() error {
			if left--; left == -1 {
				return cut
			}
			return nil
		}
		work := func() error {
			err := q.UpdateSeries(t.Context(), series, sees("one", name("a"), name("b")))
			if err == nil {
				err = q.UpdateSeries(t.Context(), series, sees("two", name("c")))
			}
			return err
		}
		err := work()
		if done = err == nil; !done && !errors.Is(err, cut) {
			t.Fatal(err)
		}
		q.fault = nil
		if err := work(); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, id := range outboxOf(t, q) {
			got[id]++
		}
		for _, id := range []string{"a", "b", "c"} {
			if got[name(id)] != 1 {
				t.Errorf("cut at %d: %s is there %d times", n, id, got[name(id)])
			}
		}
		if len(got) != 3*(n+1) {
			t.Errorf("cut at %d: %d alerts", n, len(got))
		}
	}
}

// TestWatchTogether: of processes that look at the same runs, each run is looked at once.
func TestWatchTogether(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	const watchers, observed = 4, 20
	var group sync.WaitGroup
	for range watchers {
		group.Go(func() {
			for i := range observed {
				run := fmt.Sprintf("run-%d", i)
				w := &queue.Series{Notebook: "w.md"}
				if err := q.UpdateSeries(context.Background(), w, sees(run, run)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	var s queue.Series
	key := seriesSubject + (&queue.Series{Notebook: "w.md"}).Key()
	if _, err := q.last(t.Context(), q.alerts, alertsStream, key, &s); err != nil {
		t.Fatal(err)
	}
	if got := outboxOf(t, q); len(got) != observed || len(s.Recent) != observed {
		t.Errorf("%d alerts of %d runs", len(got), len(s.Recent))
	}
}

// TestForget: an alert that the next look at its series would put there again stays; others go.
func TestForget(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	series := &queue.Series{Project: "p", Notebook: "w.md"}
	for run, id := range map[string]string{"one": "a"} {
		if err := q.UpdateSeries(t.Context(), series, sees(run, id)); err != nil {
			t.Fatal(err)
		}
	}
	forget := func() {
		err := q.Alerts(t.Context(), func(d *queue.Delivery) error { return q.ForgetAlert(t.Context(), d) })
		if err != nil {
			t.Fatal(err)
		}
	}
	forget()
	if got := outboxOf(t, q); len(got) != 1 {
		t.Fatal(got)
	}
	if err := q.UpdateSeries(t.Context(), series, sees("two")); err != nil {
		t.Fatal(err)
	}
	forget()
	if got := outboxOf(t, q); len(got) != 0 {
		t.Error(got)
	}
	stale := &queue.Delivery{Alert: queue.Alert{ID: "x"}, Revision: 3}
	if err := q.PutAlert(t.Context(), stale); !errors.Is(err, ErrFenced) {
		t.Errorf("a stale delivery is put: %v", err)
	}
}

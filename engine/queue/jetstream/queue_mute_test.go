package jetstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/runs"
)

// TestSettle: what each target is told at the end of a mute follows from what it was told before, and from what holds.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name string
		// The alerts of a check, the first first, as STATE:RECEIPT of the target.
		alerts string
		now    string // the state that the series knows
		want   string
	}{
		{"bad before and still", "critical:delivered", "critical", "critical"},
		{"turned bad meanwhile", "critical:muted", "critical", "critical"},
		{"bad and good again", "critical:muted ok:muted", "ok", ""},
		{"told bad, good again meanwhile", "critical:delivered ok:muted", "ok", "ok"},
		{"told bad, good, bad again", "critical:delivered ok:muted critical:muted", "critical", "critical"},
		{"recovered before", "critical:delivered ok:delivered", "ok", ""},
		{"it will be told by itself", "critical:waiting", "critical", ""},
		{"it turned into what nobody asked for", "critical:muted", "warn", ""},
		{"no target took it", "critical:failed", "critical", "critical"},
		{"told good, bad and good meanwhile", "critical:delivered ok:delivered critical:muted ok:muted", "ok", ""},
	} {
		at := time.Unix(1_800_000_000, 0).UTC()
		m := &queue.Mute{Project: "p", Notebook: "w.md", Check: "disk", From: at, Until: at.Add(time.Hour), By: "me",
			Reason: "why"}
		var outbox []*queue.Delivery
		add := func(a queue.Alert, state string) {
			a.Project, a.Time, a.ID = "p", at.Add(time.Duration(len(outbox))*time.Minute), fmt.Sprint(len(outbox))
			d := queue.NewDelivery(a, []string{"ops"}, a.Time)
			d.To[0].State = state
			outbox = append(outbox, d)
		}
		for word := range strings.FieldsSeq(c.alerts) {
			state, receipt, _ := strings.Cut(word, ":")
			event := notebooks.AlertCritical
			if state == string(runs.CheckOK) {
				event = notebooks.AlertRecover
			}
			add(queue.Alert{Notebook: "w.md", About: queue.AboutCheck, Name: "disk", State: state, Event: event},
				receipt)
		}
		for _, other := range []queue.Alert{{Notebook: "w.md", About: queue.AboutCheck, Name: "cpu"},
			{Notebook: "x.md", About: queue.AboutCheck, Name: "disk"}, {Notebook: "w.md", About: queue.AboutRun}} {
			other.State, other.Event = "critical", notebooks.AlertCritical
			add(other, queue.Muted)
		}
		states := func(a *queue.Alert) map[string]string { return map[string]string{"check:disk": c.now} }
		got := m.Settle(outbox, states)
		var words []string
		for _, d := range got {
			words = append(words, d.Alert.State)
			if !d.Alert.Unmuted || !d.Alert.Time.Equal(m.Until) || d.To[0].State != queue.Waiting {
				t.Errorf("%s: %+v", c.name, d)
			}
		}
		if text := strings.Join(words, " "); text != c.want {
			t.Errorf("%s: it tells %q, want %q", c.name, text, c.want)
		}
		again := m.Settle(outbox, states)
		if len(again) != len(got) || len(got) > 0 && again[0].Alert.ID != got[0].Alert.ID {
			t.Errorf("%s: settled twice, it tells other alerts", c.name)
		}
	}
}

// TestExpired: a lease is over when its worker has ended, was silent for longer, or is forgotten.
func TestExpired(t *testing.T) {
	worker := func(silent time.Duration, ended bool) []queue.Presence {
		return []queue.Presence{{Worker: queue.Worker{Name: "other"}}, {Worker: queue.Worker{Name: "w", Ended: ended,
			LeaseNS: int64(30 * time.Second)}, Silent: silent}}
	}
	for _, c := range []struct {
		state   queue.State
		workers []queue.Presence
		want    bool
	}{
		{queue.StateRunning, worker(11*time.Second, false), false}, {queue.StateLeased, worker(33*time.Second,
			false), true},
		{queue.StateRunning, worker(time.Second, true), true}, {queue.StateRunning, nil, true},
		{queue.StateEnqueued, worker(time.Hour, false), false}, {queue.StateCompleted, nil, false},
	} {
		j := queue.Job{State: c.state, Worker: "w"}
		if got := j.Expired(c.workers); got != c.want {
			t.Errorf("%s with %+v: %v", c.state, c.workers, got)
		}
	}
}

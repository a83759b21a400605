package engine_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/engine/schedule"
	"markmill/notebooks"
)

func spec(t interface{ Fatal(...any) }, cron, overlap, catchUp string) (*notebooks.Schedule, schedule.Times) {
	s := &notebooks.Schedule{Cron: cron, Timezone: "Europe/Berlin", Overlap: overlap, CatchUp: catchUp}
	times, err := schedule.TimesOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, times
}

// look is one look at a clock of Berlin, and what it must come to.
type look struct {
	at     string // day of November 2026 and time
	run    string // the due time that runs; "" is none
	ended  bool   // the run before has ended by then
	cancel bool
}

func TestLook(t *testing.T) {
	for _, c := range []struct {
		name, overlap, catchUp string
		looks                  []look
		skipped                string
	}{
		{"first seen", "skip", "once", []look{{at: "25 12:00"}, {at: "26 05:59"}, {at: "26 06:00", run: "26 06:00"},
			{at: "26 06:01", ended: true}}, ""},
		{"missed windows run once", "skip", "once", []look{{at: "20 12:00"}, {at: "25 12:00", run: "25 06:00"},
			{at: "25 12:01", ended: true}}, ""},
		{"missed windows do not run", "skip", "none", []look{{at: "20 12:00"}, {at: "25 06:11"}, {at: "25 06:12"}},
			"nobody looked in time"},
		{"a little late is in time", "skip", "none", []look{{at: "24 12:00"}, {at: "25 06:10", run: "25 06:00"}}, ""},
		{"a clock that is set back", "skip", "once", []look{{at: "25 05:00"}, {at: "25 06:00", run: "25 06:00"},
			{at: "25 05:30", ended: true}, {at: "25 06:00", ended: true}, {at: "26 06:00", run: "26 06:00",
				ended: true}}, ""},
		{"overlap: skip", "skip", "once", []look{{at: "24 12:00"}, {at: "25 06:00", run: "25 06:00"}, {at: "26 06:00"},
			{at: "26 07:00", ended: true}, {at: "27 06:00", run: "27 06:00"}}, "the run before it went on"},
		{"overlap: queue", "queue", "once", []look{{at: "24 12:00"}, {at: "25 06:00", run: "25 06:00"},
			{at: "26 06:00"},
			{at: "27 06:00"}, {at: "27 07:00", ended: true, run: "26 06:00"}, {at: "27 08:00"},
			{at: "27 09:00", ended: true, run: "27 06:00"}, {at: "27 10:00", ended: true}}, ""},
		{"overlap: cancel", "cancel", "once", []look{{at: "24 12:00"}, {at: "25 06:00", run: "25 06:00"},
			{at: "26 06:00", cancel: true}, {at: "26 06:00", cancel: true}, {at: "26 06:01", ended: true,
				run: "26 06:00"}}, ""},
	} {
		s, times := spec(t, "0 6 * * *", c.overlap, c.catchUp)
		clock := func(text string) time.Time {
			at, err := time.ParseInLocation("2006-01-02 15:04", "2026-11-"+text, times.Zone)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		var state schedule.State
		for i, l := range c.looks {
			if l.ended {
				state.Run.Ended = true
			}
			due, cancel := state.Look(s, times, clock(l.at))
			got := ""
			if !due.IsZero() {
				got = due.Format("02 15:04")
				state.Run = &schedule.Run{Due: due}
			}
			if got != l.run || cancel != l.cancel {
				t.Errorf("%s, look %d: %q, %v, want %q, %v", c.name, i+1, got, cancel, l.run, l.cancel)
			}
		}
		why := ""
		if state.Skipped != nil {
			why = state.Skipped.Why
		}
		if !strings.HasPrefix(why, c.skipped) || (c.skipped == "") != (why == "") {
			t.Errorf("%s: skipped %q, want %q", c.name, why, c.skipped)
		}
	}
}

func TestLookAnew(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var state schedule.State
	s, times := spec(t, "0 6 * * *", "skip", "once")
	state.Look(s, times, at)
	other, otherTimes := spec(t, "30 11 * * *", "skip", "once")
	if due, _ := state.Look(other, otherTimes, at.AddDate(0, 0, 1)); !due.IsZero() {
		t.Errorf("a new expression is due before it was seen: %s", due)
	}
	state.Pause("u", "why", at)
	for _, later := range []time.Duration{72 * time.Hour, 96 * time.Hour} {
		if due, _ := state.Look(other, otherTimes, at.Add(later)); !due.IsZero() {
			t.Errorf("it is paused, and %s is due", due)
		}
	}
	state.Resume("u", "why not", at.Add(97*time.Hour))
	if due, _ := state.Look(other, otherTimes, at.Add(97*time.Hour)); !due.IsZero() {
		t.Errorf("after the pause, %s of the pause is due", due)
	}
	if due, _ := state.Look(other, otherTimes, at.Add(120*time.Hour)); due.IsZero() {
		t.Error("after the pause, nothing is due")
	}
}

// TestLookOnce: whenever somebody looks, and whatever clock they have, no due time runs twice, and with a clock that
// only goes on they run in their order.
func TestLookOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, times := spec(t, rapid.SampledFrom([]string{"*/7 * * * *", "0 2 * * *", "30 2 * * *"}).Draw(t, "cron"),
			rapid.SampledFrom([]string{"skip", "queue", "cancel"}).Draw(t, "overlap"),
			rapid.SampledFrom([]string{"once", "none"}).Draw(t, "catch-up"))
		var state schedule.State
		now := time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC)
		ran, last := map[int64]bool{}, time.Time{}
		for range 60 {
			now = now.Add(time.Duration(rapid.IntRange(-40, 90).Draw(t, "minutes")) * time.Minute)
			if state.Run != nil && rapid.Bool().Draw(t, "ended") {
				state.Run.Ended = true
			}
			due, _ := state.Look(s, times, now)
			if due.IsZero() {
				continue
			}
			if ran[due.Unix()] || due.Before(last) {
				t.Fatalf("%s runs after %s", due, last)
			}
			if state.Run != nil && !state.Run.Ended {
				t.Fatalf("%s runs beside %s", due, state.Run.Due)
			}
			ran[due.Unix()], last = true, due
			state.Run = &schedule.Run{Due: due}
		}
	})
}

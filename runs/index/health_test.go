package index

import (
	"fmt"
	"math"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/runstest"
)

// TestLevel: uptime is of the known time, what was seen counts until the next time and as far as it reaches, and the
// budget is of the whole window.
func TestLevel(t *testing.T) {
	from := time.Unix(1_800_000_000, 0).UTC()
	to := from.Add(100 * time.Minute)
	at := func(minute int, state string, ms float64) Seen {
		return Seen{At: from.Add(time.Duration(minute) * time.Minute), State: state, Value: ms, Unit: "ms"}
	}
	w := &Watched{Check: "http", Reach: 15 * time.Minute, Seen: []Seen{at(10, "ok", 100), at(15, "critical", 300),
		at(20, "warn", 200), at(60, "error", math.NaN()), at(95, "ok", 150)}}
	for _, c := range []struct {
		o                 *notebooks.Objectives
		measures          bool
		left, met, p95Bar string
	}{
		{nil, true, "-", "-", "-"},
		{&notebooks.Objectives{Uptime: 50}, true, "1800", "true", "-"},
		{&notebooks.Objectives{Uptime: 90}, true, "-600", "false", "-"},
		{&notebooks.Objectives{P95: 300 * time.Millisecond}, true, "-", "true", "300"},
		{&notebooks.Objectives{Uptime: 50, P95: 299 * time.Millisecond}, true, "1800", "false", "299"},
	} {
		l := w.Level(from, to, c.o, c.measures)
		text := func(p *float64) string {
			if p == nil {
				return "-"
			}
			return fmt.Sprintf("%.0f", *p)
		}
		met := "-"
		if l.Met != nil {
			met = fmt.Sprint(*l.Met)
		}
		// Known: 5 ok, 5 critical, 15 of 40 warn, 15 of 35 error, 5 ok.
		if l.Known != 45*60 || l.Down != 20*60 || text(l.Uptime) != "56" || text(l.P95) != "300" || l.Window != 6000 ||
			text(l.Left) != c.left || met != c.met || text(l.P95Objective) != c.p95Bar || l.State != "ok" ||
			!l.Since.Equal(w.Seen[4].At) || l.Seen != 5 {
			t.Errorf("%+v: %+v, left %s, met %s", c.o, l, text(l.Left), met)
		}
	}
	once := &Watched{Seen: []Seen{{At: to, State: "failed", Value: 1}}}
	if l := once.Level(from, to, &notebooks.Objectives{Uptime: 99}, false); l.Uptime != nil || l.Met != nil {
		t.Errorf("nothing is known, and yet %+v", l)
	}
	// The runs of a notebook whose checks measure milliseconds have no objective of time of their own.
	slow := &Watched{Reach: time.Hour, Seen: []Seen{{At: from, State: "ok", Value: 60}}}
	for measures, want := range map[bool]bool{true: true, false: false} {
		l := slow.Level(from, to, &notebooks.Objectives{Uptime: 1, P95: time.Second}, measures)
		if *l.Met != want || *l.P95 != 60_000 {
			t.Errorf("measures %v: %+v", measures, l)
		}
	}
}

// TestHealth: what the index has of checks and runs is what their records say, in the window alone.
func TestHealth(t *testing.T) {
	store, start := runs.Store{Dir: t.TempDir()}, time.Unix(1_800_000_000, 0).UTC()
	state := []runs.CheckState{runs.CheckOK, runs.CheckCritical, runs.CheckOK}
	ids := make([]runs.RunID, len(state))
	for i, s := range state {
		value, err := codec.Marshal(runs.CheckData{State: s, Value: codec.Raw("7"), Unit: "ms", Message: "m"})
		if err == nil {
			ids[i], err = runstest.MakeScrap(store, start, i, runs.CheckPrefix+"c", value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	x, err := Open(t.Context(), store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	list, err := x.Health(start.Add(30*time.Second), start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[runs.RunID]Seen{}
	for _, w := range list {
		for i := range w.Seen {
			if w.Check == "c" {
				seen[w.Seen[i].Run] = w.Seen[i]
			}
		}
	}
	if len(seen) != 2 || seen[ids[1]].State != "critical" || seen[ids[2]].Value != 7 || seen[ids[2]].Unit != "ms" {
		t.Errorf("%+v", seen)
	}
	if newest, err := x.Newest(start); err != nil || len(newest) == 0 {
		t.Error(newest, err)
	}
}

func TestReach(t *testing.T) {
	at := func(minutes ...int) (times []time.Time) {
		for _, m := range minutes {
			times = append(times, time.Unix(int64(m)*60, 0))
		}
		return times
	}
	for want, times := range map[time.Duration][]time.Time{time.Minute: at(1), 15 * time.Minute: at(0, 5, 10, 100)} {
		if got := reach(times); got != want {
			t.Errorf("%v: %s, want %s", times, got, want)
		}
	}
}

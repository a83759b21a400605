package index

import (
	"math"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"markmill/notebooks"
	"markmill/runs"
)

// Seen is the state of a check, or of the run itself, in one run.
type Seen struct {
	Run     runs.RunID
	At      time.Time // start of the run
	State   string    // of a check; ok or failed of the run
	Value   float64   // that a check measured, NaN without; seconds that the run took
	Unit    string
	Message string
}

// Good reports whether the state counts as up.
func (s *Seen) Good() bool {
	return s.State == string(runs.CheckOK) || s.State == string(runs.CheckWarn)
}

// Watched is a check of a notebook, or its runs, with what was seen of it, the oldest first.
type Watched struct {
	Notebook string
	Check    string // "" for the runs
	Seen     []Seen
	// Reach is how long what was seen counts, if nothing else is: three times the median time between the
	// notebook's runs.
	Reach time.Duration
}

// observations are the runs of people and schedules, not those that repeat, compare or are part of others, nor those
// that did not begin because somebody had changed the checkout.
const observations = "FROM run r WHERE started_ns>=? AND started_ns<? AND coalesce(sweep,'')='' AND " +
	"coalesce(rerun_of,'')='' AND coalesce(parent,'')='' AND coalesce(reason_code,'')<>'" +
	runs.CodeDirtyStartingTree + "' AND " + within

// Health returns what the runs in a time have seen, in the order of notebooks; of each, its runs come before its
// checks.
// A run that was cut, or of which only a part ran, says nothing of its notebook; its checks count.
func (x *Index) Health(from, to time.Time) ([]*Watched, error) {
	by := map[[2]string]*Watched{}
	starts := map[string][]time.Time{}
	add := func(notebook, check string, s Seen) {
		key := [2]string{notebook, check}
		if by[key] == nil {
			by[key] = &Watched{Notebook: notebook, Check: check}
		}
		by[key].Seen = append(by[key].Seen, s)
	}
	window := []any{from.UnixNano(), to.UnixNano()}
	err := exec(x.conn, "SELECT coalesce(notebook,''), run_id, started_ns, status, seconds, reason "+observations+
		" ORDER BY started_ns, run_id", window, func(s *sqlite.Stmt) error {
		notebook, at := s.ColumnText(0), timeOf(s, 2)
		starts[notebook] = append(starts[notebook], at)
		state := map[runs.Status]string{runs.Pass: "ok", runs.Fail: "failed",
			runs.Blocked: "failed"}[runs.Status(s.ColumnText(3))]
		if state != "" {
			add(notebook, "", Seen{Run: runs.RunID(s.ColumnText(1)), At: at, State: state, Value: s.ColumnFloat(4),
				Unit:    "s",
				Message: s.ColumnText(5)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = exec(x.conn, "SELECT coalesce(notebook,''), run_id, started_ns, name, state, value, unit, message FROM "+
		"(SELECT n, run_id, notebook, started_ns "+observations+") JOIN health USING(n) "+
		"ORDER BY started_ns, run_id, position",
		window, func(s *sqlite.Stmt) error {
			value := math.NaN()
			if !s.ColumnIsNull(5) {
				value = s.ColumnFloat(5)
			}
			add(s.ColumnText(0), s.ColumnText(3), Seen{Run: runs.RunID(s.ColumnText(1)), At: timeOf(s, 2),
				State: s.ColumnText(4), Value: value, Unit: s.ColumnText(6), Message: s.ColumnText(7)})
			return nil
		})
	if err != nil {
		return nil, err
	}
	list := make([]*Watched, 0, len(by))
	for _, w := range by {
		w.Reach = reach(starts[w.Notebook])
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *Watched) int {
		return slices.Compare([]string{a.Notebook, a.Check}, []string{b.Notebook, b.Check})
	})
	return list, nil
}

// reach is three times the median time between runs, a minute at least.
func reach(starts []time.Time) time.Duration {
	var gaps []float64
	for i := 1; i < len(starts); i++ {
		gaps = append(gaps, float64(starts[i].Sub(starts[i-1])))
	}
	return max(3*time.Duration(percentile(gaps, 50)), time.Minute)
}

// Until is how long the state counts that was seen at a place: until the next one, or as far as it reaches.
func (w *Watched) Until(i int, to time.Time) time.Time {
	end := w.Seen[i].At.Add(w.Reach)
	if i+1 < len(w.Seen) {
		to = w.Seen[i+1].At
	}
	if end.After(to) {
		return to
	}
	return end
}

// Level is what a check, or the runs of a notebook, have reached in a window. Times are in seconds.
type Level struct {
	Notebook string    `json:"notebook"`
	Check    string    `json:"check"` // "" for the runs
	State    string    `json:"state"` // the last one
	Since    time.Time `json:"since"` // of the first run in the window from which on it was in that state
	SeenAt   time.Time `json:"seen_at"`
	Seen     int       `json:"seen"`   // how often it was looked at
	Window   float64   `json:"window"` // its length
	Known    float64   `json:"known"`  // of the window, the time in which the state is known
	Down     float64   `json:"down"`   // of that, the time in which it was bad
	Uptime   *float64  `json:"uptime"` // percent of the known time; null if none is known
	P95      *float64  `json:"p95_ms"` // of what the check measured in ms, or the time of a run; null if there is none

	UptimeObjective *float64 `json:"uptime_objective,omitempty"` // percent
	P95Objective    *float64 `json:"p95_objective_ms,omitempty"`
	// Budget is how long it may be bad in the window, and Left how much of that is left; less than 0 if it was longer.
	Budget *float64 `json:"budget,omitempty"`
	Left   *float64 `json:"left,omitempty"`
	// Met says whether the objectives are kept to; null without one, or if nothing is known.
	Met *bool `json:"met"`
}

// Level computes what was reached between two times. measures says that a check of the notebook measures milliseconds:
// then the runs have no objective of time.
func (w *Watched) Level(from, to time.Time, o *notebooks.Objectives, measures bool) *Level {
	last := w.Seen[len(w.Seen)-1]
	l := &Level{Notebook: w.Notebook, Check: w.Check, State: last.State, SeenAt: last.At, Seen: len(w.Seen),
		Window: to.Sub(from).Seconds()}
	var times []float64
	for i := range w.Seen {
		s := &w.Seen[i]
		if i == 0 || w.Seen[i-1].State != s.State {
			l.Since = s.At
		}
		known := w.Until(i, to).Sub(s.At).Seconds()
		l.Known += known
		if !s.Good() {
			l.Down += known
		}
		switch {
		case w.Check == "":
			times = append(times, s.Value*1000)
		case s.Unit == "ms" && !math.IsNaN(s.Value):
			times = append(times, s.Value)
		}
	}
	if l.Known > 0 {
		uptime := 100 * (l.Known - l.Down) / l.Known
		l.Uptime = &uptime
	}
	if len(times) > 0 {
		p95 := percentile(times, 95)
		l.P95 = &p95
	}
	if o == nil {
		return l
	}
	met, judged := true, false
	if o.Uptime > 0 {
		budget := (100 - o.Uptime) / 100 * l.Window
		left := budget - l.Down
		l.UptimeObjective, l.Budget, l.Left = &o.Uptime, &budget, &left
		if l.Uptime != nil {
			met, judged = *l.Uptime >= o.Uptime, true
		}
	}
	if limit := float64(o.P95.Microseconds()) / 1000; limit > 0 && (w.Check != "" && l.P95 != nil || w.Check == "" &&
		!measures) {
		l.P95Objective = &limit
		if l.P95 != nil {
			met, judged = met && *l.P95 <= limit, true
		}
	}
	if judged {
		l.Met = &met
	}
	return l
}

// Measures reports whether a check has measured milliseconds.
func (w *Watched) Measures() bool {
	return w.Check != "" && slices.ContainsFunc(w.Seen, func(s Seen) bool {
		return s.Unit == "ms" &&
			!math.IsNaN(s.Value)
	})
}

// Newest returns the newest run of each notebook since a time.
func (x *Index) Newest(since time.Time) (map[string]runs.RunID, error) {
	newest := map[string]runs.RunID{}
	err := exec(x.conn, "SELECT coalesce(notebook,''), run_id "+observations+" ORDER BY started_ns, run_id",
		[]any{since.UnixNano(), int64(math.MaxInt64)}, func(s *sqlite.Stmt) error {
			newest[s.ColumnText(0)] = runs.RunID(s.ColumnText(1))
			return nil
		})
	return newest, err
}

package digest

import (
	"math"
	"slices"
	"strconv"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// Levels are what markmill health slo prints.
type Levels struct {
	At     time.Time      `json:"at"`     // end of the windows
	Levels []*index.Level `json:"levels"` // of each notebook with objectives: its runs, then its checks
}

// LevelsOf computes what was reached of the objectives that the notebooks name, in the window that each names. names
// chooses notebooks; none are all that have objectives. A notebook that was named and has none gets the default window.
func LevelsOf(store runs.Store, x *index.Index, names []string, now time.Time) (*Levels, error) {
	newest, err := x.Newest(time.Time{}.Add(time.Nanosecond))
	if err != nil {
		return nil, err
	}
	doc := &Levels{At: now.UTC(), Levels: []*index.Level{}}
	for _, notebook := range slices.Sorted(keys(newest)) {
		named := slices.Contains(names, notebook)
		o := objectives(store, newest[notebook])
		if len(names) > 0 && !named || len(names) == 0 && o == nil {
			continue
		}
		window := notebooks.DefaultWindow
		if o != nil {
			window = o.Window
		}
		list, err := x.Health(now.Add(-window), now)
		if err != nil {
			return nil, err
		}
		doc.Levels = append(doc.Levels, levels(list, notebook, now.Add(-window), now, o)...)
	}
	return doc, nil
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func levels(list []*index.Watched, notebook string, from, to time.Time, o *notebooks.Objectives) (out []*index.Level) {
	own := slices.DeleteFunc(slices.Clone(list), func(w *index.Watched) bool { return w.Notebook != notebook })
	measures := slices.ContainsFunc(own, (*index.Watched).Measures)
	for _, w := range own {
		out = append(out, w.Level(from, to, o, measures))
	}
	return out
}

// objectives are those of the notebook that a run was of; nil without any.
func objectives(store runs.Store, id runs.RunID) *notebooks.Objectives {
	source, err := store.Record(id).Source()
	if err != nil {
		return nil
	}
	nb, err := forms.Parse("notebook", source)
	if err != nil {
		return nil
	}
	return nb.Front.Objectives
}

// Digest is what markmill health digest prints.
type Digest struct {
	From      time.Time  `json:"from"`
	To        time.Time  `json:"to"`
	Notebooks []Notebook `json:"notebooks"`
}

// Notebook says how the runs of a notebook went, and its checks.
type Notebook struct {
	Notebook string         `json:"notebook"`
	Runs     int            `json:"runs"`
	Statuses map[string]int `json:"statuses"` // how many runs ended how
	Rows     []Row          `json:"rows"`     // the runs, then each check
	Changes  []Change       `json:"changes"`  // the newest first
}

// Row is a check, or the runs of a notebook.
type Row struct {
	index.Level          // of the time; what is left of the budget, and whether objectives are met, is of their window
	Strip       []string `json:"strip"` // the worst state in each of equal parts of the time; "" is not known
	Says        string   `json:"says"`  // what was seen last
}

// Change is a state that is another than the one before.
type Change struct {
	Time   time.Time  `json:"time"`
	Run    runs.RunID `json:"run_id"`
	Check  string     `json:"check"` // "" for the run
	Before string     `json:"before"`
	State  string     `json:"state"`
	Says   string     `json:"says"`
}

// Parts is how many parts a strip has.
const Parts = 48

// mostChanges is how many changes of a notebook a digest has.
const mostChanges = 100

// Make makes the digest of a time.
func Make(store runs.Store, x *index.Index, from, to time.Time) (*Digest, error) {
	list, err := x.Health(from, to)
	if err != nil {
		return nil, err
	}
	stats, err := x.Stats(index.Filter{Since: from, Until: to, Within: true})
	if err != nil {
		return nil, err
	}
	d := &Digest{From: from.UTC(), To: to.UTC(), Notebooks: []Notebook{}}
	for _, s := range stats {
		n := Notebook{Notebook: s.Notebook, Runs: s.Runs, Statuses: s.Statuses, Rows: []Row{}, Changes: []Change{}}
		whole := map[string]*index.Level{} // of the window of the objectives
		if o := objectives(store, s.IDs[0]); o != nil {
			seen, err := x.Health(to.Add(-o.Window), to)
			if err != nil {
				return nil, err
			}
			for _, l := range levels(seen, s.Notebook, to.Add(-o.Window), to, o) {
				whole[l.Check] = l
			}
		}
		own := slices.DeleteFunc(slices.Clone(list), func(w *index.Watched) bool { return w.Notebook != s.Notebook })
		for i, l := range levels(list, s.Notebook, from, to, nil) {
			w := own[i]
			if o := whole[w.Check]; o != nil {
				l.UptimeObjective, l.P95Objective, l.Budget, l.Left, l.Met = o.UptimeObjective, o.P95Objective,
					o.Budget, o.Left, o.Met
			}
			n.Rows = append(n.Rows, Row{Level: *l, Strip: strip(w, from, to), Says: says(&w.Seen[len(w.Seen)-1],
				w.Check)})
			for k := 1; k < len(w.Seen); k++ {
				if before, now := &w.Seen[k-1], &w.Seen[k]; before.State != now.State {
					n.Changes = append(n.Changes, Change{now.At, now.Run, w.Check, before.State, now.State, says(now,
						w.Check)})
				}
			}
		}
		slices.SortStableFunc(n.Changes, func(a, b Change) int { return b.Time.Compare(a.Time) })
		n.Changes = n.Changes[:min(len(n.Changes), mostChanges)]
		d.Notebooks = append(d.Notebooks, n)
	}
	slices.SortStableFunc(d.Notebooks, func(a, b Notebook) int { return worst(b) - worst(a) })
	return d, nil
}

// worst is how bad the worst state of a notebook is now.
func worst(n Notebook) (most int) {
	for _, r := range n.Rows {
		most = max(most, Severity(r.State))
	}
	return most
}

// Severity orders states, the good ones first; 0 is not known.
func Severity(state string) int {
	return slices.Index([]string{"", "ok", "warn", "critical", "failed", "error"}, state)
}

// strip has the worst state in each part of the time.
func strip(w *index.Watched, from, to time.Time) []string {
	parts := make([]string, Parts)
	part := to.Sub(from) / Parts
	for i := range w.Seen {
		s := &w.Seen[i]
		first, last := int(s.At.Sub(from)/part), int((w.Until(i, to).Sub(from)-1)/part)
		for k := max(first, 0); k <= min(max(last, first), Parts-1); k++ {
			if Severity(s.State) > Severity(parts[k]) {
				parts[k] = s.State
			}
		}
	}
	return parts
}

// says is what was measured, and the message.
func says(s *index.Seen, check string) string {
	if check == "" {
		return s.Message
	}
	data := runs.CheckData{State: "-", Unit: s.Unit, Message: s.Message}
	if !math.IsNaN(s.Value) {
		data.Value = codec.Raw(strconv.FormatFloat(s.Value, 'f', -1, 64))
	}
	words := data.Words()
	if words == "-" {
		return ""
	}
	return plain.OneLine(words[len("-: "):])
}

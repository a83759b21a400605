package sheet

import (
	"strconv"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/documents"
	"markmill/runs"
)

// Columns of a sweep that are always there.
var (
	sweepFirst = []string{"row"}
	sweepAfter = []string{"status", "seconds"}
	sweepLast  = []string{"run", "reason"}
)

// SweepTable is the table of a sweep.
type SweepTable struct {
	Sheet
	Params, Scraps []int // columns of parameters, and of scraps
}

// Sweep makes the table of a sweep: a row for each of its runs, with the parameters that differ, how it ended, and its
// scraps that fit in a cell. recorded reads what a run recorded; nil is a run that is not there.
func Sweep(s *runs.Sweep, recorded func(runs.RunID) *documents.Recorded) *SweepTable {
	var given, scraps columns
	rows := make([]row, len(s.Rows))
	left := 0
	for _, name := range s.Started.Names {
		given.set(nil, name, nil)
	}
	for i := range s.Rows {
		for _, g := range s.Rows[i].Given {
			if v, err := notebooks.ParseWire([]byte(g.Wire)); err == nil {
				rows[i].params = given.set(rows[i].params, g.Name, v.JSON())
			}
		}
		if s.Rows[i].Run == "" {
			continue
		}
		if r := recorded(s.Rows[i].Run); r != nil {
			for _, p := range r.Params { // what the row leaves to the notebook
				if at, swept := given.at[p.Name]; swept && (at >= len(rows[i].params) || rows[i].params[at] == nil) {
					rows[i].params = given.set(rows[i].params, p.Name, p.Value)
				}
			}
			for k := range r.Scraps {
				if scrap := &r.Scraps[k]; scalar(scrap) {
					rows[i].scraps = scraps.set(rows[i].scraps, scrap.Name, scrap.Value)
				} else {
					left++
				}
			}
		}
	}
	t := &SweepTable{Sheet: Sheet{Left: left}}
	taken := map[string]bool{}
	for _, list := range [][]string{sweepFirst, sweepAfter, sweepLast} {
		for _, name := range list {
			taken[name] = true
		}
	}
	place := func(names []string, prefix string) (at []int) {
		for _, name := range names {
			for taken[name] {
				name = prefix + name
			}
			taken[name] = true
			at = append(at, len(t.Columns))
			t.Columns = append(t.Columns, name)
		}
		return at
	}
	t.Columns = append(t.Columns, sweepFirst...)
	t.Params = place(given.names, "params.")
	t.Columns = append(t.Columns, sweepAfter...)
	t.Scraps = place(scraps.names, "scraps.")
	t.Columns = append(t.Columns, sweepLast...)
	for i := range s.Rows {
		t.Rows = append(t.Rows, sweepCells(i, &s.Rows[i], rows[i], len(given.names), len(scraps.names)))
	}
	return t
}

func sweepCells(i int, state *runs.SweepState, r row, params, scraps int) []codec.Raw {
	status, seconds, reason := "not run", codec.Raw(nil), ""
	switch end := state.Ended; {
	case end != nil:
		status, reason = string(end.Status), end.Reason
		seconds = codec.Raw(strconv.FormatFloat(float64(end.Millis)/1000, 'f', -1, 64))
	case state.Run != "":
		status = "not ended"
	}
	cells := []codec.Raw{codec.Raw(strconv.Itoa(i + 1))}
	cells = append(cells, padded(r.params, params)...)
	cells = append(cells, text(status), seconds)
	cells = append(cells, padded(r.scraps, scraps)...)
	return append(cells, text(string(state.Run)), text(reason))
}

func padded(cells []codec.Raw, n int) []codec.Raw {
	return append(cells, make([]codec.Raw, n-len(cells))...)
}

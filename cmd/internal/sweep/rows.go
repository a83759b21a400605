package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/render/documents"
	"markmill/render/html"
	"markmill/render/result"
	"markmill/render/sheet"
	"markmill/runs"
)

// Axis is a parameter with the values that it takes.
type Axis struct {
	Name   string
	Values []params.Given
}

// Grid says which values are run: every row of the table with every combination of the axes, the first axis the
// slowest, and then the included rows.
type Grid struct {
	Axes    []Axis
	Table   *params.Table    // nil without one
	Include [][]params.Given // rows to add
	Exclude [][]params.Given // rows to leave out: those that have all these values
	MaxRuns int              // more runs are an error; 0 is DefaultMaxRuns
}

// DefaultMaxRuns is how many runs a sweep has at most unless more are allowed, and MostRuns is how many can be.
const (
	DefaultMaxRuns = 1000
	MostRuns       = params.MostValues
)

func bad(kind notebooks.Kind, hint, format string, args ...any) *notebooks.Error {
	return &notebooks.Error{Kind: kind, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// names are the parameters that the grid gives values, in order.
func (g *Grid) names() []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if g.Table != nil {
		for _, name := range g.Table.Columns {
			add(name)
		}
	}
	for _, a := range g.Axes {
		add(a.Name)
	}
	for _, row := range g.Include {
		for _, v := range row {
			add(v.Name)
		}
	}
	return out
}

// rows are the rows of the grid, without what Exclude leaves out.
func (g *Grid) rows() ([][]params.Given, error) {
	out := [][]params.Given{nil}
	count := 1.0
	seen := map[string]bool{}
	if g.Table != nil {
		out, count = g.Table.Rows, float64(len(g.Table.Rows))
		for _, name := range g.Table.Columns {
			seen[name] = true
		}
	} else if len(g.Axes) == 0 {
		out, count = nil, 0
	}
	for _, a := range g.Axes {
		if seen[a.Name] {
			return nil, bad(notebooks.KindParameter, "give all its values in one place", "%s is swept twice", a.Name)
		}
		seen[a.Name] = true
		count *= float64(len(a.Values))
	}
	if count += float64(len(g.Include)); count > float64(g.most()) {
		hint := fmt.Sprintf("--max-runs %.0f allows that many", count)
		if count > MostRuns {
			hint = fmt.Sprintf("a sweep has %d runs at most: make several of it", MostRuns)
		}
		return nil, bad(notebooks.KindParameter, hint, "the sweep has %.0f runs, and %d are allowed", count, g.most())
	}
	for _, a := range g.Axes {
		longer := make([][]params.Given, 0, len(out)*len(a.Values))
		for _, row := range out {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clip(row), v))
			}
		}
		out = longer
	}
	return append(slices.Clip(out), g.Include...), nil
}

func (g *Grid) most() int {
	if g.MaxRuns == 0 {
		return DefaultMaxRuns
	}
	return int(math.Min(float64(g.MaxRuns), MostRuns))
}

// binder reads values by the types that the notebook declares.
type binder struct {
	notebook *notebooks.Notebook
	path     string
	common   []params.Given
	options  params.Options
}

// bind reads the values of a row.
func (b *binder) bind(row []params.Given) ([]notebooks.Bound, error) {
	return params.Bind(b.path, b.notebook.Params, append(slices.Clip(b.common), row...), b.options)
}

// values are those that were read for some names, in the order of the names; nil where the row leaves a default.
func values(bound []notebooks.Bound, names []string) []*notebooks.Bound {
	out := make([]*notebooks.Bound, len(names))
	for i, name := range names {
		for k := range bound {
			if bound[k].Param.Name == name {
				out[i] = &bound[k]
			}
		}
	}
	return out
}

// read binds all rows. It returns every mistake, each once.
func (b *binder) read(rows [][]params.Given) ([][]notebooks.Bound, error) {
	var mistakes notebooks.ErrorList
	said := map[string]bool{}
	out := make([][]notebooks.Bound, len(rows))
	for i, row := range rows {
		bound, err := b.bind(row)
		list, ok := err.(notebooks.ErrorList)
		if err != nil && !ok {
			return nil, err
		}
		for _, e := range list {
			if !said[e.Msg] {
				said[e.Msg] = true
				mistakes = append(mistakes, e)
			}
		}
		out[i] = bound
	}
	const most = 20
	if more := len(mistakes) - most; more > 0 {
		mistakes = append(mistakes[:most:most], bad(notebooks.KindParameter, "", "and %d more", more))
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return out, nil
}

// exclude leaves out the rows that have all values of an excluded one. One that no row has is an error.
func (b *binder) exclude(rows [][]params.Given, bound [][]notebooks.Bound, exclude [][]params.Given) (
	[][]params.Given, [][]notebooks.Bound, error) {
	if len(rows) == 0 {
		return rows, bound, nil
	}
	gone := make([]bool, len(rows))
	for _, values := range exclude {
		names := map[string]string{}
		for _, v := range values {
			names[v.Name] = v.Text
		}
		rest := slices.DeleteFunc(slices.Clone(rows[0]),
			func(g params.Given) bool { _, is := names[g.Name]; return is })
		wanted, err := b.bind(append(rest, values...))
		if err != nil {
			return nil, nil, err
		}
		matched := false
		for i := range rows {
			if has(bound[i], wanted, names) {
				matched, gone[i] = true, true
			}
		}
		if !matched {
			return nil, nil, bad(notebooks.KindParameter, "leave it out, or correct it",
				"--exclude %s: no run has these values", words(values, ","))
		}
	}
	var keptRows [][]params.Given
	var keptBound [][]notebooks.Bound
	for i := range rows {
		if !gone[i] {
			keptRows, keptBound = append(keptRows, rows[i]), append(keptBound, bound[i])
		}
	}
	return keptRows, keptBound, nil
}

// has reports whether a row has the wanted values of some names.
func has(row, wanted []notebooks.Bound, names map[string]string) bool {
	ordered := slices.Sorted(maps.Keys(names))
	a, b := values(row, ordered), values(wanted, ordered)
	for i := range a {
		if a[i] == nil || b[i] == nil || !a[i].Value.Equal(b[i].Value) {
			return false
		}
	}
	return true
}

// words are values as they were given, on one line.
func words(row []params.Given, between string) string {
	var out []string
	for _, g := range row {
		text := g.Text
		if g.Value != nil {
			text = g.Value.String()
		}
		out = append(out, g.Name+"="+text)
	}
	return strings.Join(out, between)
}

// Table is the table of a sweep, with the scraps of its runs. A run whose record is not kept has none.
func Table(s *runs.Sweep, store runs.Store) *sheet.SweepTable {
	return sheet.Sweep(s, func(id runs.RunID) *documents.Recorded {
		run, _, err := store.Record(id).Load()
		if err != nil {
			return nil
		}
		return documents.RunScraps(run.Started.Notebook, run)
	})
}

// Page is the page of a sweep: its table, and plots of its numeric scraps over the parameters that differ; or the
// comparison of attempts. It is one file that loads nothing.
func Page(s *runs.Sweep, store runs.Store) ([]byte, error) {
	if s.Started.Lanes != nil {
		t, lanes := sheet.Compare(Compared(s, store), nil), Comparison(s, store)
		t.Note = result.LanesWords(lanes)
		return html.Compared(t), nil
	}
	return html.Sweep(s, Table(s, store))
}

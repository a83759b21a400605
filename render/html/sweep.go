package html

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/plot"
	"markmill/render/sheet"
	"markmill/render/view"
	"markmill/runs"
	"markmill/runs/scrapbook"
)

// mostPlots bounds the plots of a page, and mostCombinations those of one scrap, one for each combination of the
// parameters that are not its axes.
const (
	mostPlots        = 60
	mostCombinations = 12
)

// mostRows bounds the rows of the table on the page of a sweep.
const mostRows = 20_000

// Sweep renders the page of a sweep: its verdict, plots of its numeric scraps, and its table.
func Sweep(s *runs.Sweep, t *sheet.SweepTable) ([]byte, error) {
	status := "not completed"
	if s.Completed != nil {
		status = string(s.Completed.Status)
	}
	st, words := statusWords(status)
	passed := 0
	for i := range s.Rows {
		if end := s.Rows[i].Ended; end != nil && end.Status.Passed() {
			passed++
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s %s: %s of %s passed.\n\n%s · %s · Markmill %s\n\n", render.Words(s.Started.Notebook),
		verdictSign(st, words), words, plain.Grouped(passed), plain.Counted(len(s.Rows), "run"),
		render.Words(string(s.Started.SweepID)), s.StartedAt.Format("2006-01-02 15:04:05Z"),
		render.Words(s.Started.Markmill))
	plots, left := Plots(t)
	fmt.Fprintf(&b, "```%s\n0\n```\n\n## Runs\n\n", view.Island)
	table := t.Sheet
	table.Rows = table.Rows[:min(len(table.Rows), mostRows)]
	if err := table.Write(&b, "markdown"); err != nil {
		return nil, err
	}
	if n := len(t.Rows) - mostRows; n > 0 {
		fmt.Fprintf(&b, "\n… and %s: markmill notebook scraps shows all.\n", plain.Counted(n, "more run"))
	}
	d := newDocument(b.Bytes())
	d.island = func(int, string) (markup, []outlined) {
		var w writer
		for _, p := range plots {
			w.put(`<p><img alt="%s" width="640" src="data:image/svg+xml;base64,%s"></p>`+"\n", cleanLine(p.Alt),
				base64.StdEncoding.EncodeToString(p.SVG))
		}
		if left > 0 {
			w.put(`<p class="dim">%s left out: the table has all values.</p>`+"\n", plain.Counted(left, "plot"))
		}
		return w.markup(), nil
	}
	bar := sprintf(`<span class="name">%s</span>`, cleanLine(s.Started.Notebook))
	return frame(s.Started.Notebook+": sweep", bar, "", d.main(), ""), nil
}

// cellText is a cell on one line.
func cellText(v codec.Raw) string {
	if len(v) == 0 || v.Kind() == 'n' {
		return ""
	}
	return plain.Cut(plain.OneLine(scrapbook.PlainText(v)), 200)
}

// axis is a parameter with its values, in order.
type axis struct {
	name   string
	column int
	marks  []string
}

func (a *axis) at(row []codec.Raw) int { return slices.Index(a.marks, cellText(row[a.column])) }

// axes are the parameters that take several values, those with the most first.
func axes(t *sheet.SweepTable) []axis {
	var out []axis
	for _, column := range t.Params {
		a := axis{name: t.Columns[column], column: column}
		numbers := true
		seen := map[string]bool{}
		for _, row := range t.Rows {
			text := cellText(row[column])
			numbers = numbers && !math.IsNaN(sheet.Number(row[column]))
			if !seen[text] {
				seen[text] = true
				a.marks = append(a.marks, text)
			}
		}
		if numbers {
			slices.SortStableFunc(a.marks, func(x, y string) int {
				n, _ := strconv.ParseFloat(x, 64)
				m, _ := strconv.ParseFloat(y, 64)
				return cmp.Compare(n, m)
			})
		}
		if len(a.marks) > 1 {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b axis) int { return len(b.marks) - len(a.marks) })
	return out
}

// Plot is a picture of a scrap over the parameters of a sweep.
type Plot struct {
	Alt string // what it shows
	SVG []byte
}

// Plots draws each numeric scrap of a sweep: over the parameter with the most values, and, where there is another, as a
// map over both. Of further parameters each combination has a plot. It also counts those that are left out, because
// there are too many or their marks have no room.
func Plots(t *sheet.SweepTable) (plots []Plot, left int) {
	all := axes(t)
	if len(all) == 0 {
		return nil, 0
	}
	over := all[:min(2, len(all))]
	alt := over[0].name
	if len(over) > 1 {
		alt += " and " + over[1].name
	}
	for _, column := range t.Scraps {
		if !slices.ContainsFunc(t.Rows, func(row []codec.Raw) bool { return !math.IsNaN(sheet.Number(row[column])) }) {
			continue
		}
		groups, names := combinations(t, all[len(over):])
		for i, rows := range groups {
			if len(plots) == mostPlots || i == mostCombinations {
				left += len(groups) - i
				break
			}
			svg, err := onePlot(t, over, rows, column, names[i])
			if err != nil {
				left++ // too many marks for the room there is
				continue
			}
			plots = append(plots, Plot{Alt: fmt.Sprintf("%s over %s", t.Columns[column], alt), SVG: svg})
		}
	}
	return plots, left
}

// combinations groups the rows by the values of some parameters, and names the groups.
func combinations(t *sheet.SweepTable, rest []axis) (groups [][][]codec.Raw, names []string) {
	for _, row := range t.Rows {
		var words []string
		for _, a := range rest {
			words = append(words, a.name+"="+cellText(row[a.column]))
		}
		name := strings.Join(words, " ")
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names, groups = append(names, name), append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	return groups, names
}

// onePlot draws a scrap over one or two parameters.
func onePlot(t *sheet.SweepTable, over []axis, rows [][]codec.Raw, column int, group string) ([]byte, error) {
	title := t.Columns[column]
	if group != "" {
		title += " · " + group
	}
	height := 1
	if len(over) > 1 {
		height = len(over[1].marks)
	}
	if len(over[0].marks) > plot.MostMarks || height > plot.MostMarks {
		return nil, fmt.Errorf("%s has too many values", over[0].name)
	}
	values := make([][]float64, height)
	for y := range values {
		values[y] = slices.Repeat([]float64{math.NaN()}, len(over[0].marks))
	}
	for _, row := range rows {
		y := 0
		if len(over) > 1 {
			y = over[1].at(row)
		}
		values[y][over[0].at(row)] = sheet.Number(row[column])
	}
	if len(over) == 1 {
		return plot.Lines(title, over[0].name, over[0].marks, []plot.Line{{Name: title, Values: values[0]}})
	}
	return plot.Heat(title, over[0].name, over[1].name, over[0].marks, over[1].marks, values)
}

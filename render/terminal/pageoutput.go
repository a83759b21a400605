package terminal

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/html"
	"markmill/render/plain"
)

// output prints one output. all prints it whole.
func (p Page) output(out *sheet, step string, o *diff.Output, all bool) {
	rule := "  " + paint("│", dim, p.Color) + " "
	if o.Name == diff.Stderr || o.Name == diff.Failure {
		rule = "  " + paint("│", red, p.Color) + " "
	}
	for _, d := range slices.Backward(o.Data) { // the richest that a terminal can show
		if !d.IsText() {
			continue
		}
		if rows, ok := rowsOf(d); ok {
			p.rows(out, rows, rule)
			return
		}
	}
	best := -1
	for i, d := range o.Data {
		if d.IsText() && (best < 0 || d.MIME == "text/plain" || o.Data[best].MIME != "text/plain" &&
			d.MIME == "text/markdown") {
			best = i
		}
	}
	if best < 0 {
		if len(o.Data) > 0 {
			d := o.Data[len(o.Data)-1]
			where := d.File
			if where != "" && p.Record.Path != "" {
				where = path.Join(p.Record.Path, where)
			}
			out.text(rule, strings.TrimSpace(fmt.Sprintf("[%s] %s", shown(d.MIME), shown(where))), dim)
		}
		return
	}
	text := strings.TrimRight(o.Data[best].Text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	from, to := len(lines), len(lines)
	if !all && len(lines) > shownLines {
		from, to = shownLines/2, len(lines)-shownLines/2
	}
	for _, l := range lines[:from] {
		out.line(rule, plain.Line([]byte(l)), "")
	}
	if to > from {
		option := ""
		if o.Name == diff.Stderr {
			option = " --stderr"
		}
		out.text(rule, p.more(to-from, "line", step, option), dim)
		for _, l := range lines[to:] {
			out.line(rule, plain.Line([]byte(l)), "")
		}
	}
}

// rowsOf reads a table in an output, the titles first.
func rowsOf(d diff.Datum) ([][]string, bool) {
	switch d.MIME {
	case "text/html":
		return html.Rows(d.Text)
	case "text/markdown":
		return markdownRows(d.Text)
	}
	return nil, false
}

// markdownRows reads a text that consists of one Markdown table.
func markdownRows(text string) (rows [][]string, ok bool) {
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		l = strings.TrimSpace(l)
		if !strings.HasPrefix(l, "|") || !strings.HasSuffix(l, "|") || len(l) < 2 {
			return nil, false
		}
		row := diffview.Pipes(l)
		if i == 1 {
			if !slices.ContainsFunc(row, func(s string) bool { return strings.Trim(s, "-: ") != "" }) {
				continue
			}
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, len(rows) > 1
}

// rows prints a table, the titles first.
func (p Page) rows(out *sheet, rows [][]string, lead string) {
	left := len(rows) - 1 - shownRows
	if left > 0 {
		rows = rows[:1+shownRows]
	}
	var t table
	for i, row := range rows {
		cells := make([]cell, len(row))
		for j, text := range row {
			ink := ""
			if i == 0 {
				ink = dim
			}
			cells[j] = cell{shown(plain.Cut(text, 200)), ink}
		}
		t.add(cells...)
	}
	out.fitted(&t, lead)
	if left > 0 {
		out.text(lead, fmt.Sprintf("… %s", plain.Counted(left, "more row")), dim)
	}
}

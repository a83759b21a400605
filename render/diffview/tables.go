package diffview

import (
	"cmp"
	"fmt"
	"html"
	"strings"

	"markmill/notebooks/diff"
	"markmill/notebooks/lazyregexp"
)

// cellWords names the table cells that a hunk changes: row, column, old and new value. It returns nil if the hunk is
// not in a table, or changes the table's shape. old holds all lines of the old text.
func cellWords(h diff.Hunk, old []string) []string {
	if len(h.Old) != len(h.New) || len(h.Old) == 0 || h.A < 1 || h.A > len(old) {
		return nil
	}
	var out []string
	for i := range h.Old {
		var words []string
		switch was := strings.TrimSpace(h.Old[i]); {
		case strings.HasPrefix(was, "|"):
			words = pipeCells(old, h.A-1+i, was, strings.TrimSpace(h.New[i]))
		case strings.HasPrefix(was, "<td") || strings.HasPrefix(was, "<th"):
			words = htmlCell(old, h.A-1+i, was, strings.TrimSpace(h.New[i]))
		}
		if words == nil {
			return nil
		}
		out = append(out, words...)
	}
	return out
}

// pipeCells compares two lines of a table in Markdown, whose head stands above them.
func pipeCells(old []string, at int, was, is string) []string {
	head := at
	for head > 0 && strings.HasPrefix(strings.TrimSpace(old[head-1]), "|") {
		head--
	}
	if head+2 > at || !isRule(old[head+1]) {
		return nil
	}
	names, a, b := Pipes(old[head]), Pipes(was), Pipes(is)
	if len(a) != len(b) || len(names) != len(a) {
		return nil
	}
	var out []string
	for i := range a {
		if a[i] != b[i] {
			out = append(out, place(a, i, at-head-1, names[i])+": "+a[i]+" → "+b[i])
		}
	}
	return out
}

// place names a cell: its row by its first cell, or by its number where that is what changed.
func place(row []string, i, number int, column string) string {
	name := row[0]
	if i == 0 || name == "" {
		name = fmt.Sprint(number)
	}
	return "row " + name + ", column " + cmp.Or(column, fmt.Sprint(i+1))
}

// isRule reports whether a line stands between the head of a table and its rows.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-") && strings.Trim(line, "|:- ") == ""
}

// Pipes splits a line of a table. A bar that is escaped is text.
func Pipes(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	out := strings.Split(line, "|")
	for i := range out {
		out[i] = strings.ReplaceAll(strings.TrimSpace(out[i]), bar, "|")
	}
	return out
}

var tableTag = lazyregexp.New(`(?i)<(tr|th|td)\b[^>]*>([^<]*)`)

// htmlCell compares two lines of a table in HTML that hold a cell each, as pandas writes them.
func htmlCell(old []string, at int, was, is string) []string {
	a, b := tableTag.FindStringSubmatch(was), tableTag.FindStringSubmatch(is)
	if a == nil || b == nil {
		return nil
	}
	first := at
	for first > 0 && !strings.Contains(strings.ToLower(old[first]), "<table") {
		first--
	}
	var rows [][]string
	for _, line := range old[first : at+1] {
		for _, m := range tableTag.FindAllStringSubmatch(line, -1) {
			if strings.EqualFold(m[1], "tr") {
				rows = append(rows, nil)
			} else if len(rows) > 0 {
				rows[len(rows)-1] = append(rows[len(rows)-1], html.UnescapeString(strings.TrimSpace(m[2])))
			}
		}
	}
	if len(rows) < 2 {
		return nil
	}
	row := rows[len(rows)-1]
	i := len(row) - 1
	if i < 0 || i >= len(rows[0]) {
		return nil
	}
	return []string{place(row, i, len(rows)-1, rows[0][i]) + ": " + html.UnescapeString(strings.TrimSpace(a[2])) +
		" → " + html.UnescapeString(strings.TrimSpace(b[2]))}
}

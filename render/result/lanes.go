package result

import (
	"fmt"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/safe"
)

// laneWords say how many attempts pass: "3 of 5 attempts pass, 2 of them identical".
func laneWords(l *notebooks.ManifestLanes) string {
	words := fmt.Sprintf("%d of %d attempts pass", l.Passed, len(l.Rows)-l.NotBegun)
	switch {
	case len(l.Identical) == 1 && l.Identical[0] == l.Passed:
		words += ", all identical"
	case len(l.Identical) > 0:
		sizes := make([]string, len(l.Identical))
		for i, n := range l.Identical {
			sizes[i] = fmt.Sprint(n)
		}
		words += ", " + strings.Join(sizes, " and ") + " of them identical"
	}
	if l.Flaky > 0 {
		words += fmt.Sprintf(", %d with flaky tests", l.Flaky)
	}
	if l.NotBegun > 0 {
		words += fmt.Sprintf(", %d not begun", l.NotBegun)
	}
	return words
}

// LanesWords say both how many attempts pass, and which is picked.
func LanesWords(l *notebooks.ManifestLanes) string { return laneWords(l) + "; " + pickWords(l) }

// pickWords say which attempt is picked, and by which rule.
func pickWords(l *notebooks.ManifestLanes) string {
	switch {
	case l.Pick == notebooks.PickNone:
		return "none is picked"
	case l.Picked < 1 || l.Picked > len(l.Rows):
		return "none can be picked (" + l.Pick + ")"
	}
	return fmt.Sprintf("%s is picked (%s)", cell(l.Rows[l.Picked-1], 0), l.Pick)
}

// Lanes is the document of a comparison, as lines of Markdown: words, and a table of the columns that are not empty.
func Lanes(l *notebooks.ManifestLanes) []string {
	rows := make([]string, 2+len(l.Rows))
	for i, name := range l.Columns {
		used, numbers := false, true
		for _, row := range l.Rows {
			text := cell(row, i)
			used = used || text != ""
			numbers = numbers && (text == "" || row[i].Kind() == '0')
		}
		if !used {
			continue
		}
		rows[0] += "| " + safe.Inline(plain.Escape(oneLine(name, 80))) + " "
		if rows[1] += "| --- "; numbers {
			rows[1] = strings.TrimSuffix(rows[1], " ") + ": "
		}
		for n, row := range l.Rows {
			rows[2+n] += "| " + safe.Inline(plain.Escape(oneLine(cell(row, i), 200))) + " "
		}
	}
	lines := []string{safe.Inline(plain.Escape(LanesWords(l))), ""}
	for _, row := range rows {
		lines = append(lines, row+"|")
	}
	return lines
}

// cell is a cell as text, "" for one that is missing.
func cell(row []codec.Raw, i int) string {
	if i >= len(row) || len(row[i]) == 0 || row[i].Kind() == 'n' {
		return ""
	}
	return safe.CellText(row[i])
}

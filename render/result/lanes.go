package result

import (
	"fmt"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/safe"
)

// LaneWords say how many attempts pass: "3 of 5 attempts pass, 2 of them identical".
func LaneWords(l *notebooks.ManifestLanes) string {
	words := fmt.Sprintf("%d of %s pass", l.Passed, plain.Counted(len(l.Rows)-l.NotBegun, "attempt"))
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

// PickWords say which attempt is picked, and by which rule.
func PickWords(l *notebooks.ManifestLanes) string {
	switch {
	case l.Pick == notebooks.PickNone:
		return "none is picked"
	case l.Picked < 1 || l.Picked > len(l.Rows):
		return "none can be picked (" + l.Pick + ")"
	}
	return fmt.Sprintf("%s is picked (%s)", cell(l.Rows[l.Picked-1], 0), l.Pick)
}

// lanesMarkdown is the comparison as lines of Markdown: words and a table. Columns that are empty are left out.
func lanesMarkdown(l *notebooks.ManifestLanes) []string {
	lines := []string{safe.Inline(plain.Escape(LaneWords(l) + "; " + PickWords(l))), "", "", ""}
	for i, name := range l.Columns {
		used, number := false, true
		for _, row := range l.Rows {
			text := cell(row, i)
			used = used || text != ""
			number = number && (text == "" || row[i].Kind() == '0')
		}
		if !used {
			continue
		}
		rule := "| --- "
		if number {
			rule = "| ---: "
		}
		lines[2], lines[3] = lines[2]+"| "+safe.Inline(plain.Escape(oneLine(name, 80)))+" ", lines[3]+rule
		for n, row := range l.Rows {
			if len(lines) == n+4 {
				lines = append(lines, "")
			}
			lines[n+4] += "| " + safe.Inline(plain.Escape(oneLine(cell(row, i), 200))) + " "
		}
	}
	for i := 2; i < len(lines); i++ {
		lines[i] += "|"
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

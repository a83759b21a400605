package terminal

import (
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// table is a table with aligned columns, two spaces apart.
type table struct {
	rows  [][]cell
	right []int // columns of numbers, which end at the same place
	whole []int // columns that fit does not cut
}

// cell is text and its color, "" for none.
type cell struct{ text, color string }

// add appends a row.
func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// header appends a row of titles.
func (t *table) header(titles ...string) {
	row := make([]cell, len(titles))
	for i, s := range titles {
		row[i] = cell{s, dim}
	}
	t.rows = append(t.rows, row)
}

// widths returns the width of each column.
func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(c.text))
		}
	}
	return widths
}

// write prints the table. No line ends in a space.
func (t *table) write(w io.Writer, indent string, color bool) error {
	widths := t.widths()
	var b strings.Builder
	for _, row := range t.rows {
		line, pad := indent, ""
		for i, c := range row {
			gap := strings.Repeat(" ", widths[i]-lipgloss.Width(c.text))
			if slices.Contains(t.right, i) {
				pad, gap = pad+gap, ""
			}
			if c.text != "" {
				line += pad + paint(c.text, c.color, color && c.color != "")
				pad = ""
			}
			pad += gap + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leastColumn is the width below which fit cuts no column.
const leastColumn = 8

// fit cuts cells to fit a line into room columns, the widest first, as far as columns can shrink.
func (t *table) fit(room int) {
	widths := t.widths()
	total := 2 * max(0, len(widths)-1)
	for _, w := range widths {
		total += w
	}
	for total > room {
		widest := -1
		for i, w := range widths {
			if w > leastColumn && (widest < 0 || w > widths[widest]) && !slices.Contains(t.whole, i) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	for _, row := range t.rows {
		for i := range row {
			if lipgloss.Width(row[i].text) > widths[i] {
				row[i].text = ansi.Truncate(row[i].text, widths[i], "…")
			}
		}
	}
}

package terminal

import (
	"io"
	"strings"

	"charm.land/lipgloss/v2"
)

// table is rows of cells, printed in aligned columns two spaces apart.
type table struct {
	rows [][]cell
}

// cell is text and its colour, "" for none.
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

// write prints the table. No line ends in a space.
func (t *table) write(w io.Writer, indent string, color bool) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(c.text))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		line, pad := indent, ""
		for i, c := range row {
			if c.text != "" {
				line += pad + paint(c.text, c.color, color && c.color != "")
				pad = ""
			}
			pad += strings.Repeat(" ", widths[i]-lipgloss.Width(c.text)+2)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

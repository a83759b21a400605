package sheet

import (
	"bufio"
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
	"markmill/runs/parquet"
	"markmill/runs/scrapbook"
)

// Formats lists the output formats; the first is for terminals.
var Formats = []string{"table", "json", "jsonl", "csv", "parquet", "markdown"}

// Write writes a sheet in one of Formats.
func (s *Sheet) Write(to io.Writer, format string) error {
	w := bufio.NewWriter(to)
	var err error
	switch format {
	case "json":
		err = s.json(w, "[\n", ",\n", "\n]\n")
	case "jsonl":
		err = s.json(w, "", "\n", "\n")
	case "csv":
		err = s.csv(w, false)
	case "parquet":
		err = s.parquet(w)
	case "markdown":
		s.markdown(w)
	default:
		for i, part := range s.parts() {
			if i > 0 {
				w.WriteByte('\n')
			}
			part.table(w)
		}
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// json writes a row as an object with all columns in order. Empty cells are null.
func (s *Sheet) json(w *bufio.Writer, begin, between, end string) error {
	if len(s.Rows) == 0 {
		if begin != "" {
			w.WriteString("[]\n")
		}
		return nil
	}
	keys := make([][]byte, len(s.Columns))
	for i, name := range s.Columns {
		key, err := codec.Marshal(name)
		if err != nil {
			return err
		}
		keys[i] = append(key, ':')
	}
	w.WriteString(begin)
	for n, row := range s.Rows {
		if n > 0 {
			w.WriteString(between)
		}
		for i, v := range row {
			w.WriteByte("{,"[min(i, 1)])
			w.Write(keys[i])
			if len(v) == 0 {
				v = codec.Raw("null")
			}
			v = scrapbook.Untagged(v)
			if err := v.Compact(); err != nil {
				return err
			}
			w.Write(v)
		}
		w.WriteByte('}')
	}
	w.WriteString(end)
	return nil
}

// WriteSpreadsheet writes CSV for spreadsheets: with a byte order mark, and with an apostrophe before text that
// would be taken for a formula (OWASP, CSV injection).
func (s *Sheet) WriteSpreadsheet(to io.Writer) error {
	w := bufio.NewWriter(to)
	w.WriteString("\uFEFF")
	if err := s.csv(w, true); err != nil {
		return err
	}
	return w.Flush()
}

func (s *Sheet) csv(w io.Writer, spreadsheet bool) error {
	out := csv.NewWriter(w)
	out.UseCRLF = spreadsheet
	safe := func(text string, isText bool) string {
		if spreadsheet && isText && text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
			return "'" + text
		}
		return text
	}
	line := make([]string, len(s.Columns))
	for i, name := range s.Columns {
		line[i] = safe(name, true)
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, row := range s.Rows {
		for i, v := range row {
			line[i] = safe(plainText(v), v.Kind() != '0')
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// plainText formats a value as text, "" for a missing value.
func plainText(v codec.Raw) string {
	if empty(v) {
		return ""
	}
	if v.Kind() == '{' || v.Kind() == '[' {
		v = v.Clone()
		if v.Compact() != nil {
			return ""
		}
	}
	return scrapbook.PlainText(v)
}

func (s *Sheet) parquet(w io.Writer) error {
	columns := make([]parquet.Column, len(s.Columns))
	cells := make([]codec.Raw, len(s.Rows))
	for i, name := range s.Columns {
		for n, row := range s.Rows {
			cells[n] = row[i]
		}
		columns[i] = scrapbook.ColumnOf(name, cells)
	}
	return parquet.Write(w, columns)
}

// empty reports whether a cell is nil or null.
func empty(v codec.Raw) bool { return len(v) == 0 || v.Kind() == 'n' }

// used returns the columns that are not empty, and those that say where a row comes from.
func (s *Sheet) used() []int {
	var out []int
	for i := range s.Columns {
		if slices.ContainsFunc(s.Rows, func(row []codec.Raw) bool { return !empty(row[i]) }) {
			out = append(out, i)
		}
	}
	return out
}

// Bounds of displayed cells, in characters.
const (
	tableCell    = 40
	markdownCell = 200
)

// brief formats a value on one line.
func brief(v codec.Raw, most int) string {
	return plain.Cut(plain.OneLine(plainText(v)), most-1)
}

// brief formats a cell on one line; of a check it is the state.
func (s *Sheet) brief(n, i, most int) string {
	v := s.Rows[n][i]
	if c, err := runs.CheckOf(s.Columns[i], v); err == nil && !empty(v) {
		return string(c.State) + s.mark(n, i)
	}
	return brief(v, most) + s.mark(n, i)
}

// parts are the rows as tables of their own, where they have no column in common but those that all have.
func (s *Sheet) parts() (parts []*Sheet) {
	if s.marks != nil {
		return []*Sheet{s}
	}
	var columns []map[int]bool // of each part
	for _, row := range s.Rows {
		own := map[int]bool{}
		for i, v := range row {
			if !empty(v) && !slices.Contains(first, s.Columns[i]) {
				own[i] = true
			}
		}
		at := slices.IndexFunc(columns, func(part map[int]bool) bool {
			shared := len(own) == 0 && len(part) == 0
			for i := range own {
				shared = shared || part[i]
			}
			return shared
		})
		if at < 0 {
			at, parts, columns = len(parts), append(parts, &Sheet{Columns: s.Columns}), append(columns, map[int]bool{})
		}
		parts[at].Rows = append(parts[at].Rows, row)
		maps.Copy(columns[at], own)
	}
	return parts
}

func (s *Sheet) markdown(w *bufio.Writer) {
	used := s.used()
	line := func(cell func(i int) string) {
		for _, i := range used {
			w.WriteString("| " + safe.Inline(cell(i)) + " ")
		}
		w.WriteString("|\n")
	}
	if len(used) == 0 {
		return
	}
	line(func(i int) string { return plain.Escape(s.Columns[i]) })
	for _, i := range used {
		if s.IsNumber(i) {
			w.WriteString("| ---: ")
		} else {
			w.WriteString("| --- ")
		}
	}
	w.WriteString("|\n")
	for n := range s.Rows {
		line(func(i int) string { return strings.TrimRight(s.brief(n, i, markdownCell), " ") })
	}
}

// IsNumber reports whether a column holds only numbers.
func (s *Sheet) IsNumber(i int) bool {
	found := false
	for _, row := range s.Rows {
		if empty(row[i]) {
			continue
		}
		if found = row[i].Kind() == '0'; !found {
			return false
		}
	}
	return found
}

// table writes aligned columns, numbers to the right.
func (s *Sheet) table(w *bufio.Writer) {
	used := s.used()
	if len(used) == 0 {
		return
	}
	cells := make([][]string, 1, len(s.Rows)+1)
	widths := make([]int, len(used))
	for _, i := range used {
		cells[0] = append(cells[0], brief(text(s.Columns[i]), tableCell))
	}
	for n := range s.Rows {
		var line []string
		for _, i := range used {
			most := tableCell
			if i == 0 {
				most = 1 << 10 // a path is of use whole
			}
			line = append(line, s.brief(n, i, most))
		}
		cells = append(cells, line)
	}
	for _, line := range cells {
		for k, cell := range line {
			widths[k] = max(widths[k], lipgloss.Width(cell))
		}
	}
	numbers := make([]bool, len(used))
	for k, i := range used {
		numbers[k] = s.IsNumber(i)
	}
	for _, line := range cells {
		var b strings.Builder
		for k, cell := range line {
			gap := strings.Repeat(" ", widths[k]-lipgloss.Width(cell))
			if numbers[k] {
				b.WriteString(gap + cell + "  ")
			} else {
				b.WriteString(cell + gap + "  ")
			}
		}
		w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

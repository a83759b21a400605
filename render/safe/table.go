package safe

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// table is a table scrap that names its columns once.
type table struct {
	Columns []codec.Raw   `json:"columns"`
	Data    [][]codec.Raw `json:"data"`
	Rows    [][]codec.Raw `json:"rows"`
}

// texts returns the cells of a row as text, one for each column.
func (t *table) texts(cells []codec.Raw) []string {
	row := make([]string, len(t.Columns))
	for i := range min(len(row), len(cells)) {
		if len(cells[i]) > 0 {
			row[i] = CellText(cells[i])
		}
	}
	return row
}

// Bounds of a displayed table. The JSON has the rest.
const (
	MaxRows    = 50
	MaxColumns = 30
)

// WriteTable writes a table scrap as a Markdown table. It accepts a list of objects, and columns with data or rows,
// and writes nothing for a value of another shape.
func WriteTable(b *bytes.Buffer, s runs.ScrapData, c *Cleaner) {
	t, ok := ReadTable(s.Value)
	if !ok || len(t.Columns) > MaxColumns {
		return
	}
	fmt.Fprintf(b, "**%s**\n\n", Inline(c.OneLine(s.Name, 200)))
	row := func(cells []codec.Raw) {
		for _, text := range t.texts(cells) {
			fmt.Fprintf(b, "| %s ", Inline(c.OneLine(text, 200)))
		}
		b.WriteString("|\n")
	}
	row(t.Columns)
	b.WriteString(strings.Repeat("| --- ", len(t.Columns)) + "|\n")
	for _, cells := range t.Data[:min(MaxRows, len(t.Data))] {
		row(cells)
	}
	b.WriteByte('\n')
	if n := len(t.Data) - MaxRows; n > 0 {
		fmt.Fprintf(b, "… %s elided.\n\n", plain.Counted(n, "row"))
	}
}

// ReadTable reads the value of a table scrap: a list of objects, or columns with data or rows.
func ReadTable(value codec.Raw) (table, bool) {
	var t table
	if codec.Unmarshal(value, &t) == nil && len(t.Columns) > 0 {
		t.Data = append(t.Data, t.Rows...)
		return t, true
	}
	var records []map[string]codec.Raw
	if codec.Unmarshal(value, &records) != nil || len(records) == 0 {
		return table{}, false
	}
	names := map[string]bool{}
	for _, r := range records {
		for name := range r {
			names[name] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	t = table{}
	for _, name := range sorted {
		title, err := codec.Marshal(name)
		if err != nil {
			return table{}, false
		}
		t.Columns = append(t.Columns, title)
	}
	for _, r := range records {
		cells := make([]codec.Raw, len(sorted))
		for i, name := range sorted {
			cells[i] = r[name]
		}
		t.Data = append(t.Data, cells)
	}
	return t, len(sorted) > 0
}

// CellText formats a value for a cell: strings as they are, nothing for a missing value, else JSON.
func CellText(v codec.Raw) string {
	var s string
	if codec.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

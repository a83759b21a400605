package render

import "markmill/notebooks/codec"

// TableRows is the value of a table scrap as rows of text, the titles first; ok is false for a value of another shape.
// It knows a list of objects, and columns with data or rows.
func TableRows(value codec.Raw) (rows [][]string, ok bool) {
	t, ok := readTable(value)
	if !ok {
		return nil, false
	}
	for _, cells := range append([][]codec.Raw{t.Columns}, t.Data...) {
		row := make([]string, len(t.Columns))
		for i := range min(len(row), len(cells)) {
			if len(cells[i]) > 0 {
				row[i] = cellText(cells[i])
			}
		}
		rows = append(rows, row)
	}
	return rows, true
}

package program

import (
	"time"

	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/sheet"
)

// Grid is a table for a terminal.
type Grid struct{ sheet.Sheet }

func NewGrid(columns ...string) *Grid { return &Grid{sheet.Sheet{Columns: columns}} }

// Add adds a row of texts and numbers.
func (l *Grid) Add(cells ...any) {
	row := make([]codec.Raw, len(cells))
	for i, cell := range cells {
		text, err := codec.Marshal(cell)
		if err != nil {
			text = []byte(`"?"`) // a name that is not UTF-8
		}
		row[i] = text
	}
	l.Rows = append(l.Rows, row)
}

func Took(seconds float64) string {
	return render.Duration(time.Duration(seconds * float64(time.Second)))
}

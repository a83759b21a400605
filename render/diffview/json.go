package diffview

import (
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
)

// Version is the version of the JSON. Members are only ever added to a version.
const Version = 1

// side describes one side of a comparison.
type side struct {
	Name   string   `json:"name"`
	Form   string   `json:"form"`
	Status string   `json:"status,omitzero"`
	Source string   `json:"source,omitzero"` // digest of the source notebook
	Cells  int      `json:"cells"`
	Notes  []string `json:"notes,omitempty"`
}

func sideOf(d *diff.Document) side {
	return side{d.Name, d.Form, d.Status, d.Source, len(d.Cells), d.Notes}
}

// JSON returns the comparison for programs (docs/review.md).
func JSON(d *diff.Diff) ([]byte, error) { return codec.Indent(Value(d)) }

// Value returns what JSON writes, to stand in a larger value.
func Value(d *diff.Diff) any {
	return struct {
		Version int  `json:"version"`
		A       side `json:"a"`
		B       side `json:"b"`
		*diff.Diff
	}{Version, sideOf(d.Old), sideOf(d.New), d}
}

// WithoutCells returns a comparison without its cells, where another one holds the same.
func WithoutCells(d *diff.Diff) *diff.Diff {
	short := *d
	short.Cells = []diff.CellChange{}
	return &short
}

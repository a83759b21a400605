package notebooks

import "markmill/notebooks/codec"

// Cell is a code cell of a form that another package reads.
type Cell struct {
	ID       string // as the form has it; "" without one
	Place    int    // among all cells, from 1: names a cell without an id; 0: its place among the steps does
	Lang     string
	Apart    bool // the cell itself says its language
	Code     string
	At       Span // the whole cell in the source
	Line     int  // where it begins
	CodeLine int  // where its code begins
	Tags     []string
	Options  []Option
	Block    string // the YAML that declares the parameters it assigns; "" if it declares them itself
	Strict   bool   // an option that nobody knows is a mistake, and not another tool's
}

// Option is an attribute of a cell, as one of an info string is.
type Option struct {
	Name  string
	Value codec.Raw
	At    int // offset in the source
}

// FrontMatter is a front matter that such a reader found.
type FrontMatter struct {
	Text   []byte                         // YAML or JSON: names and values
	At     Span                           // all of it, its marks included
	Place  func(line, col int) (int, int) // of the source, of a place in Text; all from 1
	Strict bool                           // a key that nobody knows is a mistake, and not another tool's
}

// CellFile is what such a reader found in a file.
type CellFile struct {
	Name        string
	Source      []byte
	Form        Form
	FrontMatter []FrontMatter
	Head        *FrontMatter // the text at the head that is no front matter for the reader; nil without one
	Cells       []Cell
}

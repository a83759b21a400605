package percent

import (
	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
)

// Form is the name of this form.
const Form = notebooks.FormPercent

// Script is a script that was read.
type Script struct {
	Name     string // as messages call it
	Source   []byte
	Language Language // of the ending
	Lang     string   // of the cells: what the header says, or else the language of the ending
	Header   Header
	Light    bool // cells are parted by empty lines
	Marimo   bool // cells are the functions of a notebook of marimo's
	Cells    []Cell
	Warnings notebooks.ErrorList // what runs, and a reader should know

	mistakes notebooks.ErrorList // because of which it cannot run

	lines []blocks.Line
}

// Header is the YAML in comments at the head of a script.
type Header struct {
	Given    bool
	Text     string // without the comment signs and the marks
	At       notebooks.Span
	Jupytext bool // Jupytext has written it

	first int // index of the line after the first mark
}

// Kind is what a cell holds.
type Kind string

// As Jupyter calls them.
const (
	Code     Kind = "code"
	Markdown Kind = "markdown"
	Raw      Kind = "raw"
)

// Cell is one cell.
type Cell struct {
	Kind     Kind
	Title    string             // the words on the marker line
	Depth    int                // how many further % there are
	Short    bool               // Markdown is spelled [md]
	Metadata []notebooks.Option // in the order of the marker line
	Lang     string             // of code; another than the script's where the cell says so
	// without comment signs, where they are not the author's; lines end with \n, the last one does not
	Source   string
	At       notebooks.Span
	Line     int  // of the marker, or of the first line
	CodeLine int  // of the first line of Source
	Marked   bool // it has a marker line
}

// Field finds a field of the cell; nil without one.
func (c *Cell) Field(name string) codec.Raw {
	for _, f := range c.Metadata {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Tags returns the tags of the cell.
func (c *Cell) Tags() []string { return tagsOf(c.Field("tags")) }

// tagsOf reads the value of tags: a list, or one tag.
func tagsOf(raw codec.Raw) []string {
	var tags []string
	if raw == nil || codec.UnmarshalForeign(raw, &tags) == nil {
		return tags
	}
	if one := text(raw); one != "" {
		return []string{one}
	}
	return nil
}

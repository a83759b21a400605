package ipynb

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads a notebook. The errors are *notebooks.Error, with line and column.
func Parse(name string, src []byte) (*Notebook, error) {
	checked := make(chan error, 1) // beside the reading, which takes longer
	go func() { checked <- notebooks.CheckText(name, src) }()
	r := &reader{nb: &Notebook{Name: name, Source: src}}
	if bytes.HasPrefix(src, byteOrderMark) {
		r.start = len(byteOrderMark)
	}
	if len(bytes.TrimSpace(src[r.start:])) == 0 {
		return nil, r.problem(0, "the file is empty, and a notebook is a JSON object with cells",
			`one without cells is {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`)
	}
	err := r.notebook()
	if bad := <-checked; bad != nil {
		return nil, bad
	}
	if err != nil {
		return nil, r.located(err)
	}
	r.warn()
	return r.nb, nil
}

// reader is a reading at work.
type reader struct {
	nb    *Notebook
	c     *codec.Cursor
	start int
	old   bool // within the worksheets of an old file

	places *notebooks.Places // nil until there is something to tell
}

// misfit is a value of the wrong kind, which no JSON reader would complain about.
type misfit struct {
	offset int
	msg    string
	hint   string
}

func (m *misfit) Error() string { return m.msg }

// located gives an error its line and column.
func (r *reader) located(err error) error {
	var syntax *codec.SyntaxError
	var wrong *misfit
	switch {
	case errors.As(err, &syntax):
		wrong = &misfit{offset: syntax.Offset, msg: fmt.Sprintf("the notebook is not JSON: expected %s, found %s",
			syntax.Want, syntax.Found),
			hint: "mend it there, or save the notebook in Jupyter again"}
	case !errors.As(err, &wrong):
		return err
	}
	if wrong.offset >= len(r.nb.Source) || syntax != nil && syntax.AtEnd() {
		wrong.hint = "the file was cut: take a whole copy of it"
	}
	if conflict(r.nb.Source, wrong.offset) {
		wrong.hint = "these are the conflict lines of a merge: take one side of each"
	}
	return r.problem(wrong.offset, wrong.msg, wrong.hint)
}

// conflict reports whether the line of an offset is one that Git puts around the sides of a conflict.
func conflict(src []byte, offset int) bool {
	line := src[bytes.LastIndexByte(src[:min(offset, len(src))], '\n')+1:]
	for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(line, []byte(mark)) {
			return true
		}
	}
	return false
}

func (r *reader) problem(offset int, msg, hint string) *notebooks.Error {
	if r.places == nil {
		r.places = notebooks.NewPlaces(r.nb.Source)
	}
	line, col := r.places.Position(offset)
	return &notebooks.Error{Kind: notebooks.KindSyntax, File: r.nb.Name, Line: line, Col: col, Msg: msg, Hint: hint}
}

// notebook reads the file, in one pass: what its cells are is known before it is known of which form they are.
func (r *reader) notebook() error {
	r.c = codec.NewCursor(r.nb.Source, r.start)
	if r.c.Kind() != '{' {
		found := r.c.Expected("{").(*codec.SyntaxError).Found
		return &misfit{r.c.Offset(), "expected a notebook: a JSON object that begins with {, found " + found,
			"an .ipynb is a file that Jupyter saved; a Markdown notebook ends in .md"}
	}
	var form, minor Value
	var flat, sheets group
	whole, err := r.c.Object(func(name []byte, _ codec.Span) (err error) {
		switch string(name) {
		case "cells":
			flat = group{given: true}
			err = r.cells(&flat)
		case "worksheets":
			sheets = group{given: true}
			err = r.worksheets(&sheets)
		case "metadata":
			r.nb.Metadata, err = r.object("the metadata of a notebook")
		case "nbformat":
			form, err = r.value()
		case "nbformat_minor":
			minor, err = r.value()
		default:
			_, err = r.c.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := r.c.End(); err != nil {
		return err
	}
	if err := r.version(form, minor, whole); err != nil {
		return err
	}
	cells := flat
	if r.nb.NBFormat < 4 {
		cells = sheets
	}
	if !cells.given {
		return &misfit{whole.Start, "the notebook has no list of cells", `a notebook without cells has "cells": []`}
	}
	r.nb.Cells, r.nb.lists = cells.cells, cells.lists
	return nil
}

// group are cells as they are found.
type group struct {
	cells []Cell
	lists []list
	given bool
}

// version reads nbformat and nbformat_minor.
func (r *reader) version(form, minor Value, whole codec.Span) (err error) {
	if form.Raw == nil {
		return &misfit{whole.Start, `this JSON object is no notebook: it has no "nbformat"`, `a notebook has "nbformat": 4`}
	}
	if r.nb.NBFormat, err = strconv.Atoi(string(form.Raw)); err != nil {
		return &misfit{form.Span.Start, "nbformat must be a whole number", `write "nbformat": 4`}
	}
	if r.nb.NBFormat < 2 || r.nb.NBFormat > 4 {
		return &misfit{form.Span.Start, fmt.Sprintf("nbformat %d is not known; 4 is, and 3 and 2 are read", r.nb.NBFormat),
			""}
	}
	if minor.Given() {
		if r.nb.Minor, err = strconv.Atoi(string(minor.Raw)); err != nil {
			return &misfit{minor.Span.Start, "nbformat_minor must be a whole number", `write "nbformat_minor": 5`}
		}
	}
	return nil
}

// cells reads an array of cells.
func (r *reader) cells(g *group) error {
	if r.c.Kind() != '[' {
		return &misfit{r.c.Offset(), "the cells must be a list", ""}
	}
	l := list{first: len(g.cells)}
	var err error
	l.span, err = r.c.Array(func() error {
		if r.c.Kind() != '{' {
			return &misfit{r.c.Offset(), "a cell must be an object", ""}
		}
		cell, err := r.cell()
		g.cells = append(g.cells, cell)
		return err
	})
	l.end = len(g.cells)
	g.lists = append(g.lists, l)
	return err
}

func (r *reader) cell() (cell Cell, err error) {
	var level Value
	cell.Span, err = r.c.Object(func(name []byte, _ codec.Span) (err error) {
		switch string(name) {
		case "cell_type":
			cell.Type, err = r.string("cell_type")
		case "id":
			cell.IDAt, err = r.textValue("the id of a cell", &cell.ID)
		case "source", "input": // the latter in code cells of nbformat 3
			cell.SourceAt, err = r.joined("the source of a cell", &cell.Source)
		case "metadata":
			err = r.cellMetadata(&cell)
		case "outputs":
			err = r.outputs(&cell)
		case "execution_count", "prompt_number":
			cell.Count, err = r.value()
		case "attachments":
			cell.Attachments, err = r.value()
		case "level":
			level, err = r.value()
		case "language":
			var v Value
			if v, err = r.value(); err == nil && r.old {
				cell.Language = v.Text()
			}
		case "collapsed":
			cell.Collapsed, err = r.value()
		default:
			_, err = r.c.Skip()
		}
		return err
	})
	if err != nil {
		return cell, err
	}
	if cell.Type == "" {
		return cell, &misfit{cell.Span.Start, "this cell has no cell_type", "it is code, markdown or raw"}
	}
	upgrade(&cell, level)
	return cell, nil
}

// cellMetadata reads what is known of a cell's metadata: the tags.
func (r *reader) cellMetadata(cell *Cell) error {
	at := r.c.Offset()
	if r.c.Kind() != '{' {
		v, err := r.object("the metadata of a cell")
		cell.Metadata = v
		return err
	}
	cell.Tags = nil
	_, err := r.c.Object(func(name []byte, _ codec.Span) error {
		if string(name) != "tags" || r.c.Kind() != '[' {
			_, err := r.c.Skip()
			return err
		}
		_, err := r.c.Array(func() error {
			if r.c.Kind() != '"' {
				_, err := r.c.Skip()
				return err
			}
			tag, err := r.c.String()
			cell.Tags = append(cell.Tags, tag)
			return err
		})
		return err
	})
	cell.Metadata = r.since(at)
	return err
}

// value reads over a value.
func (r *reader) value() (Value, error) {
	span, err := r.c.Skip()
	if err != nil {
		return Value{}, err
	}
	return Value{Raw: span.Of(r.nb.Source), Span: span, bare: r.old}, nil
}

// since is the value that began at an offset and ends here.
func (r *reader) since(at int) Value {
	span := codec.Span{Start: at, End: r.c.Offset()}
	return Value{Raw: span.Of(r.nb.Source), Span: span, bare: r.old}
}

// object skips a value that must be an object; null counts as absent.
func (r *reader) object(what string) (Value, error) {
	if kind := r.c.Kind(); kind != '{' && kind != 'n' {
		return Value{}, &misfit{r.c.Offset(), what + " must be an object", ""}
	}
	return r.value()
}

// string reads a text.
func (r *reader) string(what string) (string, error) {
	if r.c.Kind() != '"' {
		return "", &misfit{r.c.Offset(), what + " must be a text", ""}
	}
	return r.c.String()
}

func (r *reader) textValue(what string, into *string) (v Value, err error) {
	r.c.Kind() // to where the value begins
	at := r.c.Offset()
	*into, err = r.string(what)
	return r.since(at), err
}

// joined reads a text or a list of texts.
func (r *reader) joined(what string, into *string) (v Value, err error) {
	if kind := r.c.Kind(); kind != '"' && kind != '[' {
		return v, &misfit{r.c.Offset(), what + " must be a text or a list of texts", ""}
	}
	at := r.c.Offset()
	*into, err = joined(r.c, r.old)
	return r.since(at), err
}

// warn collects what Jupyter takes, and a reader should know.
func (r *reader) warn() {
	lines := map[string]int{}
	for i := range r.nb.Cells {
		cell := &r.nb.Cells[i]
		if cell.ID == "" {
			continue
		}
		if first, ok := lines[cell.ID]; ok {
			r.nb.Warnings = append(r.nb.Warnings, r.problem(cell.IDAt.Span.Start,
				fmt.Sprintf("the id %q is also that of cell %d", cell.ID, first+1),
				"Jupyter gives one of them a new id when it opens the file"))
			continue
		}
		lines[cell.ID] = i
	}
}

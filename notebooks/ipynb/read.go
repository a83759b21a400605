package ipynb

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads a notebook. The errors are *notebooks.Error, with line and column.
func Parse(name string, src []byte) (*Notebook, error) {
	checked := make(chan error, 1) // concurrently with reading, which takes longer
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

// reader is the state of Parse.
type reader struct {
	nb    *Notebook
	c     *codec.Cursor
	start int
	old   bool // within the worksheets of an old file

	places *notebooks.Places // nil until a position is needed
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
	return slices.ContainsFunc([]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}, func(mark string) bool {
		return bytes.HasPrefix(line, []byte(mark))
	})
}

func (r *reader) problem(offset int, msg, hint string) *notebooks.Error {
	if r.places == nil {
		r.places = notebooks.NewPlaces(r.nb.Source)
	}
	line, col := r.places.Position(offset)
	return &notebooks.Error{Kind: notebooks.KindSyntax, File: r.nb.Name, Line: line, Col: col, Msg: msg, Hint: hint}
}

// notebook reads the file in one pass: the cells are read before their format is known.
func (r *reader) notebook() error {
	r.c = codec.NewCursor(r.nb.Source, r.start)
	if r.c.Kind() != '{' {
		if notebooks.IsPointer(r.nb.Source) {
			return &misfit{0, notebooks.PointerWords, notebooks.PointerHint}
		}
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
			r.nb.Metadata, err = r.object("the metadata of a notebook", r.skipped)
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
		return &misfit{whole.Start, `this JSON object is no notebook: it has no "nbformat"`,
			`a notebook has "nbformat": 4`}
	}
	if r.nb.NBFormat, err = strconv.Atoi(string(form.Raw)); err != nil {
		return &misfit{form.Span.Start, "nbformat must be a whole number", `write "nbformat": 4`}
	}
	if r.nb.NBFormat < 2 || r.nb.NBFormat > 4 {
		return &misfit{form.Span.Start,
			fmt.Sprintf("nbformat %d is not known; 4 is, and 3 and 2 are read", r.nb.NBFormat),
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
	first := len(g.cells)
	all, err := r.list("the cells", func() error {
		cell, err := r.cell()
		g.cells = append(g.cells, cell)
		return err
	})
	g.lists = append(g.lists, list{span: all.Span, first: first, end: len(g.cells)})
	return err
}

func (r *reader) cell() (cell Cell, err error) {
	var level Value
	whole, err := r.members("a cell", func(name string) (err error) {
		at := r.c.Offset()
		switch name {
		case "cell_type":
			cell.Type, err = r.string("cell_type")
		case "id":
			cell.ID, err = r.string("the id of a cell")
			cell.IDAt = r.since(at)
		case "source", "input": // the latter in code cells of nbformat 3
			if err = r.want(`"[`, "the source of a cell", "a text or a list of texts"); err == nil {
				cell.Source, err = joined(r.c, r.old)
			}
			cell.SourceAt = r.since(at)
		case "metadata":
			cell.Metadata, err = r.cellMetadata(&cell)
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
	cell.Span = whole.Span
	switch {
	case err != nil:
		return cell, err
	case cell.Type == "":
		return cell, &misfit{cell.Span.Start, "this cell has no cell_type", "it is code, markdown or raw"}
	}
	upgrade(&cell, level)
	return cell, nil
}

// cellMetadata reads what is known of a cell's metadata: the tags.
func (r *reader) cellMetadata(cell *Cell) (Value, error) {
	if r.c.Kind() == '{' {
		cell.Tags = nil
	}
	return r.object("the metadata of a cell", func(name string) error {
		if name != "tags" || r.c.Kind() != '[' {
			return r.skipped(name)
		}
		_, err := r.c.Array(func() error {
			if r.c.Kind() != '"' {
				return r.skipped(name)
			}
			tag, err := r.c.String()
			cell.Tags = append(cell.Tags, tag)
			return err
		})
		return err
	})
}

// value reads over a value.
func (r *reader) value() (Value, error) {
	span, err := r.c.Skip()
	if err != nil {
		return Value{}, err
	}
	return Value{Raw: span.Of(r.nb.Source), Span: span, bare: r.old}, nil
}

// since returns the value that began at an offset and ends here.
func (r *reader) since(at int) Value {
	span := codec.Span{Start: at, End: r.c.Offset()}
	return Value{Raw: span.Of(r.nb.Source), Span: span, bare: r.old}
}

// want checks that the value that comes next is of one of the kinds of a Cursor; kind is what to call them.
func (r *reader) want(kinds, what, kind string) error {
	if strings.IndexByte(kinds, r.c.Kind()) < 0 {
		return &misfit{r.c.Offset(), what + " must be " + kind, ""}
	}
	return nil
}

// list reads a value that must be a list. what is its name.
func (r *reader) list(what string, item func() error) (Value, error) {
	if err := r.want("[", what, "a list"); err != nil {
		return Value{}, err
	}
	at := r.c.Offset()
	_, err := r.c.Array(item)
	return r.since(at), err
}

// members reads a value that must be an object.
func (r *reader) members(what string, member func(name string) error) (Value, error) {
	if err := r.want("{", what, "an object"); err != nil {
		return Value{}, err
	}
	at := r.c.Offset()
	_, err := r.c.Object(func(name []byte, _ codec.Span) error { return member(string(name)) })
	return r.since(at), err
}

// object reads a value that must be an object or null.
func (r *reader) object(what string, member func(name string) error) (Value, error) {
	if r.c.Kind() == 'n' {
		return r.value()
	}
	return r.members(what, member)
}

// skipped skips the value of a member.
func (r *reader) skipped(string) error {
	_, err := r.c.Skip()
	return err
}

// string reads a text.
func (r *reader) string(what string) (string, error) {
	if err := r.want(`"`, what, "a text"); err != nil {
		return "", err
	}
	return r.c.String()
}

// warn records what Jupyter accepts but a reader should know.
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

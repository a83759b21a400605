package nbdime

import (
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/linediff"
)

// op is one entry of a diff. Key is a name in an object, a place in a list, a line in a text.
type op struct {
	Op     string      `json:"op"`
	Key    any         `json:"key"`
	Value  codec.Raw   `json:"value,omitzero"`
	Values []codec.Raw `json:"valuelist,omitempty"`
	Length int         `json:"length,omitzero"`
	Diff   []op        `json:"diff,omitzero"`
}

// Diff returns the difference of two notebooks, as JSON: an array, empty where they are the same.
func Diff(a, b *ipynb.Notebook) ([]byte, error) {
	problem := func(nb *ipynb.Notebook, err error, msg, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindInput, File: nb.Name, Line: 1,
			Col: 1, Msg: msg, Hint: hint, Err: err}
	}
	var sides [2]*node
	for i, nb := range []*ipynb.Notebook{a, b} {
		if nb.NBFormat != 4 {
			return nil, problem(nb, nil, "is of an nbformat before 4, whose cells nbdime's diff cannot name",
				"convert it: jupyter nbconvert --to notebook --nbformat 4")
		}
		n, err := notebook(codec.Raw(strings.TrimPrefix(string(nb.Source), "\ufeff")))
		if err != nil {
			return nil, problem(nb, err, err.Error(), "")
		}
		sides[i] = n
	}
	d := differ{a: a, b: b}
	ops := d.object(sides[0], sides[1], true)
	if ops == nil {
		ops = []op{}
	}
	out, err := codec.Indent(ops)
	if err != nil { // each level of a notebook is two of its diff
		return nil, problem(b, err,
			"what changed stands too deep in arrays and objects for nbdime's diff, which has two levels for each",
			"compare without --format nbdime")
	}
	return out, nil
}

type differ struct{ a, b *ipynb.Notebook }

func same(a, b *node) bool { return string(a.raw) == string(b.raw) }

// object compares two objects by their names. top is the notebook itself, whose cells are matched.
func (d differ) object(a, b *node, top bool) []op {
	var out []op
	names := slices.Concat(a.names, b.names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, y := a.fields[name], b.fields[name]
		switch {
		case x == nil:
			out = append(out, op{Op: "add", Key: name, Value: y.raw})
		case y == nil:
			out = append(out, op{Op: "remove", Key: name})
		case same(x, y):
		case top && name == "cells" && x.kind == '[' && y.kind == '[':
			out = append(out, op{Op: "patch", Key: name, Diff: d.cells(x, y)})
		default:
			change := op{Op: "replace", Key: name, Value: y.raw}
			if sub := d.value(x, y); sub != nil {
				change = op{Op: "patch", Key: name, Diff: sub}
			}
			out = append(out, change)
		}
	}
	return out
}

// value compares two values that differ; nil where the one takes the place of the other.
func (d differ) value(a, b *node) []op {
	switch {
	case a.kind != b.kind:
		return nil
	case a.kind == '{':
		return d.object(a, b, false)
	case a.kind == '[':
		return d.list(a.items, b.items)
	case a.kind == '"' && len(ipynb.PythonLines(a.text)) > 1:
		return text(a.text, b.text)
	}
	return nil
}

// list compares two lists: what is equal stays; in between, an object that is of the same type as the one in its place
// is patched.
func (d differ) list(a, b []*node) []op {
	var out []op
	for _, k := range linediff.Blocks(linediff.Lines(raws(a), raws(b))) {
		var pairs [][2]int
		for i, j := k.I0, k.J0; i < k.I1 && j < k.J1; i, j = i+1, j+1 {
			if alike(a[i], b[j]) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		out = append(out, d.stretch(a, b, k, pairs)...)
	}
	return out
}

// alike reports whether one item may be patched to be the other: outputs of one type.
func alike(a, b *node) bool {
	x, y := a.get("output_type"), b.get("output_type")
	return x != nil && y != nil && same(x, y)
}

// stretch turns a block's items of a into those of b; pairs, in order on both sides, are patched.
func (d differ) stretch(a, b []*node, k linediff.Block, pairs [][2]int) []op {
	var out []op
	i, j := k.I0, k.J0
	for _, p := range pairs {
		out = append(out, replaced(i, p[0], raws(b[j:p[1]]))...)
		if !same(a[p[0]], b[p[1]]) {
			out = append(out, op{Op: "patch", Key: p[0], Diff: d.value(a[p[0]], b[p[1]])})
		}
		i, j = p[0]+1, p[1]+1
	}
	return append(out, replaced(i, k.I1, raws(b[j:k.J1]))...)
}

// replaced puts values in the place of the items from one place up to another.
func replaced(from, to int, values []codec.Raw) []op {
	var out []op
	if len(values) > 0 {
		out = append(out, op{Op: "addrange", Key: from, Values: values})
	}
	if from < to {
		out = append(out, op{Op: "removerange", Key: from, Length: to - from})
	}
	return out
}

func raws(items []*node) []codec.Raw {
	out := make([]codec.Raw, len(items))
	for i, item := range items {
		out[i] = item.raw
	}
	return out
}

// cells compares the cells: those that are one and stayed in order are patched.
func (d differ) cells(a, b *node) []op {
	if len(a.items) != len(d.a.Cells) || len(b.items) != len(d.b.Cells) {
		return d.list(a.items, b.items)
	}
	var pairs [][2]int
	for _, p := range diff.Match(modelCells(d.a), modelCells(d.b)) {
		x, y := a.items[p.A], b.items[p.B]
		if !p.Moved && x.kind == '{' && y.kind == '{' {
			pairs = append(pairs, [2]int{p.A, p.B})
		}
	}
	return d.stretch(a.items, b.items, linediff.Block{I1: len(a.items), J1: len(b.items)}, pairs)
}

func modelCells(nb *ipynb.Notebook) []diff.Cell {
	out := make([]diff.Cell, len(nb.Cells))
	for i := range nb.Cells {
		c := &nb.Cells[i]
		out[i] = diff.Cell{ID: c.ID, GeneratedID: true, Kind: diff.CellKind(c.Type), Source: c.Source}
	}
	return out
}

// text compares two texts by lines, as Python cuts them.
func text(a, b string) []op {
	x, y := ipynb.PythonLines(a), ipynb.PythonLines(b)
	var out []op
	for _, k := range linediff.Blocks(linediff.Lines(x, y)) {
		var lines []codec.Raw
		for _, line := range y[k.J0:k.J1] {
			raw, err := codec.Marshal(line)
			if err != nil {
				return nil // not UTF-8: the whole is replaced
			}
			lines = append(lines, raw)
		}
		out = append(out, replaced(k.I0, k.I1, lines)...)
	}
	return out
}

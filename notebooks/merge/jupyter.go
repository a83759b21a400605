package merge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
)

// jupyter merges Jupyter notebooks: the cells as steps, everything else as JSON.
func (m *merger) jupyter(in [3]string) ([]byte, error) {
	var nbs [3]*ipynb.Notebook
	if strings.TrimSpace(in[0]) == "" { // both sides added the file
		in[0] = `{"cells": [], "metadata": {}, "nbformat": 4}`
	}
	for i, text := range in {
		nb, err := ipynb.Parse(m.opt.Name, []byte(text))
		if err != nil {
			return nil, m.unreadable(i, err)
		}
		if nb.NBFormat != 4 {
			err := &notebooks.Error{Kind: notebooks.KindInput, File: m.opt.Name, Line: 1, Col: 1,
				Msg:  fmt.Sprintf("nbformat %d is not merged by cell; 4 is", nb.NBFormat),
				Hint: "open the notebook in Jupyter and save it"}
			return nil, m.unreadable(i, err)
		}
		nbs[i] = nb
	}
	j := &cellMerge{m: m, nbs: nbs, minor: max(nbs[1].Minor, nbs[2].Minor), used: map[string]bool{}}
	var none texts
	m.weave(&none, cellUnits(nbs[0]), cellUnits(nbs[1]), cellUnits(nbs[2]), j.cell)
	special := func(name string, b, x, y string, fromY bool) (string, bool) {
		switch name {
		case "cells":
			return j.list(b, x, y), true
		case "nbformat_minor":
			if nbs[1].Minor == nbs[2].Minor {
				return "", false
			}
			if nbs[1].Minor > nbs[2].Minor {
				return x, true
			}
			return y, true
		}
		return "", false
	}
	before := len(m.result.Conflicts)
	hb, b, tb := outer(in[0])
	hx, x, tx := outer(in[1])
	hy, y, ty := outer(in[2])
	whole := m.object("", b, x, y, false, special)
	m.within("the notebook's ", before)
	return []byte(pick(hb, hx, hy) + whole + pick(tb, tx, ty)), nil
}

// outer splits a file into its JSON object and the text around it.
func outer(text string) (head, object, tail string) {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')+1
	return text[:start], text[start:end], text[end:]
}

// within says of the conflicts from a place on what the steps that they name are in.
func (m *merger) within(what string, from int) {
	for i := range m.result.Conflicts[from:] {
		c := &m.result.Conflicts[from+i]
		c.Step = what + c.Step
	}
}

func cellUnits(nb *ipynb.Notebook) sequence {
	var s sequence
	for i := range nb.Cells {
		c := &nb.Cells[i]
		text := diff.Ended(c.Source)
		s.add(unit{diff.Cell{ID: c.ID, GeneratedID: true, Label: fmt.Sprintf("cell %d", i+1),
			Kind: diff.CellKind(c.Type), Source: text}, text})
	}
	return s
}

// cellMerge is the merge of the cells of Jupyter notebooks.
type cellMerge struct {
	m      *merger
	nbs    [3]*ipynb.Notebook
	minor  int
	out    []string
	used   map[string]bool // ids
	double map[string]bool // ids that a side has twice; nil until it is asked for
}

// cell merges one cell and writes it.
func (j *cellMerge) cell(at joint) {
	var cells [3]*ipynb.Cell
	var raw [3]string
	for side, nb := range j.nbs {
		if i := *at.at(side); i >= 0 {
			cells[side] = &nb.Cells[i]
			raw[side] = string(cells[side].Span.Of(nb.Source))
		}
	}
	b, x, y := cells[0], cells[1], cells[2]
	text, ok := agreed(raw[0], raw[1], raw[2])
	switch {
	case b == nil && (x == nil || y == nil):
		j.write(raw[1]+raw[2], cmp.Or(x, y))
	case !ok || x == nil || y == nil:
		j.merged(b, x, y, raw)
	case text == raw[1]:
		j.write(text, x)
	default:
		j.write(text, y)
	}
}

// merged writes a cell that both sides changed, or that one changed and the other took out.
func (j *cellMerge) merged(b, x, y *ipynb.Cell, raw [3]string) {
	m := j.m
	label := fmt.Sprintf("cell %d", len(j.out)+1)
	text, found := j.source(b, x, y)
	if x == nil || y == nil {
		if len(found) == 0 && text == "" { // the side that took it out is preferred
			return
		}
		found = append(found, m.tookOut(x != nil))
		found = found[len(found)-1:]
		if m.opt.Favor != Mark {
			found = nil
		}
	}
	lines := markLines(text, m.mark('<', m.opt.Ours))
	for i, msg := range found {
		m.result.Conflicts = append(m.result.Conflicts,
			Conflict{Step: label, Line: lines[min(i, len(lines)-1)], Msg: msg})
	}
	keptX, keptY := x != nil && x.Source == text, y != nil && y.Source == text
	fromY := x == nil || keptY && !keptX
	if keptX && keptY && b != nil && string(b.OutputsAt.Raw) == string(x.OutputsAt.Raw) {
		fromY = true
	}
	from := x
	if fromY {
		from = y
	}
	if x == nil || y == nil { // there is nothing to merge but the text
		raw[1], raw[2] = raw[1]+raw[2], raw[1]+raw[2]
	}
	before := len(m.result.Conflicts)
	out := m.object("", raw[0], raw[1], raw[2], fromY, func(name string, vb, vx, vy string, fromY bool) (string, bool) {
		v := vx
		if fromY {
			v = vy
		}
		switch {
		case name == "id":
			v = pick(vb, vx, vy)
		case name == "source" && from.Source != text:
			v = sourceList(text, v, from, b, x, y)
		case name == "outputs" && !keptX && !keptY:
			v = "[]"
		case name == "execution_count" && !keptX && !keptY:
			v = "null"
		}
		return v, slices.Contains([]string{"id", "source", "outputs", "execution_count", "cell_type"}, name)
	})
	m.within(label+", ", before)
	id := from.ID
	if x != nil && y != nil && b != nil {
		id = pick(b.ID, x.ID, y.ID)
	}
	j.write(out, &ipynb.Cell{ID: id, Source: text})
}

// source merges the texts of a cell, and reports each conflict in it.
func (j *cellMerge) source(b, x, y *ipynb.Cell) (string, []string) {
	m := j.m
	if x != nil && y != nil {
		switch {
		case x.Source == y.Source, b != nil && b.Source == y.Source:
			return x.Source, nil
		case b != nil && b.Source == x.Source:
			return y.Source, nil
		}
	}
	var in [3]string
	var ends [3]bool
	for i, c := range []*ipynb.Cell{b, x, y} {
		if c != nil {
			in[i], ends[i] = diff.Ended(c.Source), strings.HasSuffix(c.Source, "\n")
		}
	}
	var t texts
	msg := bothChanged
	switch {
	case x == nil || y == nil:
		m.marked(&t, diff.Lines(in[0]), diff.Lines(in[1]), diff.Lines(in[2]))
	case b == nil:
		msg = bothAdded
		m.added(&t, in[1], in[2])
	default:
		m.lines(&t, in[0], in[1], in[2])
	}
	text := t.String()
	if !pick(ends[0], ends[1], ends[2]) {
		text = strings.TrimSuffix(text, "\n")
	}
	return text, slices.Repeat([]string{msg}, t.conflicts)
}

// write appends a cell, with an id where the form asks for one, and one that no cell before it has.
func (j *cellMerge) write(raw string, c *ipynb.Cell) {
	id := c.ID
	switch {
	case id == "" && j.minor >= 5:
		for n := 0; id == "" || j.used[id]; n++ {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", n, len(j.out), c.Source))
			id = hex.EncodeToString(sum[:4])
		}
		o := readObject(raw)
		o.insert(member{name: "id", lead: o.leadOf("id"), value: `"` + id + `"`}, "cell_type", "execution_count")
		raw = o.String()
	case j.used[id] && !j.twice(id):
		for n := 2; j.used[id]; n++ {
			id = fmt.Sprintf("%.60s-%d", c.ID, n)
		}
		o := readObject(raw)
		o.set("id", quoted(id))
		raw = o.String()
	}
	if id != "" {
		j.used[id] = true
	}
	j.out = append(j.out, raw)
}

// twice reports whether a side has the id more than once.
func (j *cellMerge) twice(id string) bool {
	if j.double == nil {
		j.double = map[string]bool{}
		for _, nb := range j.nbs[1:] {
			have := map[string]bool{}
			for i := range nb.Cells {
				id := nb.Cells[i].ID
				j.double[id] = j.double[id] || have[id]
				have[id] = true
			}
		}
	}
	return j.double[id]
}

// list returns the array of the cells, with the space between them that a side has.
func (j *cellMerge) list(b, x, y string) string {
	var spaces [3]spacing
	for i, raw := range []string{b, x, y} {
		spaces[i] = spacingOf(j.nbs[i], raw)
	}
	if len(j.out) == 0 {
		return "[]"
	}
	s := pick(spaces[0], spaces[1], spaces[2])
	if s.none {
		for _, other := range spaces {
			if !other.none {
				s = other
			}
		}
	}
	return "[" + s.head + strings.Join(j.out, ","+s.between) + s.tail + "]"
}

// spacing is the space in an array.
type spacing struct {
	head, between, tail string
	none                bool // the array is empty
}

func spacingOf(nb *ipynb.Notebook, array string) spacing {
	n := len(nb.Cells)
	if n == 0 {
		return spacing{none: true}
	}
	head := spaceOf(array[1:])
	s := spacing{head: head, between: head}
	if n > 1 {
		gap := string(nb.Source[nb.Cells[0].Span.End:nb.Cells[1].Span.Start])
		_, s.between, _ = strings.Cut(gap, ",")
	}
	inner := array[:len(array)-1]
	s.tail = inner[len(strings.TrimRight(inner, " \t\r\n")):]
	return s
}

func spaceOf(text string) string { return text[:len(text)-len(strings.TrimLeft(text, " \t\r\n"))] }

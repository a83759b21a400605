package convert

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Loss is something that the form has no place for, and the cells that had it.
type Loss struct {
	What  string
	Cells []int // from 1; none for the notebook itself
}

func (l Loss) String() string {
	if len(l.Cells) == 0 {
		return l.What
	}
	const most = 8
	var b strings.Builder
	b.WriteString(l.What + " of cell")
	if len(l.Cells) > 1 {
		fmt.Fprintf(&b, "s")
	}
	for i, n := range l.Cells {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(l.Cells)-most)
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %d", n)
	}
	return b.String()
}

// losing collects losses by what they are.
type losing struct {
	order []string
	cells map[string][]int
}

func (l *losing) add(what string, cell int) {
	if l.cells == nil {
		l.cells = map[string][]int{}
	}
	if _, ok := l.cells[what]; !ok {
		l.order = append(l.order, what)
		l.cells[what] = nil
	}
	if cell > 0 {
		l.cells[what] = append(l.cells[what], cell)
	}
}

func (l *losing) list() []Loss {
	var out []Loss
	for _, what := range l.order {
		out = append(out, Loss{what, l.cells[what]})
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Cells) > 0 && len(out[j].Cells) == 0 })
	return out
}

// compare returns what is missing from the document that was read back.
func (d *Document) compare(back *Document) ([]Loss, error) {
	var lost losing
	pairs, err := d.align(back, &lost)
	if err != nil {
		return nil, err
	}
	for i := range d.Cells {
		a := &d.Cells[i]
		n := i + 1
		if len(a.Outputs) > 2 {
			lost.add("outputs", n)
		}
		if a.Count > 0 {
			lost.add("the execution count", n)
		}
		if len(a.Attachments) > 2 {
			lost.add("attachments", n)
		}
		if pairs[i] < 0 {
			continue
		}
		b := &back.Cells[pairs[i]]
		if a.ID != "" && a.ID != b.ID {
			lost.add("the id", n)
		}
		if a.Source != b.Source {
			lost.add("empty lines or spaces around the text", n)
		}
		kept := b.Metadata.byName()
		for _, f := range a.Metadata {
			if f.Name == keyMarkmill {
				continue
			}
			if f.Name == "name" && textOf(f.Value) == b.ID {
				continue
			}
			if f.Name == "tags" {
				tags := b.tags()
				for _, t := range a.tags() {
					if !slices.Contains(tags, t) {
						lost.add("the tag "+t, n)
					}
				}
				continue
			}
			if !same(f.Value, kept[f.Name]) && string(f.Value) != "{}" {
				lost.add("metadata "+f.Name, n)
			}
		}
		if lang := a.Metadata.own().text(keyLanguage); lang != "" && b.Metadata.own().text(keyLanguage) == "" {
			lost.add("the language "+lang+", which only IPython runs there,", n)
		}
		if a.Metadata.own().Has(keyBlock) && d.to != notebooks.FormNative {
			lost.add("the declaration of parameters behind the code", n)
		}
		for _, f := range a.Metadata.own() {
			if isAttribute(f.Name) && !sameAttribute(f.Value, b.Metadata.own().Get(f.Name)) {
				lost.add("the attribute "+f.Name, n)
			}
		}
	}
	d.compareMetadata(back, &lost)
	return lost.list(), nil
}

// sameAttribute reports whether two values of an attribute are equivalent: a list and its words, a number and its text.
func sameAttribute(a, b []byte) bool {
	if same(a, b) {
		return true
	}
	words := func(raw []byte) string {
		if len(raw) > 0 && raw[0] == '[' {
			return strings.Join(Object{{"a", raw}}.texts("a"), " ")
		}
		if s := textOf(raw); s != "" {
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }), " ")
		}
		return string(raw)
	}
	return len(b) > 0 && words(a) == words(b)
}

func (d *Document) compareMetadata(back *Document, lost *losing) {
	theirs := back.Metadata
	kept := theirs.byName()
	for _, f := range d.Metadata {
		switch f.Name {
		case keyMarkmill:
			front := back.Metadata.own().object(keyFront)
			if inner, ok := back.frontCell(); ok {
				stands, _ := yamlObject(inner)
				front = append(front, stands...)
			}
			for _, g := range d.Metadata.own().object(keyFront) {
				if !front.Has(g.Name) && !theirs.Has(g.Name) && g.Name != "title" && g.Name != "description" {
					lost.add("the front matter's "+g.Name, 0)
				}
			}
		case keyJupytext:
			for _, g := range objectOf(f.Value) {
				if g.Name != "text_representation" && g.Name != "main_language" && g.Name != "default_lexer" &&
					!same(g.Value, theirs.object(keyJupytext).Get(g.Name)) {
					lost.add("the notebook's metadata jupytext."+g.Name, 0)
				}
			}
		default:
			if holds(kept[f.Name], f.Value) || f.Name == "language_info" && len(objectOf(f.Value)) == 1 {
				continue
			}
			if f.Name == keyKernelspec && same(f.Value, back.jupyterMetadata().Get(f.Name)) {
				continue
			}
			lost.add("the notebook's metadata "+f.Name, 0)
		}
	}
}

// holds reports whether a value is the other one, or an object that has all of it.
func holds(whole, part codec.Raw) bool {
	if len(whole) == 0 && string(part) == "null" { // no form says it, and nothing reads it
		return true
	}
	if len(whole) == 0 || whole[0] != '{' || part[0] != '{' {
		return same(whole, part)
	}
	all := objectOf(whole).byName()
	for _, f := range objectOf(part) {
		if !holds(all[f.Name], f.Value) {
			return false
		}
	}
	return true
}

// align pairs each cell with the one that was read back, -1 if there is none.
func (d *Document) align(back *Document, lost *losing) ([]int, error) {
	pairs := make([]int, len(d.Cells))
	j := 0
	if _, ok := back.frontCell(); ok && d.Metadata.own().Has(keyFront) {
		if _, ok := d.frontCell(); !ok {
			j++ // the front matter, which the metadata had
		}
	}
	for i := range d.Cells {
		a := &d.Cells[i]
		pairs[i] = -1
		if j < len(back.Cells) && alike(a, &back.Cells[j], back.Form) {
			pairs[i] = j
			j++
			continue
		}
		if a.Type != "code" && strings.TrimSpace(a.Source) == "" {
			lost.add("the empty text", i+1)
			continue
		}
		return nil, d.misread(i, back, j)
	}
	if j < len(back.Cells) {
		return nil, d.misread(len(d.Cells)-1, back, j)
	}
	return pairs, nil
}

// alike reports whether two cells are the same apart from losses.
func alike(a, b *Cell, form notebooks.Form) bool {
	trim := func(s string) string { return strings.Trim(s, " \t\n\r") }
	if form == notebooks.FormNative && b.Metadata.own().Has(keyBlock) {
		return a.Metadata.own().Has(keyBlock)
	}
	return a.Type == b.Type && (a.Source == b.Source || trim(a.Source) == trim(b.Source))
}

// misread returns the error for a cell that would be read as something else.
func (d *Document) misread(i int, back *Document, j int) error {
	at := "nothing"
	if j < len(back.Cells) {
		at = fmt.Sprintf("a %s cell that begins %q", back.Cells[j].Type, firstLine(back.Cells[j].Source))
		begins := i >= 0 && strings.HasPrefix(strings.TrimSpace(d.Cells[i].Source),
			strings.TrimSpace(back.Cells[j].Source))
		if begins && j+1 < len(back.Cells) {
			at = fmt.Sprintf("several, the second of them a %s cell that begins %q", back.Cells[j+1].Type,
				firstLine(back.Cells[j+1].Source))
		}
	}
	line, col, where := 1, 1, "the notebook"
	if i >= 0 {
		line, col = d.position(d.Cells[i].at)
		where = fmt.Sprintf("cell %d", i+1)
	}
	return d.problem(line, col, fmt.Sprintf("%s cannot be written as %s: it would be read as %s",
		where, d.to.Title(), at),
		"its text holds what begins or ends a cell there; convert to another form, or change the text")
}

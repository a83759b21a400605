package diff

import (
	"fmt"
	"slices"
	"strings"
)

// Options say how closely documents are compared.
type Options struct {
	// All shows noise, too: execution counts, times, ids that programs made, volatile metadata, and where objects
	// lay in memory.
	All bool
	// Tolerance is how much of its old value a number among the scraps may change (0.01 is one percent).
	Tolerance  float64
	Tolerances map[string]float64 // of single scraps, by name
}

// Compare says how b differs from a.
func Compare(a, b *Document, opt Options) *Diff {
	c := &comparing{a: a, b: b, opt: opt, d: &Diff{Old: a, New: b, Cells: []CellChange{}}}
	c.d.Status = changeOf(a.Status, b.Status)
	c.params()
	c.d.Options = c.fields(a.Options, b.Options)
	c.cells()
	for i := range c.d.Cells {
		c.inside(i)
	}
	c.sortResults()
	c.count()
	c.d.Same = c.same()
	return c.d
}

type comparing struct {
	a, b *Document
	opt  Options
	d    *Diff
	cell int // of d: the one whose outcome is compared
}

func changeOf(old, new string) *WordChange {
	if old == new {
		return nil
	}
	return &WordChange{old, new}
}

// params compares the parameters; their order does not matter.
func (c *comparing) params() {
	asFields := func(params []Param) []Field {
		out := make([]Field, len(params))
		for i, p := range params {
			value := p.Value
			if value == nil {
				value = []byte("null")
			}
			out[i] = Field{Name: p.Name, Value: value}
		}
		return out
	}
	c.d.Params = c.fields(asFields(c.a.Params), asFields(c.b.Params))
}

// fields compares named values, in the order of a, then what only b has.
func (c *comparing) fields(a, b []Field) []ValueChange {
	var out []ValueChange
	at := make(map[string]int, len(b))
	for j, f := range b {
		at[f.Name] = j
	}
	met := make(map[string]bool, len(a))
	for _, f := range a {
		met[f.Name] = true
		if f.Volatile && !c.opt.All {
			continue
		}
		if j, ok := at[f.Name]; !ok {
			out = append(out, ValueChange{Name: f.Name, Old: f.Value})
		} else if string(f.Value) != string(b[j].Value) {
			out = append(out, ValueChange{Name: f.Name, Old: f.Value, New: b[j].Value})
		}
	}
	for _, f := range b {
		if !met[f.Name] && (!f.Volatile || c.opt.All) {
			out = append(out, ValueChange{Name: f.Name, New: f.Value})
		}
	}
	return out
}

// cells lists what became of every cell, in the order of b; a deleted cell keeps its place.
func (c *comparing) cells() {
	pairs := Match(c.a.Cells, c.b.Cells)
	toB, kept := make([]*Pair, len(c.a.Cells)), make([]bool, len(c.a.Cells))
	toA := make([]*Pair, len(c.b.Cells))
	for i := range pairs {
		p := &pairs[i]
		toB[p.A], toA[p.B], kept[p.A] = p, p, !p.Moved
	}
	split := findParts(c.a.Cells, c.b.Cells, pairs)
	joined := findParts(c.b.Cells, c.a.Cells, flipped(pairs))
	partOf := make(map[int]int, len(split)) // parts in b, and the cell of a that they are of
	for i, parts := range split {
		for _, j := range parts {
			partOf[j] = i
		}
	}
	goneInto := make(map[int]int, len(joined))
	for j, parts := range joined {
		for _, i := range parts {
			goneInto[i] = j
		}
	}
	at := 0
	removedUntil := func(end int) {
		for ; at < end; at++ {
			if toB[at] != nil {
				continue
			}
			ch := c.single(&c.a.Cells[at], nil)
			ch.A = refOf(c.a.Cells, at)
			if j, ok := goneInto[at]; ok {
				ch.What, ch.Of = Part, refOf(c.b.Cells, j)
			}
			c.d.Cells = append(c.d.Cells, ch)
		}
	}
	for j := range c.b.Cells {
		p := toA[j]
		if p == nil {
			ch := c.single(nil, &c.b.Cells[j])
			ch.B = refOf(c.b.Cells, j)
			if i, ok := partOf[j]; ok {
				ch.What, ch.Of = Part, refOf(c.a.Cells, i)
			}
			c.d.Cells = append(c.d.Cells, ch)
			continue
		}
		if kept[p.A] {
			removedUntil(p.A)
		}
		c.d.Cells = append(c.d.Cells, c.pair(*p, split[p.A], joined[j]))
	}
	removedUntil(len(c.a.Cells))
}

func refOf(cells []Cell, i int) *Ref {
	return &Ref{Place: i, Label: cells[i].Label, Line: cells[i].Line}
}

// single is a cell that only one side has.
func (c *comparing) single(old, new *Cell) CellChange {
	if old != nil {
		return CellChange{What: Removed, Kind: old.Kind, Old: old}
	}
	return CellChange{What: Added, Kind: new.Kind, New: new}
}

// wholeOther is the similarity below which a cell whose id stayed is called replaced.
const wholeOther = 0.15

// pair compares two cells that are one. parts are the further cells of b that it was split into, and of a that were
// joined to it.
func (c *comparing) pair(p Pair, splitInto, joinedOf []int) CellChange {
	old, new := &c.a.Cells[p.A], &c.b.Cells[p.B]
	ch := CellChange{What: Same, Moved: p.Moved, By: p.By, Kind: new.Kind, Old: old, New: new,
		A: refOf(c.a.Cells, p.A), B: refOf(c.b.Cells, p.B)}
	generated := old.GeneratedID || new.GeneratedID
	ch.Renamed = old.ID != new.ID && (c.opt.All || !generated)
	ch.Source = compareText(old.Source, new.Source, nil)
	ch.Lang = changeOf(old.Lang, new.Lang)
	ch.Tags = tagsChange(old.Tags, new.Tags)
	ch.Options = c.fields(old.Options, new.Options)
	if old.Kind != new.Kind && ch.Lang == nil {
		ch.Lang = &WordChange{string(old.Kind), string(new.Kind)}
	}
	if c.opt.All {
		ch.Count = changeOf(number(old.Count), number(new.Count))
		ch.Took = changeOf(duration(old), duration(new))
	}
	switch {
	case len(splitInto) > 0:
		ch.What = Split
		ch.Source = compareText(together(c.a.Cells, p.A, nil), together(c.b.Cells, p.B, splitInto), nil)
		for _, j := range splitInto {
			ch.Parts = append(ch.Parts, *refOf(c.b.Cells, j))
		}
	case len(joinedOf) > 0:
		ch.What = Joined
		ch.Source = compareText(together(c.a.Cells, p.A, joinedOf), together(c.b.Cells, p.B, nil), nil)
		for _, i := range joinedOf {
			ch.Parts = append(ch.Parts, *refOf(c.a.Cells, i))
		}
	case p.By == ByID && p.Similarity < wholeOther && !old.blank() && !new.blank():
		ch.What = Replaced
	case ch.Source != nil || ch.Lang != nil || ch.Tags != nil || len(ch.Options) > 0 || ch.Count != nil || ch.Took != nil:
		ch.What = Edited
	}
	return ch
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func duration(c *Cell) string {
	if c.Took == 0 {
		return ""
	}
	return c.Took.String()
}

// tagsChange is nil where both have the same tags, in whatever order.
func tagsChange(a, b []string) *TagsChange {
	var t TagsChange
	inA, inB := setOf(a), setOf(b)
	for _, tag := range b {
		if !inA[tag] {
			t.Added = append(t.Added, tag)
		}
	}
	for _, tag := range a {
		if !inB[tag] {
			t.Removed = append(t.Removed, tag)
		}
	}
	if t.Added == nil && t.Removed == nil {
		return nil
	}
	return &t
}

func setOf(words []string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		out[w] = true
	}
	return out
}

// together is the text of a cell and of its parts, in the order of the notebook.
func together(cells []Cell, at int, parts []int) string {
	all := append([]int{at}, parts...)
	slices.Sort(all)
	var b strings.Builder
	for _, i := range all {
		text := strings.Trim(cells[i].Source, "\n") // empty lines at a seam say nothing
		if text != "" {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

func flipped(pairs []Pair) []Pair {
	out := slices.Clone(pairs)
	for i, p := range out {
		out[i].A, out[i].B = p.B, p.A
	}
	return out
}

// findParts finds the cells of a that were split: the cells of b next before or after their partner, prose apart, that
// nothing in a has become, and whose lines are from them.
func findParts(a, b []Cell, pairs []Pair) map[int][]int {
	taken := make([]bool, len(b))
	for _, p := range pairs {
		taken[p.B] = true
	}
	out := map[int][]int{}
	for _, p := range pairs {
		if a[p.A].Source == b[p.B].Source || p.Similarity < wholeOther {
			continue
		}
		var have map[string]int // lines of the old cell that its partner has not
		from := func(j int) bool {
			if taken[j] {
				return false
			}
			if have == nil {
				have = lineCounts(a[p.A].Source, 1, map[string]int{})
				lineCounts(b[p.B].Source, -1, have)
			}
			found, all := 0, 0
			for line, n := range lineCounts(b[j].Source, 1, map[string]int{}) {
				all += n
				found += min(n, max(0, have[line]))
			}
			const most = 0.6
			if all == 0 || float64(found) < most*float64(all) {
				return false
			}
			lineCounts(b[j].Source, -1, have)
			taken[j] = true
			return true
		}
		next := func(j, step int) int { // the next cell of this kind; -1 behind the last
			for j += step; j >= 0 && j < len(b); j += step {
				if alike(&a[p.A], &b[j]) {
					return j
				}
			}
			return -1
		}
		var parts []int
		for j := next(p.B, -1); j >= 0 && from(j); j = next(j, -1) {
			parts = append(parts, j)
		}
		slices.Reverse(parts)
		for j := next(p.B, 1); j >= 0 && from(j); j = next(j, 1) {
			parts = append(parts, j)
		}
		if parts != nil {
			out[p.A] = parts
		}
	}
	return out
}

// lineCounts adds step for each line of a text that says something.
func lineCounts(text string, step int, into map[string]int) map[string]int {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			into[line] += step
		}
	}
	return into
}

// count fills Counts and Prose.
func (c *comparing) count() {
	for i := range c.d.Cells {
		ch := &c.d.Cells[i]
		n := &c.d.Counts
		if ch.Kind != Code {
			n = &c.d.Prose
		}
		switch ch.What {
		case Added:
			n.Added++
		case Removed:
			n.Removed++
		case Edited:
			n.Edited++
		case Replaced:
			n.Replaced++
		case Split:
			n.Split++
		case Joined:
			n.Joined++
		case Same:
			if !ch.Moved && !ch.Renamed {
				n.Same++
			}
		}
		if ch.Moved {
			n.Moved++
		}
		if ch.Renamed {
			n.Renamed++
		}
	}
}

// same says that there is nothing to report. A number within its tolerance is nothing.
func (c *comparing) same() bool {
	d := c.d
	changed := func(n Counts) bool { n.Same = 0; return n != Counts{} }
	for _, s := range d.Scraps {
		if !s.Within {
			return false
		}
	}
	return d.Status == nil && len(d.Results)+len(d.Params)+len(d.Options)+len(d.Files)+len(d.Outputs) == 0 &&
		!changed(d.Counts) && !changed(d.Prose)
}

// Changed says that there is something to report of the cell itself.
func (ch *CellChange) Changed() bool { return ch.What != Same || ch.Moved || ch.Renamed }

// Label is what to call the cell: as the new side does, where it is there.
func (ch *CellChange) Label() string {
	if ch.B != nil {
		return ch.B.Label
	}
	return ch.A.Label
}

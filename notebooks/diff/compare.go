package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
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
	for old, new := range matched(a, b, func(f *Field) string { return f.Name }) {
		f := cmp.Or(old, new)
		if f.Volatile && !c.opt.All {
			continue
		}
		ch := ValueChange{Name: f.Name}
		if old != nil {
			ch.Old = old.Value
		}
		if new != nil {
			ch.New = new.Value
		}
		if old == nil || new == nil || !bytes.Equal(old.Value, new.Value) {
			out = append(out, ch)
		}
	}
	return out
}

// matched yields what two lists have under each name: in the order of a, with nil where b has none; then what only b
// has, with nil first. Of a name that b has twice the first counts.
func matched[T any](a, b []T, name func(*T) string) iter.Seq2[*T, *T] {
	return func(yield func(*T, *T) bool) {
		inA, inB := make(map[string]bool, len(a)), make(map[string]*T, len(b))
		for j := range b {
			if n := name(&b[j]); inB[n] == nil {
				inB[n] = &b[j]
			}
		}
		for i := range a {
			n := name(&a[i])
			inA[n] = true
			if !yield(&a[i], inB[n]) {
				return
			}
		}
		for j := range b {
			if !inA[name(&b[j])] && !yield(nil, &b[j]) {
				return
			}
		}
	}
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
	partOf, goneInto := owners(split), owners(joined)
	part := func(ch *CellChange, cells []Cell, of map[int]int, at int) {
		if i, ok := of[at]; ok {
			ch.What, ch.Of = Part, refOf(cells, i)
		}
		c.d.Cells = append(c.d.Cells, *ch)
	}
	at := 0
	removedUntil := func(end int) {
		for ; at < end; at++ {
			if old := &c.a.Cells[at]; toB[at] == nil {
				part(&CellChange{What: Removed, Kind: old.Kind, Old: old, A: refOf(c.a.Cells, at)},
					c.b.Cells, goneInto, at)
			}
		}
	}
	for j := range c.b.Cells {
		p := toA[j]
		if p == nil {
			new := &c.b.Cells[j]
			part(&CellChange{What: Added, Kind: new.Kind, New: new, B: refOf(c.b.Cells, j)}, c.a.Cells, partOf, j)
			continue
		}
		if kept[p.A] {
			removedUntil(p.A)
		}
		c.d.Cells = append(c.d.Cells, c.pair(*p, split[p.A], joined[j]))
	}
	removedUntil(len(c.a.Cells))
}

// owners returns the cell that each part is of.
func owners(parts map[int][]int) map[int]int {
	out := map[int]int{}
	for owner, list := range parts {
		for _, part := range list {
			out[part] = owner
		}
	}
	return out
}

func refOf(cells []Cell, i int) *Ref {
	return &Ref{Place: i, Label: cells[i].Label, Line: cells[i].Line}
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
		ch.Count = changeOf(shown(old.Count), shown(new.Count))
		ch.Took = changeOf(shown(old.Took), shown(new.Took))
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
	case ch.Source != nil || ch.Lang != nil || ch.Tags != nil || len(ch.Options) > 0 ||
		ch.Count != nil || ch.Took != nil:
		ch.What = Edited
	}
	return ch
}

// shown is "" of a zero.
func shown[T comparable](v T) string {
	var zero T
	if v == zero {
		return ""
	}
	return fmt.Sprint(v)
}

// tagsChange is nil where both have the same tags, in whatever order.
func tagsChange(a, b []string) *TagsChange {
	var t TagsChange
	for old, new := range matched(a, b, func(tag *string) string { return *tag }) {
		switch {
		case new == nil:
			t.Removed = append(t.Removed, *old)
		case old == nil:
			t.Added = append(t.Added, *new)
		}
	}
	if t.Added == nil && t.Removed == nil {
		return nil
	}
	return &t
}

// together returns the text of a cell and of its parts, in the order of the notebook.
func together(cells []Cell, at int, parts []int) string {
	var b strings.Builder
	for _, i := range slices.Sorted(slices.Values(append(parts, at))) {
		// Empty lines at a seam say nothing.
		if text := strings.Trim(cells[i].Source, "\n"); text != "" {
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
	for line := range strings.SplitSeq(text, "\n") {
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
		counter := map[What]*int{Same: &n.Same, Added: &n.Added, Removed: &n.Removed, Edited: &n.Edited,
			Replaced: &n.Replaced, Split: &n.Split, Joined: &n.Joined}[ch.What]
		if counter != nil && (ch.What != Same || !ch.Changed()) {
			*counter++
		}
		if ch.Moved {
			n.Moved++
		}
		if ch.Renamed {
			n.Renamed++
		}
	}
}

// same reports whether there is nothing to report. A number within its tolerance is nothing.
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

// Changed reports whether there is something to report of the cell itself.
func (ch *CellChange) Changed() bool { return ch.What != Same || ch.Moved || ch.Renamed }

// Label returns what to call the cell: as the new side does, where it is there.
func (ch *CellChange) Label() string {
	if ch.B != nil {
		return ch.B.Label
	}
	return ch.A.Label
}

package diff

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks/linediff"
)

// Pair says that cell A of one list is cell B of the other.
type Pair struct {
	A, B       int     // places, from 0
	By         By      // what tells
	Similarity float64 // of the two texts: 0 nothing in common, 1 the same
	Moved      bool    // it is not in order with the pairs that stayed
}

// By is the reason why two cells are the same.
type By string

const (
	ByID       By = "id"
	ByText     By = "text"    // the same text
	ByLikeness By = "similar" // similar text
)

// Match finds which cell of b each cell of a has become, in order of A.
//
// Ids that an author gave decide. Ids that programs gave (GeneratedID) count where the texts agree with
// them. All others are matched by their text: the same text in the same order first, then the same
// text elsewhere, then similar text nearby or, through an index, anywhere.
//
// Match(b, a) gives the same pairs the other way round.
func Match(a, b []Cell) []Pair {
	// Ties are broken by place, so that one direction is always the one that is worked out.
	if slices.CompareFunc(a, b, byContent) <= 0 {
		return match(a, b)
	}
	pairs := flipped(match(b, a))
	slices.SortFunc(pairs, func(x, y Pair) int { return cmp.Compare(x.A, y.A) })
	return pairs
}

func byContent(x, y Cell) int {
	return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Kind, y.Kind))
}

func match(a, b []Cell) []Pair {
	none := []int{-1}
	m := &matching{a: a, b: b, toB: slices.Repeat(none, len(a)),
		toA: slices.Repeat(none, len(b)), by: make([]By, len(a)),
		features: [2][]features{make([]features, len(a)), make([]features, len(b))}}
	m.byAuthorID()
	same := m.sameIDs()
	for _, p := range same {
		if m.free(p[0], p[1]) && a[p[0]].Source == b[p[1]].Source && alike(&a[p[0]], &b[p[1]]) {
			m.pair(p[0], p[1], ByID)
		}
	}
	m.sameText()
	for _, p := range same {
		if m.free(p[0], p[1]) && m.similarity(p[0], p[1]) >= nearEnough {
			m.pair(p[0], p[1], ByID)
		}
	}
	m.similarText()
	for _, p := range same { // the cell stayed, and its text is another
		if m.free(p[0], p[1]) {
			m.pair(p[0], p[1], ByID)
		}
	}
	return m.pairs()
}

// alike reports whether two cells are of one kind, so that one may have become the other.
func alike(a, b *Cell) bool { return a.Kind == b.Kind }

type matching struct {
	a, b     []Cell
	toB, toA []int // the partner, -1 without one
	by       []By  // of each cell of a
	features [2][]features
}

func (m *matching) free(i, j int) bool { return m.toB[i] < 0 && m.toA[j] < 0 }

func (m *matching) pair(i, j int, by By) { m.toB[i], m.toA[j], m.by[i] = j, i, by }

// uniqueIDs returns the place of every id of one sort that occurs once.
func uniqueIDs(cells []Cell, generated bool) map[string]int {
	at := make(map[string]int, len(cells))
	for i := range cells {
		c := &cells[i]
		if c.ID == "" || c.GeneratedID != generated {
			continue
		}
		if _, twice := at[c.ID]; twice {
			at[c.ID] = -1
			continue
		}
		at[c.ID] = i
	}
	return at
}

func (m *matching) byAuthorID() {
	at := uniqueIDs(m.b, false)
	for id, i := range uniqueIDs(m.a, false) {
		if j, ok := at[id]; ok && i >= 0 && j >= 0 {
			m.pair(i, j, ByID)
		}
	}
}

// sameIDs lists the pairs that ids of programs propose, in order.
func (m *matching) sameIDs() [][2]int {
	at := uniqueIDs(m.b, true)
	var out [][2]int
	for id, i := range uniqueIDs(m.a, true) {
		if j, ok := at[id]; ok && i >= 0 && j >= 0 && alike(&m.a[i], &m.b[j]) {
			out = append(out, [2]int{i, j})
		}
	}
	slices.SortFunc(out, func(x, y [2]int) int { return cmp.Compare(x[0], y[0]) })
	return out
}

// sameText pairs equal texts: what a longest common subsequence keeps, then the rest in order.
func (m *matching) sameText() {
	type key struct {
		kind CellKind
		text string
	}
	numbers := linediff.Numbering[key]{}
	number := func(c *Cell) int32 { return numbers.Of(key{c.Kind, strings.TrimRight(c.Source, "\n")}) }
	x, y := make([]int32, len(m.a)), make([]int32, len(m.b))
	for i := range m.a {
		if m.toB[i] >= 0 { // pairs are anchors: numbers of their own
			x[i] = -int32(i) - 1
			y[m.toB[i]] = x[i]
			continue
		}
		x[i] = number(&m.a[i])
	}
	for j := range m.b {
		if m.toA[j] < 0 {
			y[j] = number(&m.b[j])
		}
	}
	for i, j := range linediff.Partners(x, y) {
		if j >= 0 && m.free(i, j) {
			m.pair(i, j, ByText)
		}
	}
	waiting := map[int32][]int{}
	for i := range m.a {
		if m.toB[i] < 0 && !m.a[i].blank() {
			waiting[x[i]] = append(waiting[x[i]], i)
		}
	}
	for j := range m.b {
		if m.toA[j] >= 0 {
			continue
		}
		if list := waiting[y[j]]; len(list) > 0 {
			m.pair(list[0], j, ByText)
			waiting[y[j]] = list[1:]
		}
	}
}

// inOrder marks the pairs that stayed in order: a longest run of them.
func (m *matching) inOrder() []bool {
	kept := make([]bool, len(m.a))
	var places, partners []int
	for i, j := range m.toB {
		if j >= 0 {
			places, partners = append(places, i), append(partners, j)
		}
	}
	for _, k := range linediff.Rising(partners) {
		kept[places[k]] = true
	}
	return kept
}

func (m *matching) pairs() []Pair {
	kept := m.inOrder()
	var out []Pair
	for i, j := range m.toB {
		if j >= 0 {
			out = append(out, Pair{A: i, B: j, By: m.by[i], Similarity: m.similarity(i, j), Moved: !kept[i]})
		}
	}
	return out
}

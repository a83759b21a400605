package merge

import (
	"slices"
	"strings"

	"markmill/notebooks/diff"
	"markmill/notebooks/linediff"
)

// sequence is a notebook as it is merged: steps, and between them lines of prose.
type sequence struct {
	tokens []token
	units  []unit
}

// token is a line of prose, or a step.
type token struct {
	line string
	unit int // -1 of a line
}

// unit is what is never cut: a step, a Jupyter cell, a key of the front matter.
type unit struct {
	cell diff.Cell // what package diff matches it by
	text string    // as the file has it; of a Jupyter cell, its source
}

func (s *sequence) lines(text string) {
	for _, line := range diff.Lines(text) {
		s.tokens = append(s.tokens, token{line, -1})
	}
}

func (s *sequence) add(u unit) {
	s.tokens = append(s.tokens, token{"", len(s.units)})
	s.units = append(s.units, u)
}

func (s *sequence) cells() []diff.Cell {
	out := make([]diff.Cell, len(s.units))
	for i := range s.units {
		out[i] = s.units[i].cell
	}
	return out
}

// joint is one step: its place in the units of the three, -1 where it is not.
type joint struct{ b, x, y int }

// weave merges three sequences.
type weave struct {
	m       *merger
	b, x, y sequence
	joints  []joint
	of      [3][]int // the joint of each unit of b, x and y
	written []bool   // of each joint: one that both sides moved occurs twice
	t       *texts   // prose goes here
	emit    func(joint)
	numbers linediff.Numbering[string]
}

// weave merges the order of the steps, and the prose between them. Each step that stays is given to emit once, at its
// place; it merges what is in it.
func (m *merger) weave(t *texts, b, x, y sequence, emit func(joint)) {
	w := &weave{m: m, b: b, x: x, y: y, t: t, emit: emit, numbers: linediff.Numbering[string]{}}
	anchors, stays := w.match()
	w.written = make([]bool, len(w.joints))
	keep := func(s sequence, side int) []token {
		var out []token
		for _, tok := range s.tokens {
			if tok.unit >= 0 {
				tok.unit = w.of[side][tok.unit]
				if !stays[tok.unit][side] {
					continue
				}
			}
			out = append(out, tok)
		}
		return out
	}
	bs, xs, ys := keep(b, 0), keep(x, 1), keep(y, 2)
	until := func(list []token, j int) ([]token, []token) {
		n := slices.IndexFunc(list, func(tok token) bool { return tok.unit == j })
		return list[:n], list[n+1:]
	}
	for _, j := range anchors {
		var gb, gx, gy []token
		gb, bs = until(bs, j)
		gx, xs = until(xs, j)
		gy, ys = until(ys, j)
		w.gap(gb, gx, gy)
		w.unit(j)
	}
	w.gap(bs, xs, ys)
}

// match finds which steps are the same. Anchors are the joints that all three have in the same order; stays says of
// each joint in which of the three its place counts: where one side moved it, only there; nowhere where it was taken
// out.
func (w *weave) match() (anchors []int, stays [][3]bool) {
	cells := [3][]diff.Cell{w.b.cells(), w.x.cells(), w.y.cells()}
	var moved [3][]bool
	w.joints = make([]joint, len(w.b.units))
	for i := range w.joints {
		w.joints[i] = joint{i, -1, -1}
	}
	for side := 1; side <= 2; side++ {
		moved[side] = make([]bool, len(w.b.units))
		for _, p := range diff.Match(cells[0], cells[side]) {
			*w.joints[p.A].at(side) = p.B
			moved[side][p.A] = p.Moved
		}
		w.replaced(cells[0], cells[side], side)
	}
	w.matchAdded(cells)
	for side := range w.of {
		w.of[side] = make([]int, len(cells[side]))
	}
	stays = make([][3]bool, len(w.joints))
	for n, j := range w.joints {
		for side := range w.of {
			if at := *j.at(side); at >= 0 {
				w.of[side][at] = n
			}
		}
		switch {
		case j.b < 0:
			stays[n] = [3]bool{false, j.x >= 0, j.y >= 0}
		case j.x >= 0 && j.y >= 0:
			inX, inY := moved[1][j.b], moved[2][j.b]
			if !inX && !inY {
				anchors = append(anchors, n)
				stays[n] = [3]bool{true, true, true}
			} else {
				stays[n] = [3]bool{false, inX, inY}
			}
		default: // one side took it out: it stays where the other one changed it, as a conflict
			stays[n] = [3]bool{false, j.x >= 0 && w.edited(j), j.y >= 0 && w.edited(j)}
		}
	}
	return anchors, stays
}

// replaced pairs a step of the base with the only one in its place, however little they have in common: for a merge, a
// short step without an id that was written anew is an edit.
func (w *weave) replaced(b, s []diff.Cell, side int) {
	known := w.known(side, len(s))
	place := func(i int) int { // in s, of a step of the base; its ends count
		switch {
		case i < 0:
			return -1
		case i == len(b):
			return len(s)
		}
		return *w.joints[i].at(side)
	}
	for i := range b {
		if place(i) >= 0 || b[i].ID != "" || i > 0 && place(i-1) < 0 || i+1 < len(b) && place(i+1) < 0 {
			continue
		}
		at := place(i-1) + 1
		if place(i+1) == at+1 && !known[at] && s[at].ID == "" && s[at].Kind == b[i].Kind {
			*w.joints[i].at(side) = at
			known[at] = true
		}
	}
}

// known marks the cells of a side that have a joint.
func (w *weave) known(side, cells int) []bool {
	known := make([]bool, cells)
	for _, j := range w.joints {
		if at := *j.at(side); at >= 0 {
			known[at] = true
		}
	}
	return known
}

func (j *joint) at(side int) *int { return [...]*int{&j.b, &j.x, &j.y}[side] }

// edited reports whether the side which still has the step has another text of it than the base.
func (w *weave) edited(j joint) bool {
	text := w.b.units[j.b].text
	return j.x >= 0 && w.x.units[j.x].text != text || j.y >= 0 && w.y.units[j.y].text != text
}

// matchAdded makes the joints of what the sides added, and finds what both did: under one id, or with the same text.
// What is only similar is two steps.
func (w *weave) matchAdded(cells [3][]diff.Cell) {
	var added [3][]diff.Cell
	var places [3][]int
	for side := 1; side <= 2; side++ {
		known := w.known(side, len(cells[side]))
		for i, c := range cells[side] {
			if !known[i] {
				added[side] = append(added[side], c)
				places[side] = append(places[side], i)
			}
		}
	}
	partner := slices.Repeat([]int{-1}, len(added[1]))
	both := make([]bool, len(added[2]))
	for _, p := range diff.Match(added[1], added[2]) {
		c, d := &added[1][p.A], &added[2][p.B]
		named := c.ID != "" && !c.GeneratedID || d.ID != "" && !d.GeneratedID
		if p.By == diff.ByID || p.By == diff.ByText && (!named || c.ID == d.ID) {
			partner[p.A], both[p.B] = places[2][p.B], true
		}
	}
	for i, at := range places[1] {
		w.joints = append(w.joints, joint{-1, at, partner[i]})
	}
	for i, at := range places[2] {
		if !both[i] {
			w.joints = append(w.joints, joint{-1, -1, at})
		}
	}
}

func (w *weave) unit(n int) {
	if !w.written[n] {
		w.written[n] = true
		w.emit(w.joints[n])
	}
}

func (w *weave) all(list []token) {
	for _, tok := range list {
		if tok.unit >= 0 {
			w.unit(tok.unit)
		} else {
			w.t.line(tok.line)
		}
	}
}

// ids numbers tokens: equal lines alike, steps by their joints.
func (w *weave) ids(list []token) []int32 {
	out := make([]int32, len(list))
	for i, tok := range list {
		if tok.unit >= 0 {
			out[i] = -int32(tok.unit) - 1
			continue
		}
		out[i] = w.numbers.Of(tok.line)
	}
	return out
}

// gap merges the text between two anchors: in the base only lines, on the sides also the steps that they added or moved
// to there.
func (w *weave) gap(b, x, y []token) {
	ib, ix, iy := w.ids(b), w.ids(x), w.ids(y)
	if w.easy(b, x, y, ib, ix, iy) {
		return
	}
	for _, c := range chunks(ib, ix, iy) {
		cb, cx, cy := b[c.b0:c.b1], x[c.x0:c.x1], y[c.y0:c.y1]
		switch {
		case c.same:
			w.all(cx)
		case w.easy(cb, cx, cy, ib[c.b0:c.b1], ix[c.x0:c.x1], iy[c.y0:c.y1]):
		case !hasUnit(cx) && !hasUnit(cy):
			w.prose(w.m.conflict, cb, cx, cy)
		case len(cb) == 0:
			w.bothAdded(cx, cy)
		default:
			w.cut(cb, cx, cy)
		}
	}
}

// easy writes what only one side changed, or both in the same way.
func (w *weave) easy(b, x, y []token, ib, ix, iy []int32) bool {
	switch {
	case slices.Equal(iy, ib), slices.Equal(ix, iy):
		w.all(x)
	case slices.Equal(ix, ib):
		w.all(y)
	default:
		return false
	}
	return true
}

func hasUnit(list []token) bool {
	return slices.ContainsFunc(list, func(tok token) bool { return tok.unit >= 0 })
}

func texted(list []token) []string {
	out := make([]string, len(list))
	for i, tok := range list {
		out[i] = tok.line
	}
	return out
}

// bothAdded writes what both sides put at the same place, steps and the prose that belongs to them: one after the
// other. What both begin or end with is written once, if it is more than empty lines.
func (w *weave) bothAdded(x, y []token) {
	ix, iy := w.ids(x), w.ids(y)
	head, tail := 0, 0
	for n := 0; n < min(len(x), len(y)) && ix[n] == iy[n]; n++ {
		if !x[n].blank() {
			head = n + 1
		}
	}
	for n := 1; n <= min(len(x), len(y))-head && ix[len(x)-n] == iy[len(y)-n]; n++ {
		if !x[len(x)-n].blank() {
			tail = n
		}
	}
	w.all(x[:head])
	w.all(x[head : len(x)-tail])
	w.all(y[head : len(y)-tail])
	w.all(x[len(x)-tail:])
}

func (tok token) blank() bool { return tok.unit < 0 && strings.Trim(tok.line, " \t\n\r") == "" }

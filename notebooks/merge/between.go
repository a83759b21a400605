package merge

import (
	"slices"

	"markmill/notebooks/linediff"
)

// prose merges lines between steps, and reports the conflicts that by writes.
func (w *weave) prose(by func(t *texts, b, x, y []string), b, x, y []token) {
	before := w.t.conflicts
	by(w.t, texted(b), texted(x), texted(y))
	w.m.told("", bothChanged, w.t.conflicts-before)
}

// told records conflicts that were written.
func (m *merger) told(step, msg string, n int) {
	for range n {
		m.result.Conflicts = append(m.result.Conflicts, Conflict{Step: step, Msg: msg})
	}
}

// cut splits lines that both sides changed at steps which one side inserted, so that no step is inside a prose
// conflict's markers.
func (w *weave) cut(b, x, y []token) {
	ib, ix, iy := w.ids(b), w.ids(x), w.ids(y)
	toX, toY := linediff.Blocks(linediff.Numbers(ib, ix)), linediff.Blocks(linediff.Numbers(ib, iy))
	shared := sharedUnits(x, y)
	inY := map[int]bool{}
	for _, at := range shared {
		inY[at] = true
	}
	b0, x0, y0 := 0, 0, 0
	// part writes the lines up to the three places, none of which lies before the last ones.
	part := func(b1, x1, y1 int) {
		w.prose(w.m.mergeLines, b[b0:b1], x[x0:x1], y[y0:y1])
		b0, x0, y0 = b1, x1, y1
	}
	for {
		nextX, nextY := x0+unitAt(x[x0:]), y0+unitAt(y[y0:])
		if nextX == len(x) && nextY == len(y) {
			break
		}
		_, sharedX := shared[nextX]
		kx, ky := len(b)+1, len(b)+1
		if nextX < len(x) {
			kx = settle(toY, project(toX, nextX, x))
		}
		if nextY < len(y) {
			ky = settle(toX, project(toY, nextY, y))
		}
		switch {
		case sharedX && shared[nextX] == nextY:
			part(max(b0, min(kx, ky)), nextX, nextY)
			w.unit(x[nextX].unit)
			x0, y0 = nextX+1, nextY+1
		case nextY == len(y) || nextX < len(x) && !sharedX && (kx <= ky || inY[nextY]):
			part(max(b0, kx), nextX, max(y0, min(image(toY, kx, false), nextY)))
			w.unit(x[nextX].unit)
			x0++
		default:
			part(max(b0, min(ky, len(b))), max(x0, min(image(toX, ky, true), nextX)), nextY)
			w.unit(y[nextY].unit)
			y0++
		}
	}
	part(len(b), len(x), len(y))
}

func unitAt(list []token) int {
	if n := slices.IndexFunc(list, func(tok token) bool { return tok.unit >= 0 }); n >= 0 {
		return n
	}
	return len(list)
}

// sharedUnits returns the places in y of the steps that x and y share, in the same order.
func sharedUnits(x, y []token) map[int]int {
	list := func(tokens []token) (places []int, units []int32) {
		for i, tok := range tokens {
			if tok.unit >= 0 {
				places, units = append(places, i), append(units, int32(tok.unit))
			}
		}
		return places, units
	}
	px, ux := list(x)
	py, uy := list(y)
	out := map[int]int{}
	for i, j := range linediff.Partners(ux, uy) {
		if j >= 0 {
			out[px[i]] = py[j]
		}
	}
	return out
}

// project returns the place in the base of a step that a side has put in: behind the lines that the side wrote before
// it.
func project(blocks []linediff.Block, at int, side []token) int {
	shift := 0
	for _, b := range blocks {
		if b.J1 <= at {
			shift = b.I1 - b.J1
			continue
		}
		if b.J0 > at {
			break
		}
		for _, tok := range side[b.J0:at] {
			if tok.unit < 0 {
				return b.I1
			}
		}
		return b.I0
	}
	return at + shift
}

// settle moves a place in the base out of lines that the other side replaced whole, behind them.
func settle(blocks []linediff.Block, k int) int {
	for _, b := range blocks {
		if b.I0 < k && k < b.I1 {
			return b.I1
		}
	}
	return k
}

// image returns the place on a side of a place in the base; behind what the side put in there, or before it.
func image(blocks []linediff.Block, k int, behind bool) int {
	shift := 0
	for _, b := range blocks {
		switch {
		case b.I1 < k || b.I1 == k && (b.I0 < k || behind):
			shift = b.J1 - b.I1
		case b.I0 < k:
			return b.J1
		}
	}
	return k + shift
}

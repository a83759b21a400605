package linediff

import (
	"bytes"
	"fmt"
	"slices"
)

// maxEdits bounds the exact search for the shortest edit (Myers 1986): beyond it, lines that occur
// once on both sides split the problem (patience diff), and where there are none the stretch is
// replaced whole. So the time stays near linear in the size of the files, and the result is always
// the same.
const maxEdits = 1000

// Numbering gives equal things equal numbers, from 0 on in the order in which they come.
type Numbering[K comparable] map[K]int32

// Of returns the number of a thing.
func (n Numbering[K]) Of(k K) int32 {
	id, ok := n[k]
	if !ok {
		id = int32(len(n))
		n[k] = id
	}
	return id
}

// All returns the numbers of things.
func (n Numbering[K]) All(list []K) []int32 {
	out := make([]int32, len(list))
	for i, k := range list {
		out[i] = n.Of(k)
	}
	return out
}

// Lines marks the lines of a that go and the lines of b that come.
func Lines[T ~string | ~[]byte](a, b []T) (gone, come []bool) {
	ids := make(map[string]int32, len(a)) // a Numbering would copy the lines of bytes that it knows
	number := func(lines []T) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			if _, known := ids[string(l)]; !known {
				ids[string(l)] = int32(len(ids))
			}
			out[i] = ids[string(l)]
		}
		return out
	}
	return Numbers(number(a), number(b))
}

// Numbers is Lines of what is already numbered: equal numbers are equal lines.
func Numbers(a, b []int32) (gone, come []bool) {
	d := differ{a: a, b: b, gone: make([]bool, len(a)), come: make([]bool, len(b))}
	d.diff(0, len(a), 0, len(b))
	return d.gone, d.come
}

// Partners is for each of a its place in b, -1 where it is gone. The arguments are those of Numbers.
func Partners(a, b []int32) []int {
	gone, come := Numbers(a, b)
	out := make([]int, len(a))
	j := 0
	for i := range a {
		if gone[i] {
			out[i] = -1
			continue
		}
		for come[j] {
			j++
		}
		out[i] = j
		j++
	}
	return out
}

type differ struct {
	a, b       []int32
	gone, come []bool
}

func (d *differ) diff(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 == a1 || b0 == b1 || !d.shortest(a0, a1, b0, b1) && !d.split(a0, a1, b0, b1) {
		d.replace(a0, a1, b0, b1)
	}
}

func (d *differ) replace(a0, a1, b0, b1 int) {
	for i := a0; i < a1; i++ {
		d.gone[i] = true
	}
	for j := b0; j < b1; j++ {
		d.come[j] = true
	}
}

// shortest finds the shortest edit; false when it has more than maxEdits lines.
func (d *differ) shortest(a0, a1, b0, b1 int) bool {
	n, m := a1-a0, b1-b0
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+3) // furthest x on each diagonal k, at limit+1+k
	mid := limit + 1
	var trace [][]int
	for e := 0; e <= limit; e++ {
		trace = append(trace, slices.Clone(v[mid-e:mid+e+1])) // before this round, which writes -e..e
		for k := -e; k <= e; k += 2 {
			var x int
			if k == -e || k != e && v[mid+k-1] < v[mid+k+1] {
				x = v[mid+k+1]
			} else {
				x = v[mid+k-1] + 1
			}
			for x < n && x-k < m && d.a[a0+x] == d.b[b0+x-k] {
				x++
			}
			v[mid+k] = x
			if x >= n && x-k >= m {
				d.walkBack(trace, a0, b0, n, m)
				return true
			}
		}
	}
	return false
}

// walkBack marks the edits of the path that shortest found.
func (d *differ) walkBack(trace [][]int, a0, b0, x, y int) {
	for e := len(trace) - 1; e > 0; e-- {
		at := func(k int) int { // round e read the values of round e-1, which lie in -(e-1)..e-1
			if k < -e || k > e {
				return -1
			}
			return trace[e][k+e]
		}
		k := x - y
		if k == -e || k != e && at(k-1) < at(k+1) { // down
			x, y = at(k+1), at(k+1)-(k+1)
			d.come[b0+y] = true
		} else {
			x, y = at(k-1), at(k-1)-(k-1)
			d.gone[a0+x] = true
		}
	}
}

// split anchors the stretch at lines that occur exactly once on both sides, in the longest run that is in order on
// both.
func (d *differ) split(a0, a1, b0, b1 int) bool {
	type place struct{ inA, inB, a, b int }
	places := make(map[int32]*place)
	for i := a0; i < a1; i++ {
		p := places[d.a[i]]
		if p == nil {
			p = &place{}
			places[d.a[i]] = p
		}
		p.inA, p.a = p.inA+1, i
	}
	for j := b0; j < b1; j++ {
		if p := places[d.b[j]]; p != nil {
			p.inB, p.b = p.inB+1, j
		}
	}
	var once []*place
	for i := a0; i < a1; i++ {
		if p := places[d.a[i]]; p.inA == 1 && p.inB == 1 {
			once = append(once, p)
		}
	}
	if len(once) == 0 {
		return false
	}
	var ends []int
	for _, p := range once {
		ends = append(ends, p.b)
	}
	for _, i := range Rising(ends) {
		p := once[i]
		d.diff(a0, p.a, b0, p.b)
		a0, b0 = p.a+1, p.b+1
	}
	d.diff(a0, a1, b0, b1)
	return true
}

// Rising returns the places of a longest run of values that rise, in order.
func Rising(values []int) []int {
	var ends []int // the place of the least end of a run of each length
	back := make([]int, len(values))
	for i, v := range values {
		at, _ := slices.BinarySearchFunc(ends, v, func(k, v int) int { return values[k] - v })
		back[i] = -1
		if at > 0 {
			back[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	run := make([]int, len(ends))
	for i, k := ends[len(ends)-1], len(ends)-1; i >= 0; i, k = back[i], k-1 {
		run[k] = i
	}
	return run
}

// Split cuts content after each newline.
func Split(data []byte) [][]byte { return slices.Collect(bytes.Lines(data)) }

// Block is one change: lines I0..I1 of the old become lines J0..J1 of the new, half-open, from 0.
type Block struct{ I0, I1, J0, J1 int }

// Blocks joins the marks of Lines into changes.
func Blocks(gone, come []bool) []Block {
	var out []Block
	i, j := 0, 0
	for i < len(gone) || j < len(come) {
		b := Block{i, i, j, j}
		for b.I1 < len(gone) && gone[b.I1] {
			b.I1++
		}
		for b.J1 < len(come) && come[b.J1] {
			b.J1++
		}
		if b.I1 > b.I0 || b.J1 > b.J0 {
			out = append(out, b)
			i, j = b.I1, b.J1
		} else {
			i, j = i+1, j+1
		}
	}
	return out
}

// Context is the number of unchanged lines that a hunk shows on each side, as in diff -u.
const Context = 3

// Unified writes the hunks of a unified diff (POSIX, diff -u) of two texts; gone and come are those of Lines. line
// writes one line after its mark.
func Unified[T ~string | ~[]byte](out *bytes.Buffer, a, b []T, gone, come []bool, line func(T)) {
	write := func(mark byte, l T) {
		out.WriteByte(mark)
		line(l)
	}
	for all := Blocks(gone, come); len(all) > 0; {
		n := 1
		for n < len(all) && all[n].I0-all[n-1].I1 <= 2*Context {
			n++
		}
		first, last := all[0], all[n-1]
		before, after := min(Context, first.I0), min(Context, len(a)-last.I1)
		i, j := first.I0-before, first.J0-before
		fmt.Fprintf(out, "@@ -%s +%s @@\n", span(i, last.I1+after-i), span(j, last.J1+after-j))
		for _, k := range all[:n] {
			for ; i < k.I0; i++ {
				write(' ', a[i])
			}
			for ; i < k.I1; i++ {
				write('-', a[i])
			}
			for j = k.J0; j < k.J1; j++ {
				write('+', b[j])
			}
		}
		for ; i < last.I1+after; i++ {
			write(' ', a[i])
		}
		all = all[n:]
	}
}

// span returns a range of lines as a hunk header has it: of none, the line before it.
func span(start, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}

package merge

import (
	"slices"
	"strings"

	"markmill/notebooks/diff"
	"markmill/notebooks/linediff"
)

// texts is the output under construction: lines, and the number of conflicts in them.
type texts struct {
	strings.Builder
	conflicts int
	open      bool // the last line has no end
}

// line writes a line. One without an end can only be the last: another one after it ends it.
func (t *texts) line(line string) {
	if line == "" {
		return
	}
	t.end()
	t.WriteString(line)
	t.open = !strings.HasSuffix(line, "\n")
}

// end terminates the last line.
func (t *texts) end() {
	if t.open {
		t.WriteString("\n")
		t.open = false
	}
}

func (t *texts) all(lines []string) {
	for _, l := range lines {
		t.line(l)
	}
}

// chunk is a range of the three texts, either equal in all or not.
type chunk struct {
	b0, b1, x0, x1, y0, y1 int
	same                   bool
}

// chunks aligns three lists (Khanna, Kunal, Pierce: A Formal Investigation of Diff3).
func chunks(b, x, y []int32) []chunk {
	toX, toY := linediff.Partners(b, x), linediff.Partners(b, y)
	var out []chunk
	i, j, k := 0, 0, 0
	for i < len(b) || j < len(x) || k < len(y) {
		c := chunk{b0: i, x0: j, y0: k}
		for i < len(b) && toX[i] == j && toY[i] == k {
			i, j, k = i+1, j+1, k+1
		}
		if i > c.b0 {
			c.b1, c.x1, c.y1, c.same = i, j, k, true
			out = append(out, c)
			continue
		}
		for i < len(b) && (toX[i] < 0 || toY[i] < 0) {
			i++
		}
		if i < len(b) {
			j, k = toX[i], toY[i]
		} else {
			j, k = len(x), len(y)
		}
		c.b1, c.x1, c.y1 = i, j, k
		out = append(out, c)
	}
	return out
}

// lines merges by line.
func (m *merger) lines(t *texts, b, x, y string) {
	m.mergeLines(t, diff.Lines(b), diff.Lines(x), diff.Lines(y))
}

func (m *merger) mergeLines(t *texts, b, x, y []string) {
	n := linediff.Numbering[string]{}
	nb, nx, ny := n.All(b), n.All(x), n.All(y)
	for _, c := range chunks(nb, nx, ny) {
		switch {
		case c.same, slices.Equal(ny[c.y0:c.y1], nb[c.b0:c.b1]), slices.Equal(nx[c.x0:c.x1], ny[c.y0:c.y1]):
			t.all(x[c.x0:c.x1])
		case slices.Equal(nx[c.x0:c.x1], nb[c.b0:c.b1]):
			t.all(y[c.y0:c.y1])
		default:
			m.conflict(t, b[c.b0:c.b1], x[c.x0:c.x1], y[c.y0:c.y1])
		}
	}
}

// minCommon is the number of equal lines that separate two conflicts: fewer are easier to read within one.
const minCommon = 3

// conflict writes lines that both sides changed.
func (m *merger) conflict(t *texts, b, x, y []string) {
	if m.opt.Style == Diff3 {
		m.marked(t, b, x, y)
		return
	}
	head, tail := commonEnds(x, y)
	t.all(x[:head])
	end := x[len(x)-tail:]
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	if m.opt.Style == ZDiff3 {
		m.marked(t, b, x, y)
	} else {
		m.refined(t, x, y)
	}
	t.all(end)
}

func commonEnds(x, y []string) (head, tail int) {
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	return head, tail
}

// refined marks only what differs between the sides.
func (m *merger) refined(t *texts, x, y []string) {
	// What is compared in one direction only is the same when the sides are swapped.
	blocks := linediff.Blocks(linediff.Lines(x, y))
	var joined []linediff.Block
	for _, b := range blocks {
		if n := len(joined) - 1; n >= 0 && b.I0-joined[n].I1 < minCommon {
			joined[n].I1, joined[n].J1 = b.I1, b.J1
			continue
		}
		joined = append(joined, b)
	}
	at := 0
	for _, b := range joined {
		t.all(x[at:b.I0])
		m.marked(t, nil, x[b.I0:b.I1], y[b.J0:b.J1])
		at = b.I1
	}
	t.all(x[at:])
}

// marked writes one conflict.
func (m *merger) marked(t *texts, b, x, y []string) {
	ours, theirs := x, y
	if m.swapped {
		ours, theirs = y, x
	}
	switch m.opt.Favor {
	case Ours:
		t.all(ours)
		return
	case Theirs:
		t.all(theirs)
		return
	case Together:
		t.all(ours)
		t.all(theirs)
		return
	}
	t.conflicts++
	t.line(m.mark('<', m.opt.Ours) + "\n")
	t.all(ours)
	if m.opt.Style != Plain {
		t.line(m.mark('|', m.opt.Base) + "\n")
		t.all(b)
	}
	t.line(m.mark('=', "") + "\n")
	t.all(theirs)
	t.line(m.mark('>', m.opt.Theirs) + "\n")
}

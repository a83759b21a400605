package mask

import (
	"cmp"
	"slices"
)

// masker replaces the values in a text that arrives in pieces. What it gives does not depend on how the text was cut.
type masker struct {
	set     *Set
	cursors [2]cursor
	held    []byte // from base on: what may belong to a value
	base    int64
	found   []place // not yet replaced
	masked  int64   // end of the last Mark
	marks   []place // what a Mark replaced, in order, without overlaps
	hit     bool    // a value was found
	riders  []rider // in or after held
}

// rider is a control sequence, which takes no room in the text and so may stand within a value.
type rider struct {
	at    int64 // the offset of the byte after it
	bytes string
	stays bool // also within a value
}

// place is a range of the text.
type place struct{ start, end int64 }

func (s *Set) masker() masker {
	return masker{set: s, cursors: [2]cursor{{a: s.plain}, {a: s.wrapped}}}
}

// idle reports whether nothing is held and no value may continue.
func (m *masker) idle() bool {
	return m.cursors[0].state == 0 && m.cursors[1].state == 0 && len(m.held)+len(m.found)+len(m.riders) == 0
}

// passes takes a piece of text in which, and at whose end, there is nothing to hold back; otherwise it does nothing.
func (m *masker) passes(b []byte) bool {
	if !m.idle() {
		return false
	}
	before, found := m.cursors, false
	m.scan(b, func(_, _ int64) { found = true })
	if found || m.cursors[0].state != 0 || m.cursors[1].state != 0 {
		m.cursors = before
		return false
	}
	m.base = m.cursors[0].pos
	return true
}

// ride takes a control sequence that stands after the text so far, and returns it if it need not wait.
func (m *masker) ride(sequence []byte, stays bool) []byte {
	if m.idle() {
		return sequence
	}
	m.riders = append(m.riders, rider{m.cursors[0].pos, string(sequence), stays})
	return nil
}

// write takes a piece of text and returns what can no longer belong to a value. The result may share memory with b.
func (m *masker) write(b []byte) []byte {
	m.scan(b, func(start, end int64) { m.found, m.hit = append(m.found, place{start, end}), true })
	safe := min(m.cursors[0].safe(), m.cursors[1].safe())
	if len(m.held)+len(m.found)+len(m.riders) == 0 && m.masked <= m.base && safe >= m.base {
		n := int(safe - m.base)
		m.held, m.base = append(m.held, b[n:]...), safe
		return b[:n]
	}
	m.held = append(m.held, b...)
	return m.flush(safe)
}

// scan calls found for each value in a piece of text.
func (m *masker) scan(b []byte, found func(start, end int64)) {
	const most = 16 // bytes are searched at once where a value may begin
	for len(b) > 0 {
		if m.cursors[0].state == 0 && m.cursors[1].state == 0 {
			n := m.set.quiet(b)
			m.cursors[0].pos += int64(n)
			m.cursors[1].pos += int64(n)
			b = b[n:]
		}
		n := min(len(b), most)
		m.cursors[0].scan(b[:n], found)
		m.cursors[1].scan(b[:n], found)
		b = b[n:]
	}
}

// rest ends the text and returns what was held.
func (m *masker) rest() []byte {
	out := m.flush(m.base + int64(len(m.held)))
	for _, r := range m.riders {
		out = append(out, r.bytes...)
	}
	m.riders = nil
	return out
}

// flush returns everything before safe. Overlapping values get one Mark; a sequence within a value follows it.
func (m *masker) flush(safe int64) []byte {
	slices.SortFunc(m.found, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var out []byte
	at := m.base
	copyTo := func(to, last int64) { // and the sequences up to last
		for len(m.riders) > 0 && m.riders[0].at <= last {
			r := m.riders[0]
			m.riders = m.riders[1:]
			if from := max(at, m.masked); from < r.at {
				out = append(out, m.held[from-m.base:r.at-m.base]...)
				at = r.at
			}
			if r.stays || r.at >= m.masked {
				out = append(out, r.bytes...)
			}
		}
		if at = max(at, m.masked); at < to {
			out = append(out, m.held[at-m.base:to-m.base]...)
			at = to
		}
	}
	done := 0
	for ; done < len(m.found) && m.found[done].start <= safe; done++ {
		p := m.found[done]
		if p.start >= m.masked {
			copyTo(p.start, p.start)
			out = append(out, Mark...)
			m.marks = append(m.marks, p)
		}
		m.masked = max(m.masked, p.end)
		if n := len(m.marks); n > 0 {
			m.marks[n-1].end = m.masked
		}
	}
	m.found = slices.Delete(m.found, 0, done)
	copyTo(safe, safe-1)
	at = min(max(at, m.masked), m.base+int64(len(m.held))) // masked bytes are not held
	m.held = append(m.held[:0], m.held[at-m.base:]...)
	m.base = at
	return out
}

// maxGap is the maximum length, in bytes, of what may stand between two characters of a wrapped encoding: a line break
// with indentation, or the separators of a hexadecimal dump.
const maxGap = 64

// cursor is the position of a search in text that arrives in pieces. Offsets count from the start of the text.
type cursor struct {
	a     *automaton
	state int32
	pos   int64
	gaps  []gap // wrapped automaton only: skipped bytes that may lie inside a match
	open  bool  // the last gap has not ended
}

type gap struct{ at, size int64 }

// scan continues the search and calls found for each match, in order of their ends.
func (c *cursor) scan(b []byte, found func(start, end int64)) {
	a := c.a
	state := c.state
	for i := 0; i < len(b); i++ {
		if state == 0 {
			for i < len(b) && a.first[b[i]] == 0 {
				i++
			}
			if i == len(b) {
				break
			}
			c.gaps, c.open = c.gaps[:0], false
		} else if a.wrapped && separates(b[i]) && c.pass(c.pos+int64(i), state) {
			continue
		}
		c.open = false
		state = a.next[int(state)*a.width+int(a.class[b[i]])]
		if n := a.match[state]; n > 0 {
			end := c.pos + int64(i) + 1
			found(c.start(n, end), end)
		}
	}
	c.state = state
	c.pos += int64(len(b))
}

// separates reports whether a byte may stand between two characters of a wrapped encoding.
func separates(b byte) bool {
	return b == ' ' || b == '\n' || b == '\r' || b == '\t' || b == ':' || b == ','
}

// pass skips a separator.
func (c *cursor) pass(at int64, state int32) bool {
	if !c.open {
		begin, kept := c.start(c.a.depth[state], at), 0
		for _, g := range c.gaps {
			if g.at+g.size > begin {
				c.gaps[kept] = g
				kept++
			}
		}
		c.gaps, c.open = append(c.gaps[:kept], gap{at: at}), true
	}
	last := &c.gaps[len(c.gaps)-1]
	last.size++
	return last.size <= maxGap
}

// start returns where the last n bytes before end begin, not counting gaps.
func (c *cursor) start(n int32, end int64) int64 {
	p := end - int64(n)
	for i := len(c.gaps) - 1; i >= 0 && p < c.gaps[i].at+c.gaps[i].size; i-- {
		p -= c.gaps[i].size
	}
	return p
}

// safe returns the offset before which no unfound match can begin.
func (c *cursor) safe() int64 {
	if c.state == 0 {
		return c.pos
	}
	return c.start(c.a.depth[c.state], c.pos)
}

// automaton finds many patterns in one pass over a text (Aho and Corasick, "Efficient string matching", CACM 18(6),
// 1975), as a state table over byte classes. It is safe for concurrent use.
type automaton struct {
	class   [256]uint16 // 0: in no pattern
	width   int         // number of classes
	next    []int32     // by state*width + class
	first   [256]int32  // next of state 0, by byte
	depth   []int32     // length of the longest pattern prefix that the state stands for
	match   []int32     // length of the longest pattern that ends in a state, or 0
	wrapped bool        // skip what separates characters
}

// newAutomaton builds the table for patterns. None may be empty.
func newAutomaton(patterns []string, wrapped bool) *automaton {
	patterns = slices.Clone(patterns)
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	a := &automaton{width: 1, wrapped: wrapped}
	for _, p := range patterns {
		for i := range len(p) {
			if c := p[i]; a.class[c] == 0 {
				a.class[c] = uint16(a.width)
				a.width++
			}
		}
	}
	state := func(depth int32) int32 {
		a.next = append(a.next, make([]int32, a.width)...)
		a.depth, a.match = append(a.depth, depth), append(a.match, 0)
		return int32(len(a.depth) - 1)
	}
	state(0)
	for _, p := range patterns {
		at := int32(0)
		for i := range len(p) {
			slot := int(at)*a.width + int(a.class[p[i]])
			if a.next[slot] == 0 {
				to := state(int32(i + 1))
				a.next[slot] = to
			}
			at = a.next[slot]
		}
		a.match[at] = int32(len(p))
	}
	a.complete()
	for c := range 256 {
		a.first[c] = a.next[a.class[c]]
	}
	return a
}

// mayBegin reports whether a match may begin with two bytes.
func (a *automaton) mayBegin(c, d byte) bool {
	state := a.first[c]
	return state != 0 && (a.match[state] > 0 || a.wrapped && separates(d) ||
		a.depth[a.next[int(state)*a.width+int(a.class[d])]] == 2)
}

// complete fills in the missing transitions, breadth first, from the state of the longest proper suffix.
func (a *automaton) complete() {
	fall := make([]int32, len(a.depth))
	queue := make([]int32, 0, len(a.depth))
	for c := 1; c < a.width; c++ {
		if to := a.next[c]; to != 0 {
			queue = append(queue, to)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		a.match[at] = max(a.match[at], a.match[fall[at]])
		for c := 1; c < a.width; c++ {
			slot, other := int(at)*a.width+c, a.next[int(fall[at])*a.width+c]
			if to := a.next[slot]; to != 0 {
				fall[to] = other
				queue = append(queue, to)
			} else {
				a.next[slot] = other
			}
		}
	}
}

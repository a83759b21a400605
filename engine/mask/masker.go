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

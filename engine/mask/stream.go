package mask

import (
	"cmp"
	"slices"
)

// Stream masks a stream that arrives in pieces.
type Stream struct {
	effects *effects
	out     []byte // of this piece

	cursors [2]cursor
	held    []byte // from base on: a possible beginning of a value
	base    int64
	found   []place // not yet written out
	masked  int64   // end of the last Mark
	marks   []place // replaced by a Mark, in order, without overlaps
	many    bool    // there were more than maxMarks
}

// maxMarks bounds the number of positions kept.
const maxMarks = 1 << 16

type place struct{ start, end int64 }

// Stream starts a stream. It returns nil when there is nothing to mask.
func (s *Set) Stream() *Stream {
	if s == nil {
		return nil
	}
	m := s.search()
	m.effects = newEffects(s, func(b []byte) []byte {
		out := m.bytes(b)
		m.out = append(m.out, out...)
		return out
	}, m.idle, m.takeBack)
	return m
}

// search returns a Stream that searches the raw bytes only.
func (s *Set) search() *Stream { return &Stream{cursors: [2]cursor{{a: s.plain}, {a: s.wrapped}}} }

// whole returns text with every value in its bytes replaced.
func (s *Set) whole(text []byte) []byte {
	m := s.search()
	return append(slices.Clone(m.bytes(text)), m.flush(m.base+int64(len(m.held)))...)
}

// Next takes a piece and returns the output that can no longer be part of a value. The result may share memory with b
// and is valid until the next call.
func (m *Stream) Next(b []byte) []byte {
	if !m.effects.inside && hasEffects(b) < 0 {
		out := m.bytes(b)
		m.effects.remember(out)
		return out
	}
	m.out = m.out[:0]
	m.effects.write(b)
	return m.out
}

// Rest ends the stream and returns the remaining output.
func (m *Stream) Rest() []byte {
	m.out = m.out[:0]
	m.effects.finish()
	return append(m.out, m.flush(m.base+int64(len(m.held)))...)
}

// holds reports whether a value was found.
func (m *Stream) holds() bool { return m.effects.found || len(m.marks) > 0 || len(m.found) > 0 }

// idle reports whether the input so far ends outside any value.
func (m *Stream) idle() bool { return m.cursors[0].state == 0 && m.cursors[1].state == 0 }

// takeBack returns the search position and the held bytes, as if they had never arrived. Bytes that may continue a
// masked value stay.
func (m *Stream) takeBack() held {
	at := held{base: m.base, masked: m.masked}
	for i, c := range m.cursors {
		c.gaps = slices.Clone(c.gaps)
		at.cursors[i] = c
	}
	if len(m.found) > 0 || m.cursors[0].safe() < m.base || m.cursors[1].safe() < m.base {
		at.base, at.stays = m.cursors[0].pos, m.held
		return at
	}
	at.bytes, m.held = m.held, nil
	for i := range m.cursors {
		m.cursors[i] = cursor{a: m.cursors[i].a, pos: m.base}
	}
	return at
}

// bytes searches the bytes themselves.
func (m *Stream) bytes(b []byte) []byte {
	for i := range m.cursors {
		m.cursors[i].scan(b, func(start, end int64) bool {
			m.found = append(m.found, place{start, end})
			return true
		})
	}
	safe := min(m.cursors[0].safe(), m.cursors[1].safe())
	if len(m.held) == 0 && len(m.found) == 0 && m.masked <= m.base && safe >= m.base {
		n := int(safe - m.base)
		m.held, m.base = append(m.held, b[n:]...), safe
		return b[:n]
	}
	m.held = append(m.held, b...)
	return m.flush(safe)
}

// flush outputs everything before safe. Overlapping matches get one Mark.
func (m *Stream) flush(safe int64) []byte {
	slices.SortFunc(m.found, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var out []byte
	at := m.base
	copyTo := func(to int64) {
		if at = max(at, m.masked); at < to {
			out = append(out, m.held[at-m.base:to-m.base]...)
			at = to
		}
	}
	done := 0
	for ; done < len(m.found) && m.found[done].start <= safe; done++ {
		p := m.found[done]
		if p.start >= m.masked {
			copyTo(p.start)
			out = append(out, Mark...)
			if m.many = len(m.marks) == maxMarks; !m.many {
				m.marks = append(m.marks, p)
			}
		}
		if m.masked = max(m.masked, p.end); !m.many {
			m.marks[len(m.marks)-1].end = m.masked
		}
	}
	m.found = slices.Delete(m.found, 0, done)
	copyTo(safe)
	at = min(max(at, m.masked), m.base+int64(len(m.held))) // masked bytes are not held
	m.held = append(m.held[:0], m.held[at-m.base:]...)
	m.base = at
	return out
}

// At maps input byte n to its offset in the output; a byte within a value maps to the end of its Mark. The offset is
// unknown after very many values, or after one that terminal effects assembled.
func (m *Stream) At(n int64) (at int64, known bool) {
	at = n
	for _, p := range m.marks {
		if n <= p.start {
			break
		}
		at += int64(len(Mark)) - (min(n, p.end) - p.start)
	}
	return at, !m.many && !m.effects.altered
}

package mask

import (
	"bytes"
	"encoding/binary"
)

const (
	// maxLine is the length, in bytes, up to which a line is held as a whole.
	maxLine = 64 << 10
	// maxUnit bounds what is held because a value may go on in the next line.
	maxUnit = 1 << 20
	// maxMarks bounds the number of positions kept.
	maxMarks = 1 << 16
)

// Stream masks a stream that arrives in pieces. It takes whole lines, in units: a unit ends with the first line after
// which no value may go on. A unit without control characters is searched as it is. Any other goes through a screen,
// which makes it harmless. What a unit becomes depends on its bytes alone.
type Stream struct {
	set    *Set
	raw    masker
	screen *screen // nil until the first unit that needs one
	line   []byte  // the last line, not complete

	in      []byte // the unit so far
	given   []byte // what has come of it
	special bool   // it goes through the screen
	cut     bool   // a part of it, too long to hold, was given before
	pos     int64  // where it begins
	changed []change
	many    bool // there were more than maxMarks changes
	out     []byte
}

// change says that a range of the stream became so many bytes.
type change struct {
	place
	size int64
}

// Stream starts a stream. It returns nil when there is nothing to mask.
func (s *Set) Stream() *Stream {
	if s == nil {
		return nil
	}
	return &Stream{set: s, raw: s.masker()}
}

// Next takes a piece and returns what came of the units that are complete. The result may share memory with b and is
// valid until the next call.
func (m *Stream) Next(b []byte) []byte {
	m.out = m.out[:0]
	if len(m.line) > 0 {
		n := lineEnd(b, maxLine-len(m.line))
		if n == 0 {
			m.line = append(m.line, b...)
			return nil
		}
		m.line = append(m.line, b[:n]...)
		if came, passes := m.take(m.line); passes {
			m.out = append(m.out, m.line...)
		} else {
			m.out = append(m.out, came...)
		}
		m.line, b = m.line[:0], b[n:]
	}
	// The usual case, in which the way of the lines below comes to the same.
	if n := bytes.LastIndexByte(b, '\n') + 1; n > 0 && len(b)-n < maxLine && len(m.out)+len(m.in) == 0 &&
		!hasEffects(b[:n]) && m.raw.passes(b[:n]) {
		m.pos += int64(n)
		m.line = append(m.line, b[n:]...)
		return b[:n]
	}
	from, at := 0, 0 // what lies between them passes as it is
	for n := lineEnd(b, maxLine); n > 0; n = lineEnd(b[at:], maxLine) {
		came, passes := m.take(b[at : at+n])
		if !passes {
			m.out = append(append(m.out, b[from:at]...), came...)
			from = at + n
		}
		at += n
	}
	m.line = append(m.line, b[at:]...)
	if len(m.out) == 0 {
		return b[from:at]
	}
	m.out = append(m.out, b[from:at]...)
	return m.out
}

// lineEnd returns the length of the first line of b; 0 if it does not end within limit bytes and may go on.
func lineEnd(b []byte, limit int) int {
	part := b[:min(len(b), limit)]
	if i := bytes.IndexByte(part, '\n'); i >= 0 {
		return i + 1
	}
	if len(part) == limit {
		return limit
	}
	return 0
}

// take takes a line. It reports whether the line passes as it is, or returns what came of the unit that it ends.
func (m *Stream) take(line []byte) (came []byte, passes bool) {
	special := hasEffects(line)
	marks := len(m.raw.marks)
	got := m.raw.write(line)
	if len(m.in) == 0 && !special && m.raw.idle() && len(m.raw.marks) == marks {
		m.pos += int64(len(line))
		return nil, true
	}
	m.in = append(m.in, line...)
	if !m.special && (special || len(m.in) > maxUnit) {
		if m.special = true; m.screen == nil {
			m.screen = m.set.screen()
		}
		m.given = append([]byte(nil), m.screen.write(m.given)...)
	}
	if m.special {
		got = m.screen.write(got)
	}
	m.given = append(m.given, got...)
	switch {
	case m.raw.idle() && (!m.special || m.screen.idle()):
		return m.end(), false
	case len(m.in) > maxUnit: // what is held in the searches stays there
		came = m.emit()
		m.in, m.given, m.cut = m.in[:0], m.given[:0], true
		return came, false
	}
	return nil, false
}

// end ends a unit and returns what came of it.
func (m *Stream) end() []byte {
	came := m.emit()
	m.in, m.given, m.special, m.cut = m.in[:0], m.given[:0], false, false
	return came
}

// emit returns what came of the unit so far, and notes where it differs from the input.
func (m *Stream) emit() []byte {
	begin, end := m.pos, m.pos+int64(len(m.in))
	m.pos = end
	marks := m.raw.marks
	m.raw.marks = marks[:0]
	if !m.special {
		for _, p := range marks {
			m.change(p, int64(len(Mark)))
		}
	} else if !bytes.Equal(m.in, m.given) {
		m.change(place{begin, end}, int64(len(m.given)))
	}
	return m.given
}

func (m *Stream) change(p place, size int64) {
	if m.many = m.many || len(m.changed) == maxMarks; !m.many {
		m.changed = append(m.changed, change{p, size})
	}
}

// Rest ends the stream and returns the remaining output.
func (m *Stream) Rest() []byte {
	var out []byte
	if len(m.line) > 0 {
		came, passes := m.take(m.line)
		if passes {
			came = m.line
		}
		out = append(out, came...)
	}
	got := m.raw.rest()
	if m.special {
		got = append(m.screen.write(got), m.screen.rest()...)
	}
	m.given = append(m.given, got...)
	return append(out, m.end()...)
}

// Unfinished returns what the end of the stream shows, for a live view: what is not yet complete, without what may
// belong to a value.
func (m *Stream) Unfinished() []byte {
	probe := &Stream{set: m.set, raw: m.set.masker()}
	held := append(bytes.Clone(m.in), m.line...)
	if len(held) == 0 || m.cut {
		return nil
	}
	out := probe.raw.write(held)
	if hasEffects(held) {
		screen := m.set.screen()
		out = append(screen.write(out), screen.peek()...)
	}
	return out
}

// hit reports whether a value was found.
func (m *Stream) hit() bool { return m.raw.hit || m.screen != nil && m.screen.hit() }

// At maps input byte n to its offset in the output; a byte within what was changed maps to its end. The offset is
// unknown after very many changes.
func (m *Stream) At(n int64) (at int64, known bool) {
	at = n
	for _, c := range m.changed {
		if n <= c.start {
			break
		}
		at += c.size - (min(n, c.end) - c.start)
	}
	return at, !m.many
}

// effects are the bytes that may be more than text: controls, and those that may begin a C1 control.
var effects = func() (set [256]bool) {
	for c := range ' ' {
		set[c] = c != '\t' && c != '\n'
	}
	set[0x7f], set[0xc2] = true, true
	return set
}()

// hasEffects reports whether lines hold more than text. A carriage return before a line feed is text.
func hasEffects(b []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for i := 0; i < len(b); i++ {
		for ; i+8 <= len(b); i += 8 { // eight bytes at a time, while none is a control or one of the other two
			w := binary.LittleEndian.Uint64(b[i:])
			del, c2 := w^(0x7f*ones), w^(0xc2*ones)
			if ((w-' '*ones)&^w|(del-ones)&^del|(c2-ones)&^c2)&high != 0 {
				break
			}
		}
		for end := min(i+8, len(b)); i < end; i++ {
			switch c := b[i]; {
			case !effects[c]:
			case c == '\r' && i+1 < len(b) && b[i+1] == '\n':
			case c == 0xc2 && i+1 < len(b) && (b[i+1] < 0x80 || b[i+1] >= 0xa0):
			default:
				return true
			}
		}
		i--
	}
	return false
}

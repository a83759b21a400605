package plain

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxColumn bounds how far escape sequences may move the cursor past the text: a few bytes must not
// ask for a gigabyte of spaces.
const maxColumn = 1000

// Line is Escape(Resolve(raw)).
func Line(raw []byte) string { return Escape(Resolve(raw)) }

// Resolve returns what a terminal would show of one line (without its newline) once it was printed
// whole. It knows carriage return, backspace, and the sequences of ECMA-48 that move within a line
// or erase it; all other well-formed sequences (colours, titles, modes) are dropped. A sequence that
// does not end on the line is no sequence: its bytes stay, for Escape to show.
// Every character counts for one column.
func Resolve(raw []byte) string {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	if bytes.IndexByte(raw, 0x1b) < 0 && bytes.IndexByte(raw, '\r') < 0 && bytes.IndexByte(raw, '\b') < 0 {
		return string(raw)
	}
	var l line
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '\r':
			l.col, l.moved = 0, true
			i++
		case '\b':
			l.col, l.moved = max(0, l.col-1), true
			i++
		case 0x1b:
			n := l.escape(raw[i:])
			if n == 0 {
				l.put("\x1b")
				n = 1
			}
			i += n
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if l.col == len(l.cells) && l.col > 0 && unicode.Is(unicode.Mn, r) {
				l.cells[l.col-1] += string(raw[i : i+n]) // a combining mark has no column of its own
			} else {
				l.put(string(raw[i : i+n]))
			}
			i += n
		}
	}
	s := strings.Join(l.cells, "")
	if l.moved {
		s = strings.TrimRight(s, " ") // what a shorter text was padded with to cover a longer one
	}
	return s
}

// line is the line under the cursor.
type line struct {
	cells []string
	col   int
	moved bool
}

func (l *line) put(s string) {
	for len(l.cells) < l.col {
		l.cells = append(l.cells, " ")
	}
	if l.col == len(l.cells) {
		l.cells = append(l.cells, s)
	} else {
		l.cells[l.col] = s
	}
	l.col++
}

// escape obeys the sequence at the start of s and returns its length, 0 when it is none.
func (l *line) escape(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch c := s[1]; {
	case c == '[':
		return l.csi(s)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_': // strings: OSC, DCS, SOS, PM, APC
		return stringEnd(s)
	default: // ESC, intermediate bytes, a final byte
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			return i + 1
		}
		return 0
	}
}

// stringEnd returns the length of a control string up to BEL or ESC \, 0 when it has no end here.
func stringEnd(s []byte) int {
	for i := 2; i < len(s); i++ {
		if s[i] == 0x07 {
			return i + 1
		}
		if s[i] == 0x1b {
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return 0
		}
	}
	return 0
}

// csi obeys "ESC [ parameters intermediates final".
func (l *line) csi(s []byte) int {
	i := 2
	for i < len(s) && s[i] >= 0x30 && s[i] <= 0x3f {
		i++
	}
	params := s[2:i]
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i == len(s) || s[i] < 0x40 || s[i] > 0x7e {
		return 0
	}
	n := number(params)
	switch s[i] {
	case 'G', '`':
		l.col, l.moved = max(1, n)-1, true
	case 'C':
		l.col, l.moved = min(l.col+max(1, n), max(len(l.cells), maxColumn)), true
	case 'D':
		l.col, l.moved = max(0, l.col-max(1, n)), true
	case 'K', 'J':
		l.erase(n)
	}
	return i + 1
}

// erase empties the line: 0 from the cursor on, 1 up to the cursor, 2 all of it.
func (l *line) erase(how int) {
	l.moved = true
	if how == 0 && l.col < len(l.cells) {
		l.cells = l.cells[:l.col]
	}
	if how == 1 {
		for i := 0; i < len(l.cells) && i <= l.col; i++ {
			l.cells[i] = " "
		}
	}
	if how >= 2 {
		l.cells = l.cells[:0]
	}
}

// number reads the first parameter of a sequence, at most maxColumn; 0 without one.
func number(p []byte) int {
	n := 0
	for _, c := range p {
		if c < '0' || c > '9' {
			break
		}
		n = min(n*10+int(c-'0'), maxColumn)
	}
	return n
}

package ansi

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxColumn bounds how far escape sequences may move the cursor past the text: a few bytes must not
// ask for a gigabyte of spaces.
const maxColumn = 1000

// Line is the line under the cursor. Every character counts for one column. The zero value is an empty line.
type Line struct {
	Style int // of what is put from now on; the caller gives the numbers their meaning

	cells []cell
	text  []byte // of the cells, in the order in which they were put; what was overwritten lies in it, too
	live  int    // bytes of text that are in a cell
	col   int
	moved bool
}

type cell struct{ at, size, style int }

// Reset empties the line.
func (l *Line) Reset() {
	*l = Line{cells: l.cells[:0], text: l.text[:0]}
}

// Write carries out the bytes of a whole line, without its line end. It knows carriage return, backspace, and the
// sequences that move within a line or erase it, and drops all others. style is called for each sequence that selects a
// style, with the text between "ESC [" and "m"; it may be nil.
func (l *Line) Write(raw []byte, style func(codes string)) {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	for len(raw) > 0 {
		kind, n := Next(raw, true)
		switch kind {
		case Text:
			for part := raw[:n]; len(part) > 0; {
				part = part[l.Put(part):]
			}
		case Move:
			l.Move(raw[:n])
		case Style:
			if style != nil {
				style(string(raw[2 : n-1]))
			}
		}
		raw = raw[n:]
	}
}

// Put writes the first character of b, which is not empty, at the cursor. It returns the character's length.
func (l *Line) Put(b []byte) int {
	r, n := utf8.DecodeRune(b)
	if l.col == len(l.cells) && l.col > 0 && r >= 0x300 && unicode.Is(unicode.Mn, r) { // it has no column of its own
		last := &l.cells[l.col-1]
		if last.at+last.size != len(l.text) {
			l.text = append(l.text, l.text[last.at:last.at+last.size]...)
			last.at = len(l.text) - last.size
		}
		l.text = append(l.text, b[:n]...)
		last.size += n
		l.live += n
		return n
	}
	for len(l.cells) < l.col {
		l.add(" ", 0)
	}
	if l.col < len(l.cells) {
		l.live -= l.cells[l.col].size
		l.cells[l.col] = cell{len(l.text), n, l.Style}
		l.text = append(l.text, b[:n]...)
		l.live += n
	} else {
		l.add(string(b[:n]), l.Style)
	}
	l.col++
	if len(l.text) > 4*l.live+4096 {
		l.compact()
	}
	return n
}

func (l *Line) add(s string, style int) {
	l.cells = append(l.cells, cell{len(l.text), len(s), style})
	l.text = append(l.text, s...)
	l.live += len(s)
}

// compact forgets what was overwritten.
func (l *Line) compact() {
	text := make([]byte, 0, 2*l.live)
	for i := range l.cells {
		c := &l.cells[i]
		text = append(text, l.text[c.at:c.at+c.size]...)
		c.at = len(text) - c.size
	}
	l.text = text
}

// Move carries out a token of kind Move.
func (l *Line) Move(token []byte) {
	l.moved = true
	switch token[0] {
	case '\r':
		l.col = 0
		return
	case '\b':
		l.col = max(0, l.col-1)
		return
	}
	n := number(token[2:])
	switch token[len(token)-1] {
	case 'G', '`':
		l.col = max(1, n) - 1
	case 'C':
		l.col = min(l.col+max(1, n), max(len(l.cells), maxColumn))
	case 'D':
		l.col = max(0, l.col-max(1, n))
	case 'K', 'J':
		l.erase(n)
	}
}

// erase empties the line: 0 from the cursor on, 1 up to the cursor, 2 all of it.
func (l *Line) erase(how int) {
	if how == 0 && l.col < len(l.cells) {
		l.cut(l.col)
	}
	if how == 1 {
		for i := 0; i < len(l.cells) && i <= l.col; i++ {
			l.live += 1 - l.cells[i].size
			l.cells[i] = cell{len(l.text), 1, 0}
			l.text = append(l.text, ' ')
		}
	}
	if how >= 2 {
		l.cut(0)
	}
}

func (l *Line) cut(n int) {
	for _, c := range l.cells[n:] {
		l.live -= c.size
	}
	l.cells = l.cells[:n]
}

// Column is where the cursor stands, from 0.
func (l *Line) Column() int { return l.col }

// Columns returns how many cells the line has.
func (l *Line) Columns() int { return len(l.cells) }

// Cell returns the text of a cell. It is valid until the line changes.
func (l *Line) Cell(i int) []byte { return l.text[l.cells[i].at : l.cells[i].at+l.cells[i].size] }

// Size returns how many bytes the line's text has.
func (l *Line) Size() int { return l.live }

// Runs yields the text piece by piece, each of one style. Where the cursor was moved, spaces at the end are left out: a
// shorter text is padded with them to cover a longer one.
func (l *Line) Runs(yield func(text string, style int) bool) {
	end := len(l.cells)
	for l.moved && end > 0 && string(l.Cell(end-1)) == " " {
		end--
	}
	var run []byte
	for i := range end {
		run = append(run, l.Cell(i)...)
		if i+1 == end || l.cells[i+1].style != l.cells[i].style {
			if !yield(string(run), l.cells[i].style) {
				return
			}
			run = run[:0]
		}
	}
}

// String returns the text.
func (l *Line) String() string {
	var b []byte
	for text := range l.Runs {
		b = append(b, text...)
	}
	return string(b)
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

// Escape makes every byte and character of s that a reader could not see, or that would change how
// its neighbours are seen, visible. Tabs stay; a newline is escaped: s is one line.
// A backslash that was there before is left alone, so that Escape is for reading and not for
// reading back: the exact bytes are in the run directory.
func Escape(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteString(s[i : i+n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// EscapeJSON does the same inside JSON text, with JSON's own escapes, so that the text stays JSON
// of the same value. Line breaks between tokens stay.
func EscapeJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden lists what must not reach a page or a terminal unescaped: C0 and C1 controls, the bidirectional controls
// ("Trojan Source", CVE-2021-42574), line and paragraph separators, and characters without a width that can hold a
// message nobody sees. Joiners (U+200C, U+200D) stay: scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x61c:
		return false
	case r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

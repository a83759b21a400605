package mask

import (
	"bytes"
	"strings"

	"markmill/notebooks/ansi"
)

// screen makes lines harmless: of what is not text only colours are left. Carriage returns, backspaces and what moves
// the cursor within a line or erases it are carried out; all other sequences and control characters are dropped. It
// replaces the values in the text without its sequences, and then in the lines as they are shown. No terminal can make
// a value of what it gives, because that moves no cursor.
type screen struct {
	text  masker // the text without its sequences; the colours and movements are riders
	shown masker // the lines after the movements; the colours are riders

	partial []byte // what the end of a long line cut: a sequence, or a character
	line    []byte // what text has given of a line
	color   string // the sequences that made the colour of what was shown last

	// of one line
	row   ansi.Line
	clean []byte // its text
	kept  []byte // its text with colours and movements
}

// maxColor bounds the sequences that are kept to restore a colour.
const maxColor = 256

func (s *Set) screen() *screen { return &screen{text: s.masker(), shown: s.masker()} }

func (t *screen) idle() bool {
	return t.text.idle() && t.shown.idle() && len(t.partial)+len(t.line) == 0
}

func (t *screen) hit() bool { return t.text.hit || t.shown.hit }

// write takes lines, or a part of a long one, and returns what can be shown of them.
func (t *screen) write(b []byte) (out []byte) {
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		if n > 0 && t.idle() && t.quick(b[:n]) {
			out = append(out, t.kept...)
		} else {
			ended := n > 0
			if !ended {
				n = len(b)
			}
			out = append(out, t.part(b[:n], ended)...)
		}
		b = b[n:]
	}
	return out
}

// quick takes a line in which, and at whose end, nothing waits: what it shows is in kept. Otherwise it does nothing.
func (t *screen) quick(line []byte) bool {
	body, feed := cutFeed(line)
	t.clean, t.kept = t.clean[:0], t.kept[:0]
	color, moves := t.color, false
	t.strip(body, true, func(text []byte) {
		t.clean, t.kept = append(t.clean, text...), append(t.kept, text...)
	}, func(sequence []byte, colors bool) {
		if t.kept = append(t.kept, sequence...); colors {
			color = painted(color, sequence)
		}
		moves = moves || !colors
	})
	t.clean, t.kept = append(t.clean, feed...), append(t.kept, feed...)
	if !t.text.passes(t.clean) {
		return false
	}
	if moves {
		t.line = append(t.line, t.kept...)
		t.kept = append(t.kept[:0], t.lines(false)...)
	} else {
		t.color = color
	}
	return true
}

// part takes a line, or a part of one; whole says that the line ends there.
func (t *screen) part(line []byte, whole bool) []byte {
	body, feed := cutFeed(line)
	if len(t.partial) > 0 {
		body, t.partial = append(t.partial, body...), nil
	}
	rest := t.strip(body, whole, func(text []byte) {
		t.line = append(t.line, t.text.write(text)...)
	}, func(sequence []byte, colors bool) {
		t.line = append(t.line, t.text.ride(sequence, colors)...)
	})
	t.partial = bytes.Clone(rest)
	t.line = append(t.line, t.text.write(feed)...)
	return t.lines(false)
}

// rest ends the stream.
func (t *screen) rest() []byte {
	out := t.part(nil, true)
	t.line = append(t.line, t.text.rest()...)
	return append(append(out, t.lines(true)...), t.shown.rest()...)
}

// cutFeed cuts a line before its line feed.
func cutFeed(line []byte) (body, feed []byte) {
	body, ended := bytes.CutSuffix(line, []byte{'\n'})
	if ended {
		body = bytes.TrimSuffix(body, []byte{'\r'})
	}
	return body, line[len(body):]
}

// strip calls text and sequence with what is kept of a part of a line, and returns what waits for more; whole says that
// nothing follows in this line. Kept are characters, colours and movements. A byte 0xc2 begins a C1 control, or is
// dropped where it begins no character: it could begin a control once something after it is dropped.
func (t *screen) strip(b []byte, whole bool, text func([]byte), sequence func(b []byte, colors bool)) (waits []byte) {
	for len(b) > 0 {
		n := 0
		for n < len(b) && !effects[b[n]] {
			n++
		}
		if n > 0 {
			text(b[:n])
			b = b[n:]
			continue
		}
		n = 1
		switch c := b[0]; {
		case c == 0xc2 && len(b) > 1 && b[1] >= 0x80 && b[1] < 0xc0:
			if n = 2; b[1] >= 0xa0 {
				text(b[:n])
			}
		case len(b) == 1 && !whole:
			return b
		case c == 0x1b || c == '\r' || c == '\b':
			kind, size := ansi.Next(b, whole || len(b) > maxLine)
			switch n = size; {
			case n == 0:
				return b
			case kind == ansi.Move:
				sequence(b[:n], false)
			case kind == ansi.Style && !private(b[2:n-1]):
				sequence(b[:n], true)
			}
		}
		b = b[n:]
	}
	return nil
}

// private reports whether the parameters of a style are those of a terminal's own sequence, which sets no colour.
func private(parameters []byte) bool {
	for _, c := range parameters {
		if c > ';' || c < '0' {
			return true
		}
	}
	return false
}

// lines carries out the movements in the lines that are complete.
func (t *screen) lines(ended bool) (out []byte) {
	for len(t.line) > 0 {
		n := bytes.IndexByte(t.line, '\n') + 1
		if n == 0 && !ended && len(t.line) <= maxLine {
			break
		}
		if n == 0 {
			n = len(t.line)
		}
		out = append(out, t.show(t.resolve(t.line[:n]))...)
		t.line = append(t.line[:0], t.line[n:]...)
	}
	return out
}

// peek returns what the unfinished line shows so far. The screen cannot be used afterwards.
func (t *screen) peek() []byte { return t.show(t.resolve(t.line)) }

// show searches text with colours.
func (t *screen) show(b []byte) (out []byte) {
	for len(b) > 0 {
		n := bytes.IndexByte(b, 0x1b)
		if n == 0 {
			_, n = ansi.Next(b, true)
			t.color = painted(t.color, b[:n])
			out = append(out, t.shown.ride(b[:n], true)...)
		} else {
			if n < 0 {
				n = len(b)
			}
			out = append(out, t.shown.write(b[:n])...)
		}
		b = b[n:]
	}
	return out
}

// painted returns the sequences that make the colour after one more.
func painted(color string, sequence []byte) string {
	switch codes := string(sequence[2 : len(sequence)-1]); {
	case codes == "", codes == "0":
		return ""
	case strings.HasPrefix(codes, "0;"), len(color)+len(sequence) > maxColor:
		return string(sequence)
	}
	return color + string(sequence)
}

// resolve carries out the movements of a line.
func (t *screen) resolve(raw []byte) []byte {
	body, feed := cutFeed(raw)
	line := &t.row
	line.Reset()
	moved, last, colors := false, t.color, []string{t.color}
	for b := body; len(b) > 0; {
		kind, n := ansi.Next(b, true)
		switch kind {
		case ansi.Text:
			for part := b[:n]; len(part) > 0; {
				part = part[line.Put(part):]
			}
		case ansi.Move:
			line.Move(b[:n])
			moved = true
		case ansi.Style:
			last = painted(last, b[:n])
			line.Style, colors = len(colors), append(colors, last)
		}
		b = b[n:]
	}
	if !moved {
		return raw
	}
	var out []byte
	now := t.color
	turn := func(to string) {
		if to != now {
			out, now = append(append(out, "\x1b[0m"...), to...), to
		}
	}
	for text, style := range line.Runs {
		turn(colors[style])
		out = append(out, text...)
	}
	turn(last)
	return append(out, feed...)
}

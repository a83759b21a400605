package ansi

import (
	"bytes"
	"unicode/utf8"
)

// Kind is what a token does.
type Kind uint8

const (
	Text    Kind = iota // characters, and bytes that are part of no sequence
	Move                // moves the cursor or erases: carriage return, backspace, some CSI sequences
	Style               // select graphic rendition: CSI ... m
	Ignored             // any other sequence
)

// Effects are the bytes that begin whatever is not text.
const Effects = "\x1b\r\b"

// Next returns the kind and the length of the token at the start of b, which is part of one line and not empty. A
// length of 0 says that more bytes are needed; whole says that there are no more. A sequence without an end is text.
func Next(b []byte, whole bool) (Kind, int) {
	switch b[0] {
	case '\b':
		return Move, 1
	case '\r':
		if len(b) == 1 && !whole {
			return Move, 0 // it may belong to the line end
		}
		return Move, 1
	case 0x1b:
		kind, n := sequence(b)
		if n == 0 && !whole {
			return kind, 0
		}
		if n <= 0 {
			return Text, 1
		}
		return kind, n
	}
	n := bytes.IndexAny(b, Effects)
	if n >= 0 {
		return Text, n
	}
	n = len(b)
	if whole {
		return Text, n
	}
	for i := 1; i < utf8.UTFMax && i <= n; i++ { // a character that the end cuts waits for its rest
		if c := b[n-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[n-i:]) {
				n -= i
			}
			break
		}
	}
	return Text, n
}

// sequence returns the length of the sequence at the start of b, which begins with ESC: 0 where it may go on, -1 where
// it is none.
func sequence(b []byte) (Kind, int) {
	if len(b) < 2 {
		return Ignored, 0
	}
	switch c := b[1]; {
	case c == '[':
		return csi(b)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_': // strings: OSC, DCS, SOS, PM, APC
		return Ignored, stringEnd(b)
	default: // ESC, intermediate bytes, a final byte
		i := span(b, 1, 0x20, 0x2f)
		if i == len(b) {
			return Ignored, 0
		}
		if b[i] >= 0x30 && b[i] <= 0x7e {
			return Ignored, i + 1
		}
		return Ignored, -1
	}
}

// csi reads "ESC [ parameters intermediates final".
func csi(b []byte) (Kind, int) {
	i := span(b, span(b, 2, 0x30, 0x3f), 0x20, 0x2f)
	if i == len(b) {
		return Ignored, 0
	}
	switch c := b[i]; {
	case c < 0x40 || c > 0x7e:
		return Ignored, -1
	case c == 'm':
		return Style, i + 1
	case bytes.IndexByte([]byte("G`CDKJ"), c) >= 0:
		return Move, i + 1
	}
	return Ignored, i + 1
}

// span returns the end of the bytes from i on that lie between lo and hi.
func span(b []byte, i int, lo, hi byte) int {
	for i < len(b) && b[i] >= lo && b[i] <= hi {
		i++
	}
	return i
}

// stringEnd returns the length of a control string up to BEL or ESC \.
func stringEnd(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == 0x07:
			return i + 1
		case b[i] == 0x1b && i+1 == len(b):
			return 0
		case b[i] == 0x1b && b[i+1] == '\\':
			return i + 2
		case b[i] == 0x1b:
			return -1
		}
	}
	return 0
}

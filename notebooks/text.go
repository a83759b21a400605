package notebooks

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// BOM is the byte order mark of UTF-8, which may begin a file.
const BOM = "\ufeff"

// CheckText says, in one line, why bytes cannot be a notebook: not UTF-8, or not text. The error is an
// *Error of KindInput.
func CheckText(name string, src []byte) error {
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return &Error{Kind: KindInput, File: name, Line: 1, Col: 1,
			Msg: "the file is UTF-16, a notebook is UTF-8", Hint: "save it as UTF-8"}
	}
	if nul := bytes.IndexByte(src, 0); nul >= 0 {
		line, col := lineCol(src, nul)
		return &Error{Kind: KindInput, File: name, Line: line, Col: col,
			Msg: "the file holds a NUL byte, so it is not a text", Hint: "take the byte out"}
	}
	if utf8.Valid(src) {
		return nil
	}
	bad := InvalidUTF8(src)
	line, col := lineCol(src, bad)
	return &Error{Kind: KindInput, File: name, Line: line, Col: col,
		Msg: fmt.Sprintf("byte 0x%02x is not UTF-8", src[bad]), Hint: "save the file as UTF-8"}
}

// InvalidUTF8 returns the offset of the first byte that is not UTF-8; len(src) if all are.
func InvalidUTF8(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(src)
}

// LongestRun counts the longest run of a byte in a text.
func LongestRun[T string | []byte](text T, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// WarnOfReturns returns a warning where the lines of a text end with a carriage return alone, as on old Macs: no reader
// of notebooks ends a line there, so the whole is one line, and nothing in it a step. It is nil where they do not.
func WarnOfReturns(name string, src []byte) *Error {
	at := bytes.IndexByte(src, '\r')
	if at < 0 || bytes.IndexByte(src, '\n') >= 0 || len(bytes.TrimSpace(src[at:])) == 0 {
		return nil
	}
	line, col := lineCol(src, at)
	return &Error{Kind: KindInput, File: name, Line: line, Col: col,
		Msg:  "the lines end with a carriage return alone, so that all of the file is one line",
		Hint: `save it with line ends of Unix or Windows: tr '\r' '\n'`}
}

// Cut bounds a text to a number of characters, and marks that it was cut.
func Cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

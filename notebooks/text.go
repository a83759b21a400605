package notebooks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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

// Suggest returns the known name that is nearest to a word that may be a slip of it, or "". One slip is allowed in a
// short word, and one more for every four characters, three at most; differences of case and between - and _ do not
// count. Of equally near names the first one wins.
func Suggest(word string, known []string) string {
	a := foldName(word)
	if len(a) == 0 || len(a) > 64 {
		return ""
	}
	best, limit := "", min(1+len(a)/4, 3)
	if len(a) < 3 {
		limit = 0
	}
	for _, name := range known {
		if name == word {
			continue
		}
		b := foldName(name)
		if max(len(a), len(b))-min(len(a), len(b)) > limit || len(b) <= limit {
			continue
		}
		if d := EditDistance(a, b); d <= limit {
			if d == 0 {
				return name
			}
			best, limit = name, d-1
		}
	}
	return best
}

// DidYouMean asks for the known name that Suggest finds; "" if none is near.
func DidYouMean(word string, known []string) string {
	if near := Suggest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// NearMiss returns the known name that a word must be a slip of, or "": one so close that the word means nothing else.
// It begins with the same letter, and one slip is between them, or two in a name of 8 letters. In a name of less than 5
// letters no other letter may stand for one: "rest" and "text" are words.
func NearMiss(word string, known []string) string {
	near := Suggest(word, known)
	a, b := foldName(word), foldName(near)
	switch d := EditDistance(a, b); {
	case near == "" || a[0] != b[0] || d > 2 || d == 2 && len(b) < 8:
		return ""
	case d == 1 && len(b) < 5 && len(a) == len(b):
		if slices.Sort(a); !slices.Equal(a, slices.Sorted(slices.Values(b))) {
			return ""
		}
	}
	return near
}

// foldName is a name without differences of case and between - and _.
func foldName(s string) []rune { return []rune(strings.ReplaceAll(strings.ToLower(s), "_", "-")) }

// EditDistance counts insertions, deletions, substitutions and swaps of neighbors (optimal string alignment).
func EditDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

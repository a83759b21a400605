package blocks

import (
	"bytes"
	"strings"

	"markmill/notebooks"
)

// Line is one line of a source, without its end.
type Line struct {
	Text string
	At   int // offset in the source
}

// Lines splits a source at its line ends, a byte order mark taken off. The last line has no end.
func Lines(src string) []Line {
	var all []Line
	at := len(src) - len(strings.TrimPrefix(src, notebooks.BOM))
	for at < len(src) {
		end, next := len(src), len(src)
		if n := strings.IndexByte(src[at:], '\n'); n >= 0 {
			end, next = at+n, at+n+1
		}
		all = append(all, Line{strings.TrimSuffix(src[at:end], "\r"), at})
		at = next
	}
	return all
}

// FenceMark reads the mark of a fence of Markdown that a line begins with, and what follows it; its length is 0 if the
// line has none.
func FenceMark(line string) (mark byte, length int, rest string) {
	bare := strings.TrimLeft(line, " ")
	if len(line)-len(bare) > 3 || bare == "" || bare[0] != '`' && bare[0] != '~' {
		return 0, 0, ""
	}
	rest = strings.TrimLeft(bare, bare[:1])
	if length = len(bare) - len(rest); length < 3 {
		return 0, 0, ""
	}
	return bare[0], length, rest
}

// OpensFence returns the mark of the fence that a line opens; its length is 0 if the line opens none.
func OpensFence(line string) (mark byte, length int) {
	mark, length, rest := FenceMark(line)
	if mark == '`' && strings.Contains(rest, "`") {
		return 0, 0
	}
	return mark, length
}

// opensChunk reports whether a line opens a fence as ```{r label}.
func opensChunk(line string) bool {
	_, length, rest := FenceMark(line)
	word, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "{")
	return length > 0 && ok && notebooks.IsLanguage(word[:strings.IndexAny(word+"}", " \t\r\n,}")])
}

// ClosesFence reports whether a line closes a fence.
func ClosesFence(line string, mark byte, length int) bool {
	sign, n, rest := FenceMark(line)
	return sign == mark && n >= length && strings.TrimSpace(rest) == ""
}

// LineEnd returns the offset just after the newline of the line that holds offset, or the end of src.
func LineEnd(src []byte, offset int) int {
	n := bytes.IndexByte(src[offset:], '\n')
	if n < 0 {
		return len(src)
	}
	return offset + n + 1
}

// The lines that Git puts around the sides of a conflict.

func IsConflictOpen(line []byte) bool { return bytes.HasPrefix(line, []byte("<<<<<<< ")) }
func IsConflictEnd(line []byte) bool  { return bytes.HasPrefix(line, []byte(">>>>>>> ")) }
func IsConflictPart(line []byte) bool {
	return bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("=======")) || bytes.HasPrefix(line, []byte("||||||| "))
}

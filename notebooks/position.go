package notebooks

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// lineStarts lists where each line of src begins. Lines end with \n, as they do for goldmark; the \r of \r\n
// belongs to the line.
func lineStarts(src []byte) []int {
	starts := make([]int, 1, 1+bytes.Count(src, []byte{'\n'}))
	for i := 0; ; {
		n := bytes.IndexByte(src[i:], '\n')
		if n < 0 {
			return starts
		}
		i += n + 1
		starts = append(starts, i)
	}
}

// Position says where an offset of the source stands: line and column from 1, the column in
// characters. A tab is one character, a byte order mark none.
func (nb *Notebook) Position(offset int) (line, col int) {
	offset = max(0, min(offset, len(nb.Source)))
	if nb.lines == nil { // not made by Parse
		return lineCol(nb.Source, offset)
	}
	line = sort.SearchInts(nb.lines, offset+1)
	return line, column(nb.Source, nb.lines[line-1], offset)
}

// lineCol is Position without an index, for a single message.
func lineCol(src []byte, offset int) (line, col int) {
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	return 1 + bytes.Count(src[:start], []byte{'\n'}), column(src, start, offset)
}

func column(src []byte, start, offset int) int {
	text := src[start:offset]
	if start == 0 {
		text = bytes.TrimPrefix(text, utf8BOM)
	}
	return 1 + utf8.RuneCount(text)
}

// lineEnd is the offset just after the newline of the line that holds offset, or the end of src.
func lineEnd(src []byte, offset int) int {
	n := bytes.IndexByte(src[offset:], '\n')
	if n < 0 {
		return len(src)
	}
	return offset + n + 1
}

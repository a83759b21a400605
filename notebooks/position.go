package notebooks

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Place is a line and a column of a file, both from 1; 0 is unknown.
type Place struct{ Line, Col int }

// Places finds lines and columns of a text, many of them: each in a time that does not grow with the text, nor with the
// length of a line.
type Places struct {
	src   []byte
	lines []int // where each line begins
	runes []int // how many characters begin before each block of blockBytes; nil in a text without a long line
}

// blockBytes is the length of the blocks whose characters are counted once: lines that are longer are looked up in
// them.
const blockBytes = 4 << 10

// NewPlaces returns the places of a text.
func NewPlaces(src []byte) *Places {
	p := &Places{src: src, lines: LineStarts(src)}
	for i, start := range p.lines {
		end := len(src)
		if i+1 < len(p.lines) {
			end = p.lines[i+1]
		}
		if end-start > blockBytes {
			p.countBlocks()
			break
		}
	}
	return p
}

func (p *Places) countBlocks() {
	total := 0
	for at := 0; at < len(p.src); at += blockBytes {
		p.runes = append(p.runes, total)
		total += runeStarts(p.src[at:min(at+blockBytes, len(p.src))])
	}
	p.runes = append(p.runes, total)
}

// runeStarts counts the characters of UTF-8 that begin in a text, which may begin and end within one.
func runeStarts(text []byte) (n int) {
	for _, b := range text {
		if b&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// before counts the characters that begin before an offset.
func (p *Places) before(offset int) int {
	block := offset / blockBytes
	return p.runes[block] + runeStarts(p.src[block*blockBytes:offset])
}

// Line returns the line of an offset, from 1.
func (p *Places) Line(offset int) int { return sort.SearchInts(p.lines, offset+1) }

// Position returns the line and column of an offset, from 1, the column in characters. A tab is one character, a byte
// order mark none. An offset outside of the text is one of its ends.
func (p *Places) Position(offset int) (line, col int) {
	offset = max(0, min(offset, len(p.src)))
	line = p.Line(offset)
	start := p.lines[line-1]
	if p.runes == nil || offset-start <= blockBytes {
		return line, column(p.src, start, offset)
	}
	if start == 0 && bytes.HasPrefix(p.src, []byte(BOM)) {
		start = len(BOM)
	}
	return line, 1 + p.before(offset) - p.before(start)
}

// LineStarts lists where each line of src begins. Lines end with \n, as they do for goldmark; the \r of \r\n
// belongs to the line.
func LineStarts(src []byte) []int {
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

// Position returns the line and column of an offset of the source, as Places.Position does.
func (nb *Notebook) Position(offset int) (line, col int) {
	if nb.places == nil { // not made by Parse
		return lineCol(nb.Source, max(0, min(offset, len(nb.Source))))
	}
	return nb.places.Position(offset)
}

// LineStart returns the offset at which a line begins, from 1; that of the last line for a line after it.
func (nb *Notebook) LineStart(line int) int {
	return nb.places.lines[min(line, len(nb.places.lines))-1]
}

// Line returns the line of an offset, from 1.
func (nb *Notebook) Line(offset int) int { return nb.places.Line(offset) }

// lineCol is Position without an index, for a single message.
func lineCol(src []byte, offset int) (line, col int) {
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	return 1 + bytes.Count(src[:start], []byte{'\n'}), column(src, start, offset)
}

func column(src []byte, start, offset int) int {
	text := src[start:offset]
	if start == 0 {
		text = bytes.TrimPrefix(text, []byte(BOM))
	}
	return 1 + utf8.RuneCount(text)
}

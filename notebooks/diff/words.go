package diff

import (
	"strings"
	"unicode"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Segment is a part of a line, and whether the other side lacks it.
type Segment struct {
	Text    string
	Changed bool
}

// maxWords bounds the product of the numbers of words on both sides. The search has no limit of time, which would
// make its result vary.
const maxWords = 1 << 18

// Words finds the words that differ between the lines of a hunk. ok is false where there are too many, or
// where so little is the same that marking it would not help.
func Words(h Hunk) (old, new [][]Segment, ok bool) {
	if len(h.Old) == 0 || len(h.New) == 0 {
		return nil, nil, false
	}
	c := coding{codes: map[string]rune{}}
	x, fits := c.encode(h.Old, maxWords)
	if !fits {
		return nil, nil, false
	}
	y, fits := c.encode(h.New, maxWords/max(1, len(x)))
	if !fits {
		return nil, nil, false
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0
	parts := differ.DiffCleanupSemantic(differ.DiffMainRunes(x, y, false))
	shared := 0
	left, right := newSegments(), newSegments()
	for _, p := range parts {
		for _, code := range p.Text {
			word := c.words[c.place(code)]
			switch p.Type {
			case diffmatchpatch.DiffEqual:
				if strings.TrimSpace(word) != "" {
					shared += 2
				}
				left.add(word, false)
				right.add(word, false)
			case diffmatchpatch.DiffDelete:
				left.add(word, true)
			default:
				right.add(word, true)
			}
		}
	}
	const enough = 0.2
	return left.lines, right.lines, float64(shared) >= enough*float64(len(x)+len(y))
}

// coding gives each word a character.
type coding struct {
	words []string
	codes map[string]rune
}

// Characters from 1 on, without the surrogates, which no text holds.
const surrogates, surrogateCount = 0xd800, 0x800

func (c *coding) place(code rune) int {
	if code >= surrogates+surrogateCount {
		code -= surrogateCount
	}
	return int(code) - 1
}

// encode reads lines as words; false when there are more than most.
func (c *coding) encode(lines []string, most int) ([]rune, bool) {
	var out []rune
	for _, line := range lines {
		for line != "" {
			word := line[:wordEnd(line)]
			line = line[len(word):]
			code, found := c.codes[word]
			if !found {
				c.words = append(c.words, word)
				if code = rune(len(c.words)); code >= surrogates {
					code += surrogateCount
				}
				c.codes[word] = code
			}
			if out = append(out, code); len(out) > most {
				return nil, false
			}
		}
	}
	return out, true
}

// wordEnd is where the first word of a text ends: letters and digits, or white space of one line, or one other
// character.
func wordEnd(text string) int {
	kind := func(r rune) int {
		switch {
		case r == '\n':
			return 0
		case inWord(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	first := -1
	for i, r := range text {
		if k := kind(r); first < 0 {
			first = k
		} else if k != first || first == 0 {
			return i
		}
	}
	return len(text)
}

// segments gathers words into lines of segments.
type segments struct {
	lines [][]Segment
	fresh bool // the next word begins a line
}

func newSegments() *segments { return &segments{fresh: true} }

func (s *segments) add(word string, changed bool) {
	if s.fresh {
		s.lines, s.fresh = append(s.lines, nil), false
	}
	line := &s.lines[len(s.lines)-1]
	if n := len(*line); n > 0 && (*line)[n-1].Changed == changed {
		(*line)[n-1].Text += word
	} else {
		*line = append(*line, Segment{word, changed})
	}
	s.fresh = word == "\n"
}

package markdown

import (
	"strconv"
	"strings"

	"markmill/notebooks"
)

// tokens walks over one line of text. Info strings hold no newline.
type tokens struct {
	text string
	pos  int
}

func (t *tokens) done() bool { return t.pos >= len(t.text) }
func (t *tokens) peek() byte { return t.text[t.pos] }

func (t *tokens) skip(chars string) {
	for !t.done() && strings.IndexByte(chars, t.peek()) >= 0 {
		t.pos++
	}
}

// until reads up to one of the stops, or to the end.
func (t *tokens) until(stops string) string {
	start := t.pos
	for !t.done() && strings.IndexByte(stops, t.peek()) < 0 {
		t.pos++
	}
	return t.text[start:t.pos]
}

// value reads a bare word, "text with \" and \\" or 'text'. It is false when a quote is never closed.
func (t *tokens) value(stops string) (string, bool) {
	if t.done() || t.peek() != '"' && t.peek() != '\'' {
		return t.until(stops), true
	}
	q := t.peek()
	t.pos++
	var b strings.Builder
	for ; !t.done(); t.pos++ {
		c := t.peek()
		if c == q {
			t.pos++
			return b.String(), true
		}
		if c == '\\' && q == '"' && t.pos+1 < len(t.text) && (t.text[t.pos+1] == q || t.text[t.pos+1] == '\\') {
			t.pos++
			c = t.peek()
		}
		b.WriteByte(c)
	}
	return strings.TrimRight(b.String(), " }"), false
}

// bracketed reads a value whose brackets and quotes are balanced, up to a stop outside of them.
func (t *tokens) bracketed(stops string) string {
	start, depth := t.pos, 0
	for ; !t.done(); t.pos++ {
		c := t.peek()
		switch {
		case c == '"' || c == '\'':
			for t.pos++; !t.done() && t.peek() != c; t.pos++ {
				if t.peek() == '\\' {
					t.pos++
				}
			}
			if t.done() {
				t.pos = len(t.text)
				return t.text[start:]
			}
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth == 0 && strings.IndexByte(stops, c) >= 0 {
				return t.text[start:t.pos]
			}
			depth--
		case depth <= 0 && strings.IndexByte(stops, c) >= 0:
			return t.text[start:t.pos]
		}
	}
	return t.text[start:t.pos]
}

// closingBrace finds the brace that closes the one that the text begins with; -1 if there is none.
func closingBrace(text string) int {
	t := tokens{text: text, pos: 1}
	t.bracketed("}")
	if t.done() {
		return -1
	}
	return t.pos
}

// quote shows a word of the author in a message: escaped, and never long.
func quote(s string) string { return strconv.Quote(notebooks.Cut(s, 60)) }

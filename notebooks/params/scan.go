package params

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// statement is a top-level statement, without its comments.
type statement struct {
	text      string // lines inside brackets are joined
	comment   string // the comment after it
	line, col int    // from 1
	indent    int    // of its line, in characters
}

// codeScanner scans code; it recognizes only comments, strings and brackets.
type codeScanner struct {
	*codeSyntax
	src       string
	pos       int
	line, col int // of pos: line from 1, col from 0, in characters

	fresh  bool // only space so far in the logical line
	depth  int  // of brackets
	text   []byte
	now    statement // line is 0 before its first character
	indent int
	out    []statement
}

// scanStatements finds the top-level statements: those indented like the first one.
func scanStatements(src string, syntax *codeSyntax) []statement {
	s := &codeScanner{codeSyntax: syntax, src: strings.ReplaceAll(src, "\r\n", "\n"), line: 1, fresh: true}
	for s.pos < len(s.src) {
		s.step()
	}
	s.end("")
	var top []statement
	for _, one := range s.out {
		if one.indent == s.out[0].indent {
			top = append(top, one)
		}
	}
	return top
}

func (s *codeScanner) step() {
	rest := s.src[s.pos:]
	c := rest[0]
	switch {
	case s.blockOpen != "" && strings.HasPrefix(rest, s.blockOpen):
		s.skip(through(rest, s.blockOpen, s.blockClose))
	case strings.HasPrefix(rest, s.comment):
		s.commentLine(rest)
	case strings.IndexByte(s.quotes, c) >= 0:
		s.take(s.stringLength(rest))
	case strings.HasPrefix(rest, "\\\n"):
		s.skip(2)
	case c == '\n':
		s.newline()
	case c == ';' && s.depth == 0:
		s.skip(1)
		s.end("")
	default:
		switch c {
		case '(', '[', '{':
			s.depth++
		case ')', ']', '}':
			s.depth = max(0, s.depth-1)
		}
		_, size := utf8.DecodeRuneInString(rest)
		s.take(size)
	}
}

// commentLine reads a comment to the end of its line. It belongs to the statement before it on that line.
func (s *codeScanner) commentLine(rest string) {
	line, _, _ := strings.Cut(rest, "\n")
	s.skip(len(line))
	if s.depth > 0 {
		return
	}
	text := strings.TrimSpace(strings.TrimLeft(line, s.comment))
	switch {
	case s.now.line > 0:
		s.end(text)
	case !s.fresh && len(s.out) > 0:
		s.out[len(s.out)-1].comment = text
	}
}

// through returns the length of a comment that starts with open.
func through(rest, open, close string) int {
	if i := strings.Index(rest[len(open):], close); i >= 0 {
		return len(open) + i + len(close)
	}
	return len(rest)
}

// stringLength returns the length of the string at the start of rest. An unclosed string ends with its line, or with
// the text if it may span lines.
func (s *codeSyntax) stringLength(rest string) int {
	quote := rest[:1]
	long := strings.Contains(s.longQuotes, quote)
	if triple := strings.Repeat(quote, 3); s.tripled && strings.HasPrefix(rest, triple) {
		quote, long = triple, true
	}
	for i := len(quote); i < len(rest); i++ {
		switch {
		case strings.HasPrefix(rest[i:], quote):
			return i + len(quote)
		case rest[i] == '\\':
			i++
		case rest[i] == '\n' && !long:
			return i
		}
	}
	return len(rest)
}

// newline ends a statement, except inside brackets and after an operator.
func (s *codeScanner) newline() {
	s.skip(1)
	text := bytes.TrimRight(s.text, " \t")
	switch {
	case s.depth > 0:
		s.text = text
		for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
			s.skip(1)
		}
	case bytes.HasSuffix(text, []byte("=")), bytes.HasSuffix(text, []byte("<-")):
	default:
		s.end("")
		s.fresh = true
	}
}

func (s *codeScanner) skip(n int) {
	for _, c := range []byte(s.src[s.pos : s.pos+n]) {
		s.pos++
		switch {
		case c == '\n':
			s.line++
			s.col = 0
		case utf8.RuneStart(c):
			s.col++
		}
	}
}

// take adds the next n bytes to the statement.
func (s *codeScanner) take(n int) {
	part := s.src[s.pos : s.pos+n]
	if s.now.line == 0 && strings.TrimSpace(part) != "" {
		s.now.line, s.now.col = s.line, s.col+1
		if s.fresh {
			s.fresh, s.indent = false, s.now.col-1
		}
		s.now.indent = s.indent
	}
	s.text = append(s.text, part...)
	s.skip(n)
}

func (s *codeScanner) end(comment string) {
	if s.now.line > 0 {
		s.now.text, s.now.comment = strings.TrimSpace(string(s.text)), comment
		s.out = append(s.out, s.now)
	}
	s.text = s.text[:0]
	s.now = statement{}
}

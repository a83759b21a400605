package html

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Classes of tokens in page.css.
const (
	tokKeyword = "tk"
	tokString  = "ts"
	tokNumber  = "tn"
	tokComment = "tc"
	tokName    = "tf" // what is called, or a key
	tokVar     = "tv" // a variable of a shell
)

func isTokenClass(c string) bool {
	return len(c) == 2 && c[0] == 't' && strings.IndexByte("ksncfv", c[1]) >= 0
}

// maxHighlight bounds the code that gets colours, in bytes.
const maxHighlight = 256 << 10

// chroma is no replacement: its registry of languages costs 8.9 ms at every start, and its lexers run backtracking
// expressions over what strangers wrote.

// highlight colors code in one pass, by comments, strings, numbers and words only. Code in another language just
// gets wrong colors.
func highlight(lang, code string) markup {
	g := grammarOf(lang)
	var w writer
	if g == nil || len(code) > maxHighlight {
		w.put("%s", code)
		return w.markup()
	}
	s := scanner{grammar: g, src: code, w: &w}
	s.scan()
	return w.markup()
}

type scanner struct {
	*grammar
	src string
	at  int
	w   *writer
}

// scan colors all of src.
func (s *scanner) scan() {
	from := 0
	lineStart := true
	for s.at < len(s.src) {
		start := s.at
		class := s.token(lineStart)
		c := s.src[start]
		lineStart = c == '\n' || lineStart && (c == ' ' || c == '\t' || c == '-')
		if class == "" {
			continue
		}
		s.w.put("%s", s.src[from:start])
		s.w.put(`<span class="%s">%s</span>`, class, s.src[start:s.at])
		from = s.at
	}
	s.w.put("%s", s.src[from:])
}

// token consumes one token, at least one byte, and returns its class.
func (s *scanner) token(lineStart bool) string {
	rest := s.src[s.at:]
	for _, q := range s.strings {
		if strings.HasPrefix(rest, q.open) && !(q.word && s.inWord()) {
			s.at += len(q.open)
			s.until(q)
			if s.keys && s.before(":") {
				return tokName
			}
			return tokString
		}
	}
	for _, c := range s.comments {
		if strings.HasPrefix(rest, c.open) && (!c.spaced || s.at == 0 ||
			strings.IndexByte(" \t\n;", s.src[s.at-1]) >= 0) {
			s.at += len(c.open)
			s.until(c)
			return tokComment
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case s.dollar && r == '$':
		return s.variable()
	case unicode.IsLetter(r) || r == '_' || r == '@' && s.at+1 < len(s.src):
		return s.word(lineStart)
	case r >= '0' && r <= '9':
		for s.at < len(s.src) && (isWord(s.src[s.at]) || s.src[s.at] == '.') {
			s.at++
		}
		return tokNumber
	}
	s.at += n
	return ""
}

// until consumes a quote or comment up to its end, the end of its line, or the end of the code.
func (s *scanner) until(q quote) {
	for s.at < len(s.src) {
		switch rest := s.src[s.at:]; {
		case q.close == "\n" && rest[0] == '\n':
			return
		case q.close != "\n" && strings.HasPrefix(rest, q.close):
			s.at += len(q.close)
			return
		case rest[0] == '\n' && !q.lines:
			return
		case rest[0] == '\\' && q.escape && len(rest) > 1:
			s.at += 2
		default:
			s.at++
		}
	}
}

func (s *scanner) word(lineStart bool) string {
	start := s.at
	s.at++
	for s.at < len(s.src) && (isWord(s.src[s.at]) || s.hyphens && s.src[s.at] == '-') {
		s.at++
	}
	word := s.src[start:s.at]
	if s.fold {
		word = strings.ToLower(word)
	}
	switch {
	case s.keywords[word]:
		return tokKeyword
	case word[0] == '@':
		return tokName
	case s.keys && lineStart && s.before(":"), !s.keys && !s.dollar && s.at < len(s.src) && s.src[s.at] == '(':
		return tokName
	}
	return ""
}

// variable consumes $name, ${name} or $1; of $( only the dollar.
func (s *scanner) variable() string {
	s.at++
	if s.at == len(s.src) {
		return ""
	}
	switch c := s.src[s.at]; {
	case c == '{':
		for s.at < len(s.src) && s.src[s.at] != '}' && s.src[s.at] != '\n' {
			s.at++
		}
		s.at = min(s.at+1, len(s.src))
	case isWord(c):
		for s.at < len(s.src) && isWord(s.src[s.at]) {
			s.at++
		}
	case strings.IndexByte("?#@*!-$", c) >= 0:
		s.at++
	default:
		return ""
	}
	return tokVar
}

// before reports whether text follows after blanks.
func (s *scanner) before(what string) bool {
	return strings.HasPrefix(strings.TrimLeft(s.src[s.at:min(len(s.src), s.at+64)], " \t"), what)
}

// inWord reports whether the previous character belongs to a word.
func (s *scanner) inWord() bool { return s.at > 0 && isWord(s.src[s.at-1]) }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

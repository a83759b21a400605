package notebooks

import (
	"strings"
	"unicode/utf8"

	"markmill/notebooks/lazyregexp"
)

const maxLiteralDepth = 100

// literal reads source that is a plain literal of the language. Anything that would have to be
// run, or that is not surely understood, is none.
func (s *codeSyntax) literal(src string) (Value, bool) {
	l := &literalReader{codeSyntax: s, src: src}
	v, ok := l.value(0)
	l.space()
	return v, ok && l.src == ""
}

// literalReader takes from the front of src.
type literalReader struct {
	*codeSyntax
	src string
}

func (l *literalReader) space() { l.src = strings.TrimLeft(l.src, " \t\r\n") }

func (l *literalReader) accept(token string) bool {
	l.space()
	if !strings.HasPrefix(l.src, token) {
		return false
	}
	l.src = l.src[len(token):]
	return true
}

var (
	literalNumber = lazyregexp.New(`^[+-]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?)[nL]?`)
	literalWord   = lazyregexp.New(`^[\p{L}_$.][\p{L}\p{Nd}_$.]*`)
)

func (l *literalReader) value(depth int) (Value, bool) {
	if l.space(); l.src == "" || depth > maxLiteralDepth {
		return Value{}, false
	}
	if number := literalNumber.FindString(l.src); number != "" {
		l.src = l.src[len(number):]
		return l.number(number)
	}
	if v, ok := l.strings(); ok {
		return v, true
	}
	switch {
	case l.accept("["):
		return l.list("]", depth)
	case l.accept("{"):
		return l.entries(depth)
	case l.floats && (strings.HasPrefix(l.src, "c(") || strings.HasPrefix(l.src, "list(")):
		_, l.src, _ = strings.Cut(l.src, "(")
		return l.list(")", depth)
	case l.tuples && l.accept("("):
		return l.tuple(depth)
	}
	word := literalWord.FindString(l.src)
	l.src = l.src[len(word):]
	v, ok := l.words[word]
	return v, ok
}

func (l *literalReader) number(text string) (Value, bool) {
	digits := strings.TrimRight(text, "nL")
	suffixed := digits != text
	if strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		return Value{}, false
	}
	v, err := readInt(digits)
	unsigned := strings.TrimLeft(digits, "+-")
	if err == nil && len(unsigned) > 1 && unsigned[0] == '0' && strings.Trim(unsigned, "0123456789") == "" {
		return Value{}, false // 017 is an error in Python, octal in JavaScript
	}
	if err == nil && (suffixed || !l.floats) {
		return v, true
	}
	if suffixed {
		return Value{}, false
	}
	v, err = readFloat(digits)
	return v, err == nil
}

// strings reads one string, or in Python several that follow each other.
func (l *literalReader) strings() (Value, bool) {
	v, ok := l.oneString()
	for ok && l.tuples && l.prefixes != "" {
		before := l.src
		l.space()
		more, another := l.oneString()
		if !another || more.Type != v.Type {
			l.src = before
			break
		}
		v.Text += more.Text
	}
	return v, ok
}

func (l *literalReader) oneString() (Value, bool) {
	rest := strings.TrimLeft(l.src, l.prefixes)
	prefix := strings.ToLower(l.src[:len(l.src)-len(rest)])
	if rest == "" || strings.IndexByte(l.quotes, rest[0]) < 0 || len(prefix) > 2 || strings.Contains(prefix, "f") {
		return Value{}, false
	}
	quoted := rest[:l.stringLength(rest)]
	quote := quoted[:1]
	if triple := strings.Repeat(quote, 3); l.tripled && strings.HasPrefix(quoted, triple) && len(quoted) >= 6 {
		quote = triple
	}
	if len(quoted) < 2*len(quote) || !strings.HasSuffix(quoted, quote) {
		return Value{}, false
	}
	body := quoted[len(quote) : len(quoted)-len(quote)]
	if l.interpolates(quote[0]) && strings.Contains(body, "$") {
		return Value{}, false
	}
	ok := true
	if !strings.Contains(prefix, "r") {
		body, ok = unescape(body, strings.Contains(prefix, "b"))
	}
	if !ok || !strings.Contains(prefix, "b") && !utf8.ValidString(body) {
		return Value{}, false
	}
	l.src = rest[len(quoted):]
	if strings.Contains(prefix, "b") {
		return Value{Type: TypeBytes, Text: body}, true
	}
	return Value{Type: TypeString, Text: body}, true
}

// interpolates says whether $ means something in strings of that quote: Julia's, and JavaScript's
// templates.
func (l *literalReader) interpolates(quote byte) bool {
	return l.annotation == "::" || quote == '`'
}

func (l *literalReader) list(closing string, depth int) (Value, bool) {
	list := Value{Type: TypeList}
	for !l.accept(closing) {
		v, ok := l.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		list.List = append(list.List, v)
		if !l.accept(",") && !strings.HasPrefix(l.src, closing) {
			return Value{}, false
		}
	}
	return list, true
}

// tuple reads a list in round brackets; without a comma they only group.
func (l *literalReader) tuple(depth int) (Value, bool) {
	before := l.src
	list, ok := l.list(")", depth)
	if ok && len(list.List) == 1 && !strings.HasSuffix(strings.TrimRight(before[:len(before)-len(l.src)-1], " \t\r\n"), ",") {
		return list.List[0], true
	}
	return list, ok
}

// entries reads a dictionary or an object; a Python set is not read.
func (l *literalReader) entries(depth int) (Value, bool) {
	m := Value{Type: TypeMap}
	for !l.accept("}") {
		key, ok := Value{}, false
		if word := literalWord.FindString(l.src); l.split && word != "" {
			l.src = l.src[len(word):]
			key, ok = Value{Type: TypeString, Text: word}, true
		} else {
			key, ok = l.value(depth + 1)
		}
		if !ok || key.Type == TypeList || key.Type == TypeMap || !l.accept(":") {
			return Value{}, false
		}
		v, ok := l.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		m.Entries = append(m.Entries, Entry{Key: key, Value: v})
		if !l.accept(",") && !strings.HasPrefix(l.src, "}") {
			return Value{}, false
		}
	}
	return m, true
}

package params

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

const maxLiteralDepth = 100

// literal reads source that is a plain literal of the language. It rejects anything that would have to be evaluated, or
// is ambiguous.
func (s *codeSyntax) literal(src string) (notebooks.Value, bool) {
	l := &literalReader{codeSyntax: s, src: src}
	v, ok := l.value(0)
	l.space()
	return v, ok && l.src == ""
}

// literalReader consumes src from the front.
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
	literalNumber = lazyregexp.New(`^[+-]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|([0-9][0-9_]*(\.[0-9_]*)?|` +
		`\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?)[nL]?`)
	literalWord = lazyregexp.New(`^[\p{L}_$.][\p{L}\p{Nd}_$.]*`)
)

func (l *literalReader) value(depth int) (notebooks.Value, bool) {
	if l.space(); l.src == "" || depth > maxLiteralDepth {
		return notebooks.Value{}, false
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

func (l *literalReader) number(text string) (notebooks.Value, bool) {
	digits := strings.TrimRight(text, "nL")
	suffixed := digits != text
	if strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		return notebooks.Value{}, false
	}
	v, err := readInt(digits)
	unsigned := strings.TrimLeft(digits, "+-")
	if err == nil && len(unsigned) > 1 && unsigned[0] == '0' && strings.Trim(unsigned, "0123456789") == "" {
		return notebooks.Value{}, false // 017 is an error in Python, octal in JavaScript
	}
	if err == nil && (suffixed || !l.floats) {
		return v, true
	}
	if suffixed {
		return notebooks.Value{}, false
	}
	v, err = readFloat(digits)
	return v, err == nil
}

// strings reads a string, or in Python several adjacent ones.
func (l *literalReader) strings() (notebooks.Value, bool) {
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

func (l *literalReader) oneString() (notebooks.Value, bool) {
	rest := strings.TrimLeft(l.src, l.prefixes)
	prefix := strings.ToLower(l.src[:len(l.src)-len(rest)])
	if rest == "" || strings.IndexByte(l.quotes, rest[0]) < 0 || len(prefix) > 2 || strings.Contains(prefix, "f") {
		return notebooks.Value{}, false
	}
	quoted := rest[:l.stringLength(rest)]
	quote := quoted[:1]
	if triple := strings.Repeat(quote, 3); l.tripled && strings.HasPrefix(quoted, triple) && len(quoted) >= 6 {
		quote = triple
	}
	if len(quoted) < 2*len(quote) || !strings.HasSuffix(quoted, quote) {
		return notebooks.Value{}, false
	}
	body := quoted[len(quote) : len(quoted)-len(quote)]
	if l.interpolates(quote[0]) && strings.Contains(body, "$") {
		return notebooks.Value{}, false
	}
	ok := true
	if !strings.Contains(prefix, "r") {
		body, ok = unescape(body, strings.Contains(prefix, "b"))
	}
	if !ok || !strings.Contains(prefix, "b") && !utf8.ValidString(body) {
		return notebooks.Value{}, false
	}
	l.src = rest[len(quoted):]
	if strings.Contains(prefix, "b") {
		return notebooks.Value{Type: notebooks.TypeBytes, Text: body}, true
	}
	return notebooks.Value{Type: notebooks.TypeString, Text: body}, true
}

// interpolates reports whether $ is special in strings with that quote: Julia's, and JavaScript's templates.
func (l *literalReader) interpolates(quote byte) bool {
	return l.annotation == "::" || quote == '`'
}

func (l *literalReader) list(closing string, depth int) (notebooks.Value, bool) {
	list := notebooks.Value{Type: notebooks.TypeList}
	for !l.accept(closing) {
		v, ok := l.value(depth + 1)
		if !ok {
			return notebooks.Value{}, false
		}
		list.List = append(list.List, v)
		if !l.accept(",") && !strings.HasPrefix(l.src, closing) {
			return notebooks.Value{}, false
		}
	}
	return list, true
}

// tuple reads a list in parentheses; without a comma they only group.
func (l *literalReader) tuple(depth int) (notebooks.Value, bool) {
	before := l.src
	list, ok := l.list(")", depth)
	if ok && len(list.List) == 1 &&
		!strings.HasSuffix(strings.TrimRight(before[:len(before)-len(l.src)-1], " \t\r\n"), ",") {
		return list.List[0], true
	}
	return list, ok
}

// entries reads a dictionary or an object, but not a Python set.
func (l *literalReader) entries(depth int) (notebooks.Value, bool) {
	m := notebooks.Value{Type: notebooks.TypeMap}
	for !l.accept("}") {
		key, ok := notebooks.Value{}, false
		if word := literalWord.FindString(l.src); l.split && word != "" {
			l.src = l.src[len(word):]
			key, ok = notebooks.Value{Type: notebooks.TypeString, Text: word}, true
		} else {
			key, ok = l.value(depth + 1)
		}
		if !ok || key.Type == notebooks.TypeList || key.Type == notebooks.TypeMap || !l.accept(":") {
			return notebooks.Value{}, false
		}
		v, ok := l.value(depth + 1)
		if !ok {
			return notebooks.Value{}, false
		}
		m.Entries = append(m.Entries, notebooks.Entry{Key: key, Value: v})
		if !l.accept(",") && !strings.HasPrefix(l.src, "}") {
			return notebooks.Value{}, false
		}
	}
	return m, true
}

var plainEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, '`': "`",
	'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '0': "\x00", '\n': "", '$': "$"}

// hexEscapes maps an escape to its number of digits.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape decodes the escapes that Python, JavaScript, R and Julia share. It rejects others, because their meaning
// differs.
func unescape(body string, bytes bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			b.WriteByte(body[i])
			continue
		}
		if i++; i == len(body) {
			return "", false
		}
		c := body[i]
		if digits, ok := hexEscapes[c]; ok {
			if i+digits >= len(body) {
				return "", false
			}
			n, err := strconv.ParseUint(body[i+1:i+1+digits], 16, 32)
			switch {
			case err != nil, bytes && c != 'x', !bytes && !utf8.ValidRune(rune(n)):
				return "", false
			case bytes:
				b.WriteByte(byte(n))
			default:
				b.WriteRune(rune(n))
			}
			i += digits
			continue
		}
		text, ok := plainEscapes[c]
		if !ok || c == '0' && i+1 < len(body) && body[i+1] >= '0' && body[i+1] <= '9' {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

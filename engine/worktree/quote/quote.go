package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path writes a path as Git does in a patch: bare, or in C's manner when it holds a byte below
// space, a quote, a backslash or one above 127.
func Path(path string) string {
	if !strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c >= 0x7f }) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		if j := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); j >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[j])
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Unquote reads what quote writes; ok is false when text is not quoted so, to its end.
func Unquote(text string) (path string, ok bool) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return "", false
	}
	text = text[1 : len(text)-1]
	var b strings.Builder
	for len(text) > 0 {
		c := rune(text[0])
		if c == '\\' {
			var err error
			if c, _, text, err = strconv.UnquoteChar(text, '"'); err != nil || c > 0xff {
				return "", false
			}
		} else if text = text[1:]; c == '"' {
			return "", false
		}
		b.WriteByte(byte(c))
	}
	return b.String(), true
}

// Escaped writes a path so that Raw gives its bytes: as Shown does, and a backslash twice in every path.
func Escaped(path string) string {
	if utf8.ValidString(path) {
		return strings.ReplaceAll(path, `\`, `\\`)
	}
	text, _ := Shown(path)
	return text
}

// Shown writes a path for the record: bytes that are not UTF-8 as \xNN; quoted says whether there are any.
func Shown(path string) (text string, quoted bool) {
	if utf8.ValidString(path) {
		return path, false
	}
	var b strings.Builder
	for len(path) > 0 {
		r, n := utf8.DecodeRuneInString(path)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, path[0])
		} else if r == '\\' {
			b.WriteString(`\\`)
		} else {
			b.WriteString(path[:n])
		}
		path = path[n:]
	}
	return b.String(), true
}

// Raw gives the bytes of a path that is recorded as quoted.
func Raw(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] == '\\' {
				i++
			} else if b, err := strconv.ParseUint(text[i+2:min(i+4, len(text))], 16, 8); err == nil &&
				text[i+1] == 'x' {
				out = append(out, byte(b))
				i += 3
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

func Plain(text string) string {
	if p, ok := Unquote(text); ok {
		return p
	}
	return text
}

func End(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}

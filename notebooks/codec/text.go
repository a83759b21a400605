package codec

import (
	"fmt"
	"unicode/utf8"
)

// AppendText appends a text as JSON, in the shortest spelling: as RFC 8785 has it, and Python's json without
// ensure_ascii. What of it is not UTF-8 becomes U+FFFD. also says which characters are spelled as \u escapes besides
// those that must be; nil says none.
func AppendText(b []byte, text string, also func(r rune) bool) []byte {
	b = append(b, '"')
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r < 0x20 || also != nil && also(r):
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return append(b, '"')
}

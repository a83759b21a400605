package codec

import (
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
)

// AppendText appends a text as JSON, in the shortest spelling: as RFC 8785 has it, and Python's json without
// ensure_ascii. What of it is not UTF-8 becomes U+FFFD. also says which characters are spelled as \u escapes besides
// those that must be; nil says none.
func AppendText(b []byte, text string, also func(r rune) bool) []byte {
	if also == nil {
		b, _ = jsontext.AppendQuote(b, text) // the error says that text is not UTF-8
		return b
	}
	for _, r := range string(AppendText(nil, text, nil)) {
		if also(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

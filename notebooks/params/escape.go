package params

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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

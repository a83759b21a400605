package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lineLeast is the minimum length, in bytes, of a line of a multi-line value that is searched for by itself. Shorter
// lines, and lines with spaces, also occur in unrelated text.
const lineLeast = 16

// forms returns the spellings of a value to search for. Wrapped ones also match across the line breaks and separators
// that base64, xxd and their like insert.
func forms(value string) (plain, wrapped []string) {
	if trimmed := strings.TrimSpace(value); len(trimmed) >= Least {
		value = trimmed // a file's final line feed is often lost on the way
	}
	plain = append(plain, value)
	if strings.Contains(value, "\n") {
		unix := strings.ReplaceAll(value, "\r\n", "\n")
		plain = append(plain, unix, strings.ReplaceAll(unix, "\n", "\r\n"))
		for line := range strings.SplitSeq(unix, "\n") {
			if len(line) >= lineLeast && !strings.ContainsAny(line, " \t") && !strings.HasPrefix(line, "-----") {
				plain = append(plain, line)
			}
		}
	}
	for _, list := range [][]string{
		jsonForms(value), languageForms(value), shellForms(value), percentForms(value), markupForms(value),
		characterSets(value), hexForms(value, "-", ""), hexForms(value, "", `\x`),
	} {
		plain = append(plain, list...)
	}
	return plain, slices.Concat(base64Forms(value), hexForms(value, "", ""), hexForms(value, "", "0x"))
}

// hexForms returns the bytes in hexadecimal digits, with text before each and between them.
func hexForms(value, between, before string) []string {
	var lower, upper []string
	for i := range len(value) {
		lower = append(lower, fmt.Sprintf("%s%02x", before, value[i]))
		upper = append(upper, fmt.Sprintf("%s%02X", before, value[i]))
	}
	return []string{strings.Join(lower, between), strings.Join(upper, between)}
}

// characterSets returns the value in UTF-16 of both byte orders, and in Latin-1 if it is another text there.
func characterSets(value string) []string {
	var little, big, latin []byte
	for _, unit := range utf16.Encode([]rune(value)) {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
		latin = append(latin, byte(unit))
	}
	out := []string{string(little), string(big)}
	if len(latin) < len(value) && !strings.ContainsFunc(value, func(r rune) bool { return r > 0xff }) {
		out = append(out, string(latin))
	}
	return out
}

// base64Forms returns the encoding of the value alone and, for each of the three alignments it can have inside a longer
// text, the characters that do not depend on neighbouring bytes: a character encodes six bits, so those at the ends mix
// with the neighbours.
func base64Forms(value string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		out = append(out, enc.EncodeToString([]byte(value)),
			enc.WithPadding(base64.NoPadding).EncodeToString([]byte(value)))
		for shift, skip := range []int{0, 2, 3} { // characters that include bits of preceding bytes
			text := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), value...))
			out = append(out, text[skip:(shift+len(value))*8/6])
		}
	}
	return out
}

// jsonForms returns the contents of a JSON string: as Go and JavaScript write it, ASCII only (Python, PHP), with HTML
// characters escaped (Go), with slashes escaped (PHP), and nested in another JSON string.
func jsonForms(value string) []string {
	var out []string
	for _, ascii := range []bool{false, true} {
		for _, special := range []string{"", "/", "<>&", "<>&'"} {
			text := jsonText(value, ascii, special)
			out = append(out, text, upperEscapes(text))
		}
		out = append(out, jsonText(jsonText(value, ascii, ""), ascii, ""),
			jsonText(jsonText(value, ascii, "<>&"), ascii, ""))
	}
	return out
}

// upperEscapes writes the digits of \u escapes as .NET does.
func upperEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+5 < len(b); i++ {
		if b[i] == '\\' {
			if b[i+1] == 'u' {
				copy(b[i+2:i+6], bytes.ToUpper(b[i+2:i+6]))
			}
			i++
		}
	}
	return string(b)
}

// jsonText escapes text for use inside a JSON string.
func jsonText(value string, ascii bool, special string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	var b strings.Builder
	for _, r := range value {
		switch s := short[r]; {
		case s != "":
			b.WriteString(s)
		case r == '/' && strings.ContainsRune(special, r):
			b.WriteString(`\/`)
		case r < ' ' || r == 0x7f && ascii || strings.ContainsRune(special, r) ||
			r >= utf8.RuneSelf && ascii && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r > 0xffff && ascii:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// languageForms returns the contents of a string literal: Go's %q, Python's repr of text and bytes, Node's inspect.
func languageForms(value string) []string {
	inside := func(s string) string { return s[1 : len(s)-1] }
	repr := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	var octets strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c == '\\', c == '\'':
			octets.WriteString(`\` + string(c))
		case c == '\n', c == '\r', c == '\t':
			octets.WriteString(repr.Replace(string(c)))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&octets, `\x%02x`, c)
		default:
			octets.WriteByte(c)
		}
	}
	return []string{inside(strconv.Quote(value)), inside(strconv.QuoteToASCII(value)), repr.Replace(value),
		strings.ReplaceAll(repr.Replace(value), "'", `\'`), octets.String(),
		strings.ReplaceAll(octets.String(), `\'`, "'")}
}

// shellForms returns a word as shells quote it: set -x, ${x@Q}, Python's shlex.quote, printf %q.
func shellForms(value string) []string {
	var bash, zsh, ansi, octal strings.Builder
	for i := range len(value) {
		c := value[i]
		if strings.IndexByte(" !\"$&'()*,;<>?[\\]^`{|}", c) >= 0 || i == 0 && (c == '#' || c == '~') {
			bash.WriteByte('\\')
		}
		if strings.IndexByte(" !\"#$&'()*;<=>?[\\]^`{|}~", c) >= 0 {
			zsh.WriteByte('\\')
		}
		bash.WriteByte(c)
		zsh.WriteByte(c)
		for _, b := range []*strings.Builder{&ansi, &octal} {
			switch {
			case c == '\'' || c == '\\':
				b.WriteString(`\` + string(c))
			case c == '\n':
				b.WriteString(`\n`)
			case c == '\r':
				b.WriteString(`\r`)
			case c == '\t':
				b.WriteString(`\t`)
			case c >= 0x7f && b == &octal:
				fmt.Fprintf(b, `\%03o`, c)
			default:
				b.WriteByte(c)
			}
		}
	}
	double := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
	return []string{strings.ReplaceAll(value, "'", `'\''`), strings.ReplaceAll(value, "'", `'"'"'`),
		double.Replace(value),
		bash.String(), zsh.String(), ansi.String(), octal.String()}
}

// Characters besides letters and digits that percent-encodings leave unescaped: Go's two, Python's quote and
// quote(safe=""), encodeURIComponent, encodeURI, curl, and one that escapes everything.
var unreserved = []string{"-_.~", "-_.~/", "$&+,/:;=@-_.~", "$&+:=@-_.~", "-_.!~*'()", "-_.!~*'();,/?:@&=+$#", "-_.*"}

// percentForms returns the URL and form encodings, with a space as %20 and as +, and hex digits in both cases.
func percentForms(value string) []string {
	out := []string{url.QueryEscape(value), url.PathEscape(value), percent(value, func(byte) bool { return false })}
	for _, free := range unreserved {
		out = append(out, percent(value, func(c byte) bool {
			return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
				strings.IndexByte(free, c) >= 0
		}))
	}
	for _, s := range out[:len(out):len(out)] {
		plus := s
		if !strings.Contains(value, "+") || strings.Contains(s, "%2B") {
			plus = strings.ReplaceAll(s, "%20", "+")
		}
		out = append(out, plus, lowerPercent(s), lowerPercent(plus))
	}
	return out
}

func percent(value string, free func(byte) bool) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; free(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], strings.ToLower(s[i:i+3]))
			i += 2
		}
	}
	return string(b)
}

// markupForms returns the text as escaped in HTML and XML.
func markupForms(value string) []string {
	base := html.EscapeString(value)
	forms := []string{base}
	for _, quotes := range [][]string{
		{"&#34;", "&quot;", "&#39;", "&#x27;"}, {"&#34;", "&quot;", "&#39;", "&apos;"}, {"&#34;", `"`, "&#39;", "'"},
		{"&#34;", "&quot;"}, {"&#34;", "&quot;", "&#39;", "'"},
	} {
		forms = append(forms, strings.NewReplacer(quotes...).Replace(base))
	}
	return forms
}

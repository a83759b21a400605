package inject

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
)

// escapes is how a language escapes what its string literals cannot contain.
type escapes struct {
	signs  string // characters that are escaped by the first of them, besides the quote
	latin  string // below U+0100: a format
	basic  string // below U+10000
	beyond string // "" : as two surrogates
	noNUL  bool
	plain  bool // what is not ASCII stays
}

var (
	pythonText = escapes{signs: `\`, latin: `\x%02x`, basic: `\u%04x`, beyond: `\U%08x`}
	// One or two digits behind \x mean a byte in R and Julia, and up to four in C#: \u is safe.
	rText      = escapes{signs: `\`, latin: `\u%04x`, basic: `\u%04x`, beyond: `\U%08x`, noNUL: true}
	juliaText  = escapes{signs: `\$`, latin: `\u%04x`, basic: `\u%04x`, beyond: `\U%08x`}
	dotnetText = escapes{signs: `\`, latin: `\u%04x`, basic: `\u%04x`, beyond: `\U%08x`}
	scalaText  = escapes{signs: `\`, latin: `\u%04x`, basic: `\u%04x`}
	// $ would begin a variable, and the curly quotes end text, too.
	powershellText = escapes{signs: "`$“”„", latin: "$([char]%d)", plain: true}
)

// quote writes text between double quotes, in ASCII unless plain.
func (e escapes) quote(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("the text is not UTF-8")
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == 0 && e.noNUL:
			return "", fmt.Errorf("its text cannot hold a NUL")
		case r == '"' || strings.ContainsRune(e.signs, r):
			b.WriteString(e.signs[:1] + string(r))
		case r == '\n':
			b.WriteString(e.signs[:1] + "n")
		case r == '\r':
			b.WriteString(e.signs[:1] + "r")
		case r == '\t':
			b.WriteString(e.signs[:1] + "t")
		case r >= ' ' && r < 0x7f || r > 0x7f && e.plain:
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, e.latin, r)
		case r < 0x10000:
			fmt.Fprintf(&b, e.basic, r)
		case e.beyond == "":
			r -= 0x10000
			fmt.Fprintf(&b, e.basic+e.basic, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, e.beyond, r)
		}
	}
	return b.String() + `"`, nil
}

// shellQuote writes text so that a POSIX shell reads it back, bare where nothing in it needs quotes.
func shellQuote(text string) (string, error) {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	switch {
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("a shell's text cannot hold a NUL")
	case text == "":
		return "''", nil
	case strings.Trim(text, bare) == "":
		return text, nil
	}
	return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'", nil
}

// matlabQuote writes text in MATLAB, whose quoted text has no escapes: what it cannot hold is joined on.
func matlabQuote(text string) (string, error) { return joined(text, `"`, " + ") }

// matlabKey returns text as containers.Map takes it: characters, not a string.
func matlabKey(text string) (string, error) {
	key, err := joined(text, "'", " ")
	if strings.Contains(key, "char(") || strings.Contains(key, "newline") {
		key = "[" + key + "]"
	}
	return key, err
}

func joined(text, quote, join string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("the text is not UTF-8")
	}
	var parts []string
	plain := ""
	flush := func() {
		if plain != "" {
			parts = append(parts, quote+strings.ReplaceAll(plain, quote, quote+quote)+quote)
			plain = ""
		}
	}
	for _, r := range text {
		switch {
		case r == '\n':
			flush()
			parts = append(parts, "newline")
		case r < ' ' || r == 0x7f:
			flush()
			parts = append(parts, fmt.Sprintf("char(%d)", r))
		default:
			plain += string(r)
		}
	}
	flush()
	if len(parts) == 0 || !strings.HasPrefix(parts[0], quote) {
		parts = append([]string{quote + quote}, parts...) // so that the whole is text, not characters
	}
	return strings.Join(parts, join), nil
}

// pythonOnly returns the types that Python alone has.
func pythonOnly(v notebooks.Value) (string, error) {
	switch v.Type {
	case notebooks.TypeBytes:
		var b strings.Builder
		for _, c := range []byte(v.Text) {
			switch {
			case c == '"' || c == '\\':
				b.WriteString(`\` + string(rune(c)))
			case c >= ' ' && c < 0x7f:
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		return `b"` + b.String() + `"`, nil
	case notebooks.TypeDuration:
		return `__import__("datetime").timedelta(seconds=` + repr(v.Float) + ")", nil
	}
	kind := "datetime"
	if len(v.Text) <= len("2006-01-02") {
		kind = "date"
	}
	moment, isUTC := strings.CutSuffix(v.Text, "Z")
	if isUTC { // Python before 3.11 does not read Z
		moment += "+00:00"
	}
	text, err := pythonText.quote(moment)
	return `__import__("datetime").` + kind + ".fromisoformat(" + text + ")", err
}

package inject

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
)

// escapes is how a language escapes what its string literals cannot contain.
type escapes struct {
	extra  string // characters that get a backslash, besides the quote and the backslash
	latin  string // below U+0100: a format
	basic  string // below U+10000
	beyond string // "" : as two surrogates
	noNUL  bool
}

var (
	pythonText = escapes{latin: `\x%02x`, basic: `\u%04x`, beyond: `\U%08x`}
	// One or two digits behind \x mean a byte in R and Julia, and up to four in C#: \u is safe.
	rText      = escapes{latin: `\u%04x`, basic: `\u%04x`, beyond: `\U%08x`, noNUL: true}
	juliaText  = escapes{extra: "$", latin: `\u%04x`, basic: `\u%04x`, beyond: `\U%08x`}
	dotnetText = escapes{latin: `\u%04x`, basic: `\u%04x`, beyond: `\U%08x`}
	scalaText  = escapes{latin: `\u%04x`, basic: `\u%04x`}
)

// quote writes text between double quotes, in ASCII.
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
		case r == '"' || r == '\\' || strings.ContainsRune(e.extra, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r >= ' ' && r < 0x7f:
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
func matlabQuote(text string) (string, error) { return joined(text, `"`, " + ", "char(%d)") }

// matlabKey is text as containers.Map takes it: characters, not a string.
func matlabKey(text string) (string, error) {
	key, err := joined(text, "'", " ", "char(%d)")
	if strings.Contains(key, "char(") || strings.Contains(key, "newline") {
		key = "[" + key + "]"
	}
	return key, err
}

func joined(text, quote, join, char string) (string, error) {
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
			parts = append(parts, fmt.Sprintf(char, r))
		default:
			plain += string(r)
		}
	}
	flush()
	if len(parts) == 0 || len(parts) > 0 && !strings.HasPrefix(parts[0], quote) {
		parts = append([]string{quote + quote}, parts...) // so that the whole is text, not characters
	}
	return strings.Join(parts, join), nil
}

// powershellQuote writes text between double quotes, where ` escapes and $ would begin a variable.
func powershellQuote(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("the text is not UTF-8")
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '`' || r == '$' || r == '“' || r == '”' || r == '„': // the curly ones end text, too
			b.WriteByte('`')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString("`n")
		case r == '\r':
			b.WriteString("`r")
		case r == '\t':
			b.WriteString("`t")
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "$([char]%d)", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`, nil
}

// pythonOnly are the types that Python alone has.
func pythonOnly(v notebooks.Value) (string, error) {
	switch v.Type {
	case notebooks.TypeBytes:
		var b strings.Builder
		for i := range len(v.Text) {
			switch c := v.Text[i]; {
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
	text, err := pythonText.quote(strings.TrimSuffix(v.Text, "Z"))
	if strings.HasSuffix(v.Text, "Z") { // Python before 3.11 does not read it
		text, err = pythonText.quote(strings.TrimSuffix(v.Text, "Z") + "+00:00")
	}
	return `__import__("datetime").` + kind + ".fromisoformat(" + text + ")", err
}

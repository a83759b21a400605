package ansi

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Escape makes every byte and character of s that a reader could not see, or that would change how
// its neighbours are seen, visible. Tabs stay; a newline is escaped: s is one line.
// A backslash that was there before is left alone, so that Escape is for reading and not for
// reading back: the exact bytes are in the run directory.
func Escape(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteString(s[i : i+n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// EscapeJSON does the same inside JSON text, with JSON's own escapes, so that the text stays JSON
// of the same value. Line breaks between tokens stay.
func EscapeJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden lists what must not reach a page or a terminal unescaped: C0 and C1 controls, the bidirectional controls
// ("Trojan Source", CVE-2021-42574), line and paragraph separators, and characters without a width that can hold a
// message nobody sees. Joiners (U+200C, U+200D) stay: scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x61c:
		return false
	case r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

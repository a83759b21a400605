package engine

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBoundedTexts: a text that the journal cuts ends with a whole character, and one that fits stays whole.
func TestBoundedTexts(t *testing.T) {
	for name, text := range map[string]string{
		"at the limit":             strings.Repeat("x", journalText),
		"above it":                 strings.Repeat("x", journalText+1),
		"a character at the limit": strings.Repeat("x", journalText-1) + "é" + strings.Repeat("y", 100),
		"short":                    "done",
	} {
		kept, cut := bounded(text)
		if len(kept)+cut != len(text) || len(kept) > journalText || !utf8.ValidString(kept) ||
			(cut == 0) != (len(text) <= journalText) {
			t.Errorf("%s: %d of %d bytes, %d cut", name, len(kept), len(text), cut)
		}
	}
}

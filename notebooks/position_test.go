package notebooks_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"markmill/notebooks"
)

// TestPlaces compares indexed positions with a fresh count.
func TestPlaces(t *testing.T) {
	part := rapid.OneOf(rapid.SampledFrom([]string{"\n", "\r\n", "a", "ü", "漢", "😀", "\t"}),
		rapid.Map(rapid.IntRange(1, 3*4096), func(n int) string { return strings.Repeat("ü漢😀a", n/10+1) }))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") +
			strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		places := notebooks.NewPlaces([]byte(text))
		offset := rapid.IntRange(0, len(text)).Draw(t, "offset")
		for offset < len(text) && !utf8.RuneStart(text[offset]) {
			offset++
		}
		head := text[:offset]
		begin := strings.LastIndexByte(head, '\n') + 1
		line, col := 1+strings.Count(head, "\n"), 1+utf8.RuneCountInString(strings.TrimPrefix(head[begin:], "\ufeff"))
		if gotLine, gotCol := places.Position(offset); gotLine != line || gotCol != col {
			t.Fatalf("offset %d of %d bytes is at %d:%d, want %d:%d", offset, len(text), gotLine, gotCol, line, col)
		}
		if got := places.Line(offset); got != line {
			t.Fatalf("offset %d of %d bytes is in line %d, want %d", offset, len(text), got, line)
		}
	})
	if line, col := notebooks.NewPlaces([]byte("a\nb")).Position(99); line != 2 || col != 2 {
		t.Errorf("an offset after the end is at %d:%d", line, col)
	}
}

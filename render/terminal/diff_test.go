package terminal

import (
	"bytes"
	"strings"
	"testing"

	"markmill/notebooks/diff"
)

// TestDiffIsInColour: removed text is red, added text is green, changed words are reversed, tabs are kept; without
// colour there are no sequences.
func TestDiffIsInColour(t *testing.T) {
	side := func(name, source string) *diff.Document {
		return &diff.Document{Name: name, Cells: []diff.Cell{{ID: "a", Label: "a", Kind: diff.Code, Source: source}}}
	}
	d := diff.Compare(side("x", "\tone = first\n"), side("y", "\tone = second\nmore\x1b[2J\n"), diff.Options{})
	show := func(color bool) string {
		var b bytes.Buffer
		if err := Diff(&b, d, color); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, want := range []string{"\x1b[1mx → y\x1b[m", "\x1b[31m\tone = \x1b[m\x1b[7;31mfirst\x1b[m",
		"\x1b[7;32msecond\x1b[m"} {
		if !strings.Contains(show(true), want) {
			t.Errorf("no %q in %q", want, show(true))
		}
	}
	if strings.Contains(show(true), "\x1b[2J") {
		t.Error("a sequence of the notebook reaches the terminal")
	}
	if plain := show(false); strings.Contains(plain, "\x1b") ||
		!strings.Contains(plain, "    - \tone = first\n    + \tone = second\n") {
		t.Errorf("%q", plain)
	}
}

package diff

import (
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/linediff"
)

// Text is how one text became another, by lines.
type Text struct {
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Hunks   []Hunk `json:"hunks"`   // in order; nothing between them changed
}

// Hunk is lines that came in the place of others. A line has its line end, which the last of a text may lack.
type Hunk struct {
	A   int      `json:"a"` // number of the first line that goes, or before which lines come, from 1
	B   int      `json:"b"`
	Old []string `json:"old,omitempty"`
	New []string `json:"new,omitempty"`
}

// Lines cuts a text after each newline.
func Lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// Ended adds a missing final newline, so that appending a line does not change the one before.
func Ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// WithEnds gives each line its newline, as the lines of a Hunk have it.
func WithEnds(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l + "\n"
	}
	return out
}

// compareText is nil where nothing changed. Lines that fold makes the same are the same; nil folds nothing.
func compareText(a, b string, fold func(string) string) *Text {
	if a == b {
		return nil
	}
	return compareLines(Lines(a), Lines(b), fold)
}

func compareLines(a, b []string, fold func(string) string) *Text {
	var t Text
	for _, k := range linediff.Blocks(linediff.Lines(folded(a, fold), folded(b, fold))) {
		t.Hunks = append(t.Hunks, Hunk{A: k.I0 + 1, B: k.J0 + 1, Old: a[k.I0:k.I1:k.I1], New: b[k.J0:k.J1:k.J1]})
		t.Removed += k.I1 - k.I0
		t.Added += k.J1 - k.J0
	}
	if len(t.Hunks) == 0 {
		return nil
	}
	return &t
}

func folded(lines []string, fold func(string) string) []string {
	if fold == nil {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = fold(l)
	}
	return out
}

const atAddress = " at 0x"

var address = lazyregexp.New(" at 0x[0-9a-fA-F]*")

// withoutAddresses drops memory addresses ("<function f at 0x7f0c…>"), which differ in every run.
func withoutAddresses(text string) string {
	if !strings.Contains(text, atAddress) {
		return text
	}
	return address.ReplaceAllStringFunc(text, func(found string) string {
		if digits := len(found) - len(atAddress); digits < 4 || digits > 16 {
			return found
		}
		return atAddress
	})
}

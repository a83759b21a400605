package diffview

import (
	"fmt"
	"strings"

	"markmill/notebooks/diff"
)

// context is how many unchanged lines are shown before and after changed ones.
const context = 3

// textLines shows a change with surrounding lines from old. Without old there is no context.
func textLines(t *diff.Text, old string) []Line {
	if t == nil {
		return nil
	}
	lines := diff.Lines(old)
	if old == "" {
		lines = nil
	}
	var out []Line
	hunks := t.Hunks
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n].A-(hunks[n-1].A+len(hunks[n-1].Old)) <= 2*context {
			n++
		}
		out = append(out, group(hunks[:n], lines)...)
		hunks = hunks[n:]
	}
	return out
}

// group shows hunks that share context.
func group(hunks []diff.Hunk, old []string) []Line {
	first := hunks[0]
	out := []Line{{Mark: '@', Text: fmt.Sprintf("line %d", first.B)}}
	if first.A != first.B {
		out[0].Text = fmt.Sprintf("line %d → %d", first.A, first.B)
	}
	same := func(from, to int) {
		for i := max(from, 0); i < min(to, len(old)); i++ {
			out = append(out, Line{Mark: ' ', Text: trimmed(old[i])})
		}
	}
	at := first.A - 1 - context
	for _, h := range hunks {
		for _, words := range cellWords(h, old) {
			out = append(out, Line{Mark: '@', Text: words})
		}
		same(at, h.A-1)
		out = append(out, changed(h)...)
		at = h.A - 1 + len(h.Old)
	}
	same(at, at+context)
	return out
}

// changed shows the lines of a hunk, with the words that changed.
func changed(h diff.Hunk) []Line {
	old, new, ok := diff.Words(h)
	var out []Line
	add := func(mark rune, lines []string, words [][]diff.Segment) {
		for i, l := range lines {
			line := Line{Mark: mark, Text: trimmed(l)}
			if ok {
				line.Words = trimmedWords(words[i])
			}
			out = append(out, line)
		}
	}
	add('-', h.Old, old)
	add('+', h.New, new)
	return out
}

func trimmed(line string) string { return strings.TrimSuffix(line, "\n") }

func trimmedWords(words []diff.Segment) []diff.Segment {
	out := make([]diff.Segment, 0, len(words))
	for _, w := range words {
		if w.Text = trimmed(w.Text); w.Text != "" {
			out = append(out, w)
		}
	}
	return out
}

// whole shows a text that only one side has, at most most lines of it (0: all).
func whole(mark rune, text string, most int) []Line {
	lines := diff.Lines(text)
	cut := 0
	if most > 0 && len(lines) > most {
		lines, cut = lines[:most], len(lines)-most
	}
	out := make([]Line, 0, len(lines)+1)
	for _, l := range lines {
		out = append(out, Line{Mark: mark, Text: trimmed(l)})
	}
	if cut > 0 {
		out = append(out, Line{Mark: '…', Text: fmt.Sprintf("%d lines more", cut)})
	}
	return out
}

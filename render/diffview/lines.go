package diffview

import (
	"fmt"
	"strings"

	"markmill/notebooks/diff"
)

// context is how many unchanged lines are shown before and after changed ones.
const context = 3

// textLines shows a change with surrounding lines from old. Without old there is no context.
func textLines(t *diff.Text, old string) []string {
	if t == nil {
		return nil
	}
	lines := diff.Lines(old)
	if old == "" {
		lines = nil
	}
	var out []string
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
func group(hunks []diff.Hunk, old []string) []string {
	first := hunks[0]
	at := fmt.Sprint(first.B)
	if first.A != first.B {
		at = fmt.Sprintf("%d → %d", first.A, first.B)
	}
	out := []string{position("line " + at)}
	same := func(from, to int) {
		for i := max(from, 0); i < min(to, len(old)); i++ {
			out = append(out, " "+trimmed(old[i]))
		}
	}
	done := first.A - 1 - context
	for _, h := range hunks {
		for _, words := range cellWords(h, old) {
			out = append(out, position(words))
		}
		same(done, h.A-1)
		for _, l := range h.Old {
			out = append(out, "-"+trimmed(l))
		}
		for _, l := range h.New {
			out = append(out, "+"+trimmed(l))
		}
		done = h.A - 1 + len(h.Old)
	}
	same(done, done+context)
	return out
}

// position is the line that says where in a text the following ones are.
func position(words string) string { return "@@ " + words + " @@" }

func trimmed(line string) string { return strings.TrimSuffix(line, "\n") }

// whole shows a text that only one side has, at most most lines of it (0: all).
func whole(mark, text string, most int) []string {
	lines := diff.Lines(text)
	cut := 0
	if most > 0 && len(lines) > most {
		lines, cut = lines[:most], len(lines)-most
	}
	out := make([]string, 0, len(lines)+1)
	for _, l := range lines {
		out = append(out, mark+trimmed(l))
	}
	if cut > 0 {
		out = append(out, fmt.Sprintf("# … %d lines more", cut))
	}
	return out
}

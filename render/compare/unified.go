package compare

import (
	"fmt"
	"strings"

	"markmill/notebooks/linediff"
)

// around is the number of context lines, as in diff -u.
const around = 3

// Unified returns the unified diff of two texts, "" if they are equal.
func Unified(from, to string, a, b []string) string {
	gone, come := linediff.Lines(a, b)
	var out strings.Builder
	for _, h := range hunks(gone, come) {
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(h.a0, h.a1), span(h.b0, h.b1))
		for i, j := h.a0, h.b0; i < h.a1 || j < h.b1; {
			switch {
			case i < h.a1 && gone[i]:
				out.WriteString("-" + a[i] + "\n")
				i++
			case j < h.b1 && come[j]:
				out.WriteString("+" + b[j] + "\n")
				j++
			default:
				out.WriteString(" " + a[i] + "\n")
				i, j = i+1, j+1
			}
		}
	}
	return out.String()
}

// hunk is a range of both texts with context: half-open, from 0.
type hunk struct{ a0, a1, b0, b1 int }

func hunks(gone, come []bool) []hunk {
	var out []hunk
	for i, j := 0, 0; i < len(gone) || j < len(come); {
		if i < len(gone) && j < len(come) && !gone[i] && !come[j] {
			i, j = i+1, j+1
			continue
		}
		h := hunk{i, i, j, j}
		for h.a1 < len(gone) && gone[h.a1] {
			h.a1++
		}
		for h.b1 < len(come) && come[h.b1] {
			h.b1++
		}
		i, j = h.a1, h.b1
		before := min(around, h.a0, h.b0)
		h.a0, h.b0 = h.a0-before, h.b0-before
		after := min(around, len(gone)-h.a1, len(come)-h.b1)
		h.a1, h.b1 = h.a1+after, h.b1+after
		if last := len(out) - 1; last >= 0 && out[last].a1 >= h.a0 {
			out[last].a1, out[last].b1 = h.a1, h.b1
			continue
		}
		out = append(out, h)
	}
	return out
}

// span formats a range of lines for a hunk header (POSIX, diff -u).
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

package terminal

import (
	"io"
	"strings"

	"markmill/render/plain"
	"markmill/render/review"
)

// Review prints a review: a line for each notebook, and then what became of each.
func Review(w io.Writer, r *review.Review, color bool) error {
	var b strings.Builder
	base, head := r.Title()
	ink := green
	if r.Verdict == "fail" {
		ink = red
	}
	b.WriteString(paint(r.VerdictWords(), ink, color) + paint(" · "+plain.Escape(base)+" → "+plain.Escape(head), dim, color) + "\n")
	if words := r.OutputWords(); words != "" {
		b.WriteString("outputs: " + words + "\n")
	}
	inks := map[string]string{"✗": red, "!": yellow, "✓": green}
	for _, n := range r.Notebooks {
		b.WriteString(paint(r.Sign(n), inks[r.Sign(n)], color) + " " + bold(plain.Escape(n.Path), color) + ": " + plain.Escape(n.Summary()) + "\n")
	}
	for _, n := range r.Notebooks {
		notes := n.Notes()
		if n.Change == review.Removed && len(notes) == 0 {
			continue
		}
		b.WriteString("\n" + paint(r.Sign(n), inks[r.Sign(n)], color) + " " + bold(plain.Escape(n.Path), color) + "\n")
		for _, note := range notes {
			b.WriteString("  " + paint(note.Sign, inks[note.Sign], color) + " ")
			if note.Subject != "" && note.Subject != n.Path {
				b.WriteString(plain.Escape(note.Subject) + ": ")
			}
			b.WriteString(plain.Escape(note.Words) + "\n")
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
		if n.Compared() {
			if err := Diff(w, n.Diff, color); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

package terminal

import (
	"fmt"
	"io"
	"strings"

	"markmill/render/plain"
	"markmill/render/review"
)

// Review prints a review: findings, a line for each notebook, then the details of each.
func Review(w io.Writer, r *review.Review, color bool) error {
	var b strings.Builder
	base, head := r.Title()
	ink := map[string]string{"✗": red, "✓": green, "○": yellow, "?": yellow, "!": yellow}[r.VerdictSign()]
	verdict := r.VerdictSign() + " " + r.VerdictWords()
	if r.Judged == nil {
		verdict += " · not judged with main's tests: add --judge"
	}
	b.WriteString(paint(verdict, ink, color) +
		paint(" · "+plain.Escape(base)+" → "+plain.Escape(head), dim, color) + "\n")
	for _, line := range [][2]string{{"outputs", r.OutputWords()}, {"proof", r.ProofWords()},
		{"what tests read is not known", r.ReadsWords()}} {
		if line[1] != "" {
			b.WriteString(line[0] + ": " + line[1] + "\n")
		}
	}
	if j := r.Judged; j != nil {
		for _, row := range j.Table() {
			words := fmt.Sprintf("%s: main %s; branch %s; branch, with main's tests %s", row[0], row[1], row[2], row[3])
			b.WriteString(plain.Escape(words) + "\n")
		}
		b.WriteString(paint(j.CostWords(), dim, color) + "\n")
	}
	inks := map[string]string{"✗": red, "?": yellow, "!": yellow, "✓": green, "○": dim}
	if len(r.Findings) > 0 {
		b.WriteString("\n" + bold("What to look at first", color) + "\n")
	}
	signed := func(sign, path string) string {
		return paint(sign, inks[sign], color) + " " + bold(plain.Escape(path), color)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		b.WriteString(signed(f.Sign(), f.Path))
		if f.Step != "" {
			b.WriteString(" " + plain.Escape(f.Step))
		}
		b.WriteString(": " + plain.Escape(f.Words) + "\n")
		if f.ID != "" {
			b.WriteString(paint("  "+f.ID, dim, color) + "\n")
		}
		for line := range strings.Lines(f.Diff) {
			b.WriteString("    " + plain.Escape(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	b.WriteByte('\n')
	for _, n := range r.Notebooks {
		if n.Leads() {
			b.WriteString(signed(r.Sign(n), n.Path) + ": " + plain.Escape(n.Summary()) + "\n")
		}
	}
	for _, n := range r.Notebooks {
		notes := n.Notes()
		if len(notes) == 0 && (n.Change == review.Removed || n.Diff != nil && n.Diff.Same) {
			continue
		}
		b.WriteString("\n" + signed(r.Sign(n), n.Path) + "\n")
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
			if err := Sections(w, n.Diff, n.Sections(), color); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// stateInks are the colors of the states of an output.
var stateInks = map[review.State]string{review.Current: green, review.Outdated: yellow, review.Unknown: yellow,
	review.Missing: dim, review.Unproven: dim}

// StatusLine prints one notebook with its output and its state. at turns a path from the root of the repository into
// one for the reader.
func StatusLine(w io.Writer, o *review.Output, at func(string) string, color bool) error {
	ink, known := stateInks[o.States[0]]
	if !known {
		ink = red
	}
	line := paint(fmt.Sprintf("%-9s", o.States[0]), ink, color) + " " + plain.Escape(at(o.Subject()))
	if o.Path != "" && o.Source != "" {
		line += paint(" → ", dim, color) + plain.Escape(at(o.Path))
	}
	if why := o.Why(); why != "" {
		line += ": " + plain.Escape(strings.TrimPrefix(why, string(o.States[0])+": "))
	}
	if others := o.States[1:]; len(others) > 0 {
		var words []string
		for _, s := range others {
			words = append(words, string(s))
		}
		line += paint(" ("+strings.Join(words, ", ")+", too)", dim, color)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

package terminal

import (
	"fmt"
	"io"
	"strings"

	"markmill/render/plain"
	"markmill/render/review"
)

// signInks are the colors of the signs of a review.
var signInks = map[string]string{"✗": red, "?": yellow, "!": yellow, "✓": green, "○": yellow}

// Review prints a review: the first screen, the changed code, then the details of each notebook.
func Review(w io.Writer, v *review.View, color bool) error {
	var b strings.Builder
	line := func(text string) { b.WriteString(text + "\n") }
	line(bold(paint(v.Sign+" "+plain.Escape(v.Verdict), signInks[v.Sign], color), color))
	facts := append([]string{v.Base + " → " + v.Head}, v.Facts...)
	line(paint(plain.Escape(strings.Join(facts, " · ")), dim, color) + "\n")
	for i := range v.Findings {
		finding(&b, fmt.Sprintf("%d. ", i+1), &v.Findings[i], color)
	}
	if len(v.More) > 0 {
		line(fmt.Sprintf("and %d more, below: %s", len(v.More), v.MoreWords))
	}
	if len(v.Findings) > 0 {
		line("")
	}
	if err := rows(&b, v.Table, color); err != nil {
		return err
	}
	for _, words := range v.Notes {
		line(paint(plain.Escape(words), dim, color))
	}
	if len(v.More) > 0 {
		line("\n" + bold("More findings", color))
	}
	for i := range v.More {
		finding(&b, fmt.Sprintf("%d. ", len(v.Findings)+i+1), &v.More[i], color)
	}
	for _, p := range v.Changed {
		line("\n" + bold(plain.Escape(p.Title), color))
		for text := range strings.Lines(p.Text) {
			ink := map[byte]string{'+': green, '-': red, '@': cyan}[text[0]]
			line("  " + paint(plain.Escape(strings.TrimSuffix(text, "\n")), ink, color && ink != ""))
		}
	}
	if v.Unshown != nil {
		line(v.Unshown[0] + ": " + plain.Escape(v.Unshown[1]))
	}
	for i := range v.Folds {
		if err := fold(&b, &v.Folds[i], color); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// finding prints a finding, and below it the command that shows more where it has no room.
func finding(b *strings.Builder, number string, l *review.Line, color bool) {
	b.WriteString(number + paint(l.Sign, signInks[l.Sign], color) + " " + bold(plain.Escape(l.Path), color))
	if l.Others > 0 {
		b.WriteString(" and " + plain.Counted(l.Others, "other"))
	}
	if l.Step != "" {
		b.WriteString(", step " + plain.Escape(l.Step))
	}
	more := " · " + l.Command
	if l.ID != "" {
		more += " · " + l.ID
	}
	b.WriteString(": " + plain.Escape(l.Words) + paint(plain.Escape(more), dim, color) + "\n")
}

// rows prints a table whose first row has the names of the columns.
func rows(b *strings.Builder, list [][]string, color bool) error {
	var t table
	for i, row := range list {
		if i == 0 {
			t.header(row...)
			continue
		}
		cells := make([]cell, len(row))
		for k, words := range row {
			cells[k].text = plain.Escape(words)
		}
		t.add(cells...)
	}
	return t.write(b, "", color)
}

// fold prints a notebook and those that follow it.
func fold(b *strings.Builder, f *review.Fold, color bool) error {
	b.WriteString("\n" + paint(f.Sign, signInks[f.Sign], color) + " " + bold(plain.Escape(f.Path), color) + ": " +
		plain.Escape(f.Summary()) + "\n")
	for _, note := range f.Notes() {
		b.WriteString("  " + paint(note.Sign, signInks[note.Sign], color) + " ")
		if note.Subject != "" && note.Subject != f.Path {
			b.WriteString(plain.Escape(note.Subject) + ": ")
		}
		b.WriteString(plain.Escape(note.Words) + "\n")
	}
	if err := rows(b, f.Table, color); err != nil {
		return err
	}
	if f.Compared() {
		if err := Sections(b, f.Diff, f.Sections(), color); err != nil {
			return err
		}
	}
	for i := range f.Members {
		if err := fold(b, &f.Members[i], color); err != nil {
			return err
		}
	}
	return nil
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

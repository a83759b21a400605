package terminal

import (
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/plain"
)

// Diff prints a comparison, nothing if both sides are equal.
func Diff(w io.Writer, d *diff.Diff, color bool) error {
	return Sections(w, d, diffview.Sections(d), color)
}

// Sections prints sections of a comparison.
func Sections(w io.Writer, d *diff.Diff, list []diffview.Section, color bool) error {
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString(paint("--- "+plain.Escape(d.Old.Name), red, color) + "\n")
	b.WriteString(paint("+++ "+plain.Escape(d.New.Name), green, color) + "\n")
	for _, s := range list {
		if s.Name == diffview.Status {
			b.WriteString("status: " + paint(plain.Escape(s.Entries[0].Words),
				toneColor(s.Entries[0].Tone), color) + "\n")
			continue
		}
		b.WriteString("\n" + bold(s.Name, color))
		if s.Words != "" {
			b.WriteString(paint(" · "+s.Words, dim, color))
		}
		b.WriteByte('\n')
		for i := range s.Entries {
			diffEntry(&b, &s.Entries[i], color)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func bold(s string, on bool) string {
	if !on {
		return s
	}
	return lipgloss.NewStyle().Bold(true).Render(s)
}

func toneColor(t diffview.Tone) string {
	switch t {
	case diffview.Bad, diffview.Went:
		return red
	case diffview.Good, diffview.Came:
		return green
	}
	return yellow
}

func diffEntry(b *strings.Builder, e *diffview.Entry, color bool) {
	b.WriteString("  " + paint(e.Sign, toneColor(e.Tone), color) + " " + bold(plain.Escape(e.Subject), color))
	if e.Words != "" {
		b.WriteString(": " + plain.Escape(e.Words))
	}
	b.WriteByte('\n')
	for i := range e.Lines {
		diffLine(b, &e.Lines[i], color)
	}
}

func diffLine(b *strings.Builder, l *diffview.Line, color bool) {
	b.WriteString("    ")
	switch l.Mark {
	case '-':
		markedLine(b, l, red, color)
	case '+':
		markedLine(b, l, green, color)
	case ' ':
		b.WriteString("  " + plain.Escape(l.Text))
	default:
		b.WriteString(paint(string(l.Mark)+" "+plain.Escape(l.Text), dim, color))
	}
	b.WriteByte('\n')
}

// markedLine prints an added or removed line, with the changed words in reverse video if there is color.
func markedLine(b *strings.Builder, l *diffview.Line, ink string, color bool) {
	if !color {
		b.WriteString(string(l.Mark) + " " + plain.Escape(l.Text))
		return
	}
	b.WriteString(paint(string(l.Mark)+" ", ink, true))
	words := l.Words
	if words == nil && l.Text != "" {
		words = []diff.Segment{{Text: l.Text}}
	}
	for _, w := range words {
		style := lipgloss.NewStyle().Foreground(lipgloss.Color(ink)).TabWidth(lipgloss.NoTabConversion)
		b.WriteString(style.Reverse(w.Changed).Render(plain.Escape(w.Text)))
	}
}

package plain

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ansi"
)

// Escape is ansi.Escape.
func Escape(s string) string { return ansi.Escape(s) }

// Counted says "1 line", "1,234 lines".
func Counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// OneLine puts text on one line, with hidden characters visible.
func OneLine(s string) string { return Escape(strings.Join(strings.Fields(s), " ")) }

// Some lists the first names of many: "a, b and 7 more".
func Some[T ~string](names []T, most int) string {
	var b strings.Builder
	for i, name := range names[:min(most, len(names))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(name))
	}
	if len(names) > most {
		fmt.Fprintf(&b, " and %d more", len(names)-most)
	}
	return b.String()
}

// Cut is notebooks.Cut.
func Cut(s string, most int) string { return notebooks.Cut(s, most) }

// Grouped writes n with a comma between thousands.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// EscapeJSON is ansi.EscapeJSON.
func EscapeJSON(s string) string { return ansi.EscapeJSON(s) }

// Line is Escape(Resolve(raw)).
func Line(raw []byte) string { return Escape(Resolve(raw)) }

// Resolve returns what a terminal would show of one line (without its newline). It applies cursor movements and
// erasures within the line, and drops all other well-formed sequences (colors, titles, modes). The bytes of a
// sequence that does not end on the line stay, for Escape to show.
func Resolve(raw []byte) string {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	if !bytes.ContainsAny(raw, ansi.Effects) {
		return string(raw)
	}
	var l ansi.Line
	l.Write(raw, nil)
	return l.String()
}

// Rest is Line for the end of a line whose beginning is unknown. It drops everything before a carriage return;
// without one, nothing is moved or erased.
func Rest(raw []byte) string {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	if _, after, found := bytes.Cut(raw, []byte("\r")); found {
		return Line(after)
	}
	var b strings.Builder
	for len(raw) > 0 {
		kind, n := ansi.Next(raw, true)
		if kind == ansi.Text {
			b.Write(raw[:n])
		}
		raw = raw[n:]
	}
	return Escape(b.String())
}

// Size is a number of bytes in words.
func Size(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	case bytes < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// Shell quotes a word for a shell, where that is needed.
func Shell(word string) string {
	bare := strings.IndexFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("-_=.,:/+@", r))
	}) < 0
	if bare && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

package plain

import (
	"bytes"
	"strings"

	"markmill/notebooks/ansi"
)

// Line is Escape(Resolve(raw)).
func Line(raw []byte) string { return Escape(Resolve(raw)) }

// Resolve returns what a terminal would show of one line (without its newline) once it was printed
// whole. It carries out what moves within a line or erases it; all other well-formed sequences
// (colours, titles, modes) are dropped. A sequence that does not end on the line is no sequence: its
// bytes stay, for Escape to show.
func Resolve(raw []byte) string {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	if !bytes.ContainsAny(raw, ansi.Effects) {
		return string(raw)
	}
	var l ansi.Line
	l.Write(raw, nil)
	return l.String()
}

// Rest is Line for the end of a line whose beginning is not known, and so not where its text stood. What comes before a
// carriage return is left out; where there is none, nothing is moved or erased.
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

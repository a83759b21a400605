package plain

import (
	"bytes"
	"strings"

	"markmill/notebooks/ansi"
)

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

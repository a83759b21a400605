package plain

import "markmill/notebooks/ansi"

// Escape is ansi.Escape.
func Escape(s string) string { return ansi.Escape(s) }

// EscapeJSON is ansi.EscapeJSON.
func EscapeJSON(s string) string { return ansi.EscapeJSON(s) }

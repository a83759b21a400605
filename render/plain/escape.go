package plain

import (
	"fmt"
	"strconv"
	"strings"

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
func Some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Cut bounds a text to a number of characters, and marks that it was cut.
func Cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

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

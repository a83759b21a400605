package html

import (
	"fmt"
	"html"
	"markmill/render/plain"
	"strings"
)

// markup is HTML that is safe on a page: a constant of this package, or made by its functions. A string from a
// notebook is not markup, so unescaped text does not compile.
type markup string

// writer builds HTML.
type writer struct{ strings.Builder }

// put writes a format. %s takes text, which is escaped, or markup, which is not; %d takes a number.
func (w *writer) put(format markup, args ...any) {
	for i, arg := range args {
		switch a := arg.(type) {
		case markup, int, int64:
		case string:
			args[i] = escape(a)
		case fmt.Stringer:
			args[i] = escape(a.String())
		default:
			args[i] = escape(fmt.Sprint(a))
		}
	}
	if len(args) == 0 {
		w.WriteString(string(format))
		return
	}
	fmt.Fprintf(w, string(format), args...)
}

func (w *writer) markup() markup { return markup(w.String()) }

// escape escapes text for use between tags and in quoted attributes.
func escape(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// sprintf is put as a function.
func sprintf(format markup, args ...any) markup {
	var w writer
	w.put(format, args...)
	return w.markup()
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n < 10_000:
		return plain.Counted(n, "byte")
	case n < 10_000_000:
		return plain.Grouped((n+500)/1000) + " kB"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

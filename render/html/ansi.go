package html

import (
	"strconv"
	"strings"

	"markmill/notebooks/ansi"
	"markmill/render/plain"
)

// terminalText formats terminal output: colors and weights as spans, other sequences applied or dropped, hidden
// characters visible. Styles last across lines, as on a terminal.
func terminalText(text string) markup {
	var w writer
	var style ansiStyle
	var line ansi.Line
	for i, raw := range strings.Split(text, "\n") {
		if i > 0 {
			w.put("\n")
		}
		if strings.IndexByte(raw, 0x1b) < 0 {
			style.span(&w, plain.Line([]byte(raw)))
			continue
		}
		styles := []ansiStyle{style}
		line.Reset()
		line.Write([]byte(raw), func(codes string) {
			style.set(codes)
			styles = append(styles, style)
			line.Style = len(styles) - 1
		})
		for run, n := range line.Runs {
			styles[n].span(&w, plain.Escape(run))
		}
	}
	return w.markup()
}

// ansiStyle is the state that "select graphic rendition" sets (ECMA-48, 8.3.117). Colors count from 1; 0 is none.
type ansiStyle struct {
	fore, back                       int
	bold, dim, italic, under, strike bool
}

func (s *ansiStyle) span(w *writer, text string) {
	if text == "" {
		return
	}
	if *s == (ansiStyle{}) {
		w.put("%s", text)
		return
	}
	var classes []string
	for _, c := range []struct {
		on   bool
		name string
	}{{s.bold, "ab"}, {s.dim, "ad"}, {s.italic, "ai"}, {s.under, "au"}, {s.strike, "ak"},
		{s.fore > 0, "f" + strconv.Itoa(s.fore-1)}, {s.back > 0, "g" + strconv.Itoa(s.back-1)}} {
		if c.on {
			classes = append(classes, c.name)
		}
	}
	w.put(`<span class="%s">%s</span>`, strings.Join(classes, " "), text)
}

// flag returns what a number from 1 to 9 switches on, and that number plus 20 off; nil for any other.
func (s *ansiStyle) flag(n int) *bool {
	return map[int]*bool{1: &s.bold, 2: &s.dim, 3: &s.italic, 4: &s.under, 9: &s.strike}[n]
}

// set applies the numbers between ESC [ and m.
func (s *ansiStyle) set(codes string) {
	var list []int
	for _, c := range strings.FieldsFunc(codes, func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(c)
		if err != nil {
			return
		}
		list = append(list, n)
	}
	if len(list) == 0 {
		list = []int{0}
	}
	for i := 0; i < len(list); i++ {
		switch n := list[i]; {
		case n == 0:
			*s = ansiStyle{}
		case n == 22:
			s.bold, s.dim = false, false
		case s.flag(n) != nil:
			*s.flag(n) = true
		case n > 22 && s.flag(n-20) != nil:
			*s.flag(n - 20) = false
		case n == 39:
			s.fore = 0
		case n == 49:
			s.back = 0
		case n >= 30 && n <= 37:
			s.fore = n - 29
		case n >= 40 && n <= 47:
			s.back = n - 39
		case n >= 90 && n <= 97:
			s.fore = n - 81
		case n >= 100 && n <= 107:
			s.back = n - 91
		case n == 38 || n == 48:
			colour, used := extended(list[i+1:])
			if i += used; n == 38 {
				s.fore = colour
			} else {
				s.back = colour
			}
		}
	}
}

// charmbracelet/x/ansi converts such colors, too, but to the palette of a terminal and not to that of the page.

// extended reads a 256-color or 24-bit color, and returns the nearest of the page's 16 colors.
func extended(list []int) (colour, used int) {
	switch {
	case len(list) >= 2 && list[0] == 5:
		n := list[1]
		switch {
		case n < 0 || n > 255:
			return 0, 2
		case n < 16:
			return n + 1, 2
		case n >= 232:
			level := (n-232)*10 + 8
			return nearest(level, level, level), 2
		}
		n -= 16
		level := func(i int) int { return []int{0, 95, 135, 175, 215, 255}[i] }
		return nearest(level(n/36), level(n/6%6), level(n%6)), 2
	case len(list) >= 4 && list[0] == 2:
		return nearest(list[1], list[2], list[3]), 4
	}
	return 0, len(list)
}

func nearest(r, g, b int) int {
	palette := [16][3]int{
		{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
		{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255},
		{255, 255, 255},
	}
	best, at := 1<<30, 0
	for i, c := range palette {
		if d := (c[0]-r)*(c[0]-r) + (c[1]-g)*(c[1]-g) + (c[2]-b)*(c[2]-b); d < best {
			best, at = d, i
		}
	}
	return at + 1
}

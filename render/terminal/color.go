package terminal

import (
	"cmp"
	"os"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"markmill/render/view"
)

// Colors are the terminal's own sixteen, which its user made readable.
const (
	green  = "2"
	red    = "1"
	yellow = "3"
	cyan   = "6"
	dim    = "8"
)

func paint(s, color string, on bool) string {
	if !on || s == "" {
		return s
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(color)).Render(s)
}

func bold(s string, on bool) string {
	if !on {
		return s
	}
	return lipgloss.NewStyle().Bold(true).Render(s)
}

// inks are the colors of states.
var inks = map[string]string{"pass": green, "fail": red, "timeout": yellow, "skip": yellow, "edit": yellow}

// inkOf is the color of a run or a step by its status.
func inkOf(status string) string { return cmp.Or(inks[view.State(status)], yellow) }

// Detect chooses how to show progress on f. getenv reads the environment: a nonempty NO_COLOR (no-color.org)
// disables color; CI and TERM=dumb disable color and the live line.
func Detect(f *os.File, getenv func(string) string) Options {
	fd := int(f.Fd())
	tty := term.IsTerminal(fd) && getenv("TERM") != "dumb" && getenv("CI") == "" && enable(f)
	return Options{
		Terminal: tty,
		Color:    tty && getenv("NO_COLOR") == "",
		Width: func() int {
			if w, _, err := term.GetSize(fd); err == nil && w > 0 {
				return w
			}
			return 80
		},
	}
}

package terminal

import (
	"os"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"markmill/runs"
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

func stepColor(s runs.StepStatus) string {
	switch s {
	case runs.StepPassed, runs.StepAllowed:
		return green
	case runs.StepFailed, runs.StepTimeout:
		return red
	default:
		return yellow
	}
}

func statusColor(s runs.Status) string {
	switch s {
	case runs.Pass:
		return green
	case runs.Fail, runs.Interrupted:
		return red
	default:
		return yellow
	}
}

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

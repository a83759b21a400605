package main

import (
	"fmt"
	"io"
	"strings"

	"markmill/render/plain"
)

// tell prints a message on standard error. What is put into the format stays on its line, and no character of it
// reaches the terminal that would change how the message is read: any bytes can be the name of a file.
func (a *app) tell(format string, args ...any) { _ = say(a.stderr, format, args...) }

// say is tell on another stream.
func say(w io.Writer, format string, args ...any) error {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = plain.Escape(arg)
		case error:
			args[i] = escapeLines(arg.Error())
		case fmt.Stringer:
			args[i] = plain.Escape(arg.String())
		case int, int64, bool:
		default:
			args[i] = plain.Escape(fmt.Sprint(arg))
		}
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// escapeLines makes the characters visible that a terminal would act on, but for the line ends: a list of mistakes has
// several lines.
func escapeLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = plain.Escape(line)
	}
	return strings.Join(lines, "\n")
}

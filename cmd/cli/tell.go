package cli

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"markmill/render/plain"
)

// tell prints a message on standard error. Arguments are escaped, so that they stay on their line and cannot control
// the terminal: the name of a file can be any bytes.
func (con *console) tell(format string, args ...any) { _ = say(con.stderr, format, args...) }

// say is tell for another stream.
func say(w io.Writer, format string, args ...any) error {
	for i, arg := range args {
		switch arg := arg.(type) {
		case int, int64, bool:
		case error:
			args[i] = escapeLines(arg.Error())
		default:
			args[i] = plain.Escape(fmt.Sprint(arg))
		}
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// escapeLines escapes control characters except line ends: a list of mistakes has several lines.
func escapeLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = plain.Escape(line)
	}
	return strings.Join(lines, "\n")
}

// onGitHub reports whether the program runs in a workflow of GitHub Actions.
func (con *console) onGitHub() bool { return con.env("GITHUB_ACTIONS") == "true" }

// withoutCommands wraps text so that GitHub Actions finds no workflow commands in it: it contains what steps printed.
// The word that ends the wrapping is random, so that the text cannot contain it.
func withoutCommands(random io.Reader, text string) string {
	var token [16]byte
	if _, err := io.ReadFull(random, token[:]); err != nil {
		return strings.ReplaceAll(text, "::", ": :")
	}
	word := hex.EncodeToString(token[:])
	return "::stop-commands::" + word + "\n" + text + "::" + word + "::\n"
}

package program

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"markmill/render/plain"
)

// Line prints text of a run on standard error, with control characters made visible.
func (a *App) Line(text string) { fmt.Fprintln(a.Stderr, "markmill: "+plain.Line([]byte(text))) }

// CommandLine writes a command as a shell reads it.
func CommandLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = plain.Shell(w)
	}
	return plain.Escape(strings.Join(out, " "))
}

// Tell prints a message on standard error. Arguments are escaped, so that they stay on their line and cannot control
// the terminal: the name of a file can be any bytes.
func (con *Console) Tell(format string, args ...any) { _ = Say(con.Stderr, format, args...) }

// Say is tell for another stream.
func Say(w io.Writer, format string, args ...any) error {
	for i, arg := range args {
		switch arg := arg.(type) {
		case int, int64, bool:
		case error:
			args[i] = EscapeLines(arg.Error())
		default:
			args[i] = plain.Escape(fmt.Sprint(arg))
		}
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// EscapeLines escapes control characters except line ends: a list of mistakes has several lines.
func EscapeLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = plain.Escape(line)
	}
	return strings.Join(lines, "\n")
}

// OnGitHub reports whether the program runs in a workflow of GitHub Actions.
func (con *Console) OnGitHub() bool { return con.Env("GITHUB_ACTIONS") == "true" }

// WithoutCommands wraps text so that GitHub Actions finds no workflow commands in it: it contains what steps printed.
// The word that ends the wrapping is random, so that the text cannot contain it.
func WithoutCommands(random io.Reader, text string) string {
	var token [16]byte
	if _, err := io.ReadFull(random, token[:]); err != nil {
		return strings.ReplaceAll(text, "::", ": :")
	}
	word := hex.EncodeToString(token[:])
	return "::stop-commands::" + word + "\n" + text + "::" + word + "::\n"
}

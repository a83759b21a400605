package program

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"markmill/cmd/internal/views"
	"markmill/notebooks"
	"markmill/render/plain"
)

// Flatten lists the errors that an error joins.
func Flatten(err error) []*notebooks.Error {
	var list notebooks.ErrorList
	var one *notebooks.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*notebooks.Error
		for _, e := range joined.Unwrap() {
			all = append(all, Flatten(e)...)
		}
		slices.SortStableFunc(all, func(a, b *notebooks.Error) int { return cmp.Compare(a.Line, b.Line) })
		return all
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list) && len(list) > 0:
		return list
	case errors.As(err, &one):
		return []*notebooks.Error{one}
	}
	return []*notebooks.Error{{Kind: notebooks.KindInternal, Msg: err.Error(), Err: err}}
}

// PrintJSON prints an object for programs (api.Document). A command prints one, so a later error goes to standard error
// only.
func (con *Console) PrintJSON(document string, v any) error {
	text, err := views.Document(document, v)
	if err != nil {
		return err
	}
	con.printed = true
	if term.IsTerminal(int(con.Stdout.Fd())) {
		text = []byte(plain.EscapeJSON(string(text)))
	}
	_, err = con.Stdout.Write(text)
	return err
}

// SchemaLine is room for the line that PrintJSON adds.
const SchemaLine = 64

// JSONFlag is the option of a command that can print one document.
func JSONFlag(c *cobra.Command, to *bool, document string) {
	c.Flags().BoolVar(to, "json", false, JSONWords(document))
}

func JSONWords(document string) string {
	return "print one JSON object (docs/schemas/" + document + ".json)"
}

// WantsJSON reports whether a command line asks for JSON. It looks at the words, because the flag package stops at the
// first wrong option.
func WantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// Errors is the document of a command that failed.
type Errors struct {
	Error    Mistake   `json:"error"`  // the first of Errors
	Errors   []Mistake `json:"errors"` // at least one
	ExitCode int       `json:"exit_code"`
}

// Mistake is one error.
type Mistake struct {
	Kind    string `json:"kind"` // of notebooks.Kind, or usage
	File    string `json:"file,omitzero"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
	Step    string `json:"step,omitzero"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
}

// errorDocument is the document of a command that failed.
func errorDocument(err error) Errors {
	doc := Errors{ExitCode: ExitOf(err)}
	for _, e := range Flatten(err) {
		kind := string(e.Kind)
		if e.Kind == notebooks.KindInternal && doc.ExitCode == ExitUsage {
			kind = "usage"
		}
		doc.Errors = append(doc.Errors, Mistake{Kind: kind, File: e.File, Line: e.Line, Column: e.Col,
			Step: string(e.Step), Message: e.Msg, Hint: e.Hint})
	}
	doc.Error = doc.Errors[0]
	return doc
}

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

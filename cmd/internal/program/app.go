package program

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/files"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/outfile"
)

// App is the program, as every command is given it.
type App struct {
	*World
	Console
	Places
	input
	ParamHints
}

// World is what the program has of the outside.
type World struct {
	Stdin          io.Reader
	Stdout, Stderr *os.File
	Getenv         func(string) (string, bool)
	Now            func() time.Time
	Random         io.Reader
	exports        *exports
	files.Folder                // of the words of the command line
	most           int64        // bytes of a notebook; 0 is what its form may have
	Force          bool         // the person at the terminal insists: see ForceFlag
	held           outfile.Held // where outputs go, in a command that makes several runs
	Repo           string       // the folder that --repo names: see RepoFlag
	Actor          string       // the person for whom the user acts; "" is the user
	Server         *Server      // nil in markmill
}

// Env is a variable of the environment, "" where it is not set.
func (w *World) Env(name string) string {
	value, _ := w.Getenv(name)
	return value
}

// Console prints: results on standard output, messages on standard error.
type Console struct {
	*World
	JSON    bool // the command line asks for JSON: errors are printed as JSON, too
	printed bool // a JSON document has been printed
}

// Places knows where records, caches and repositories are.
type Places struct{ *World }

// input reads the files and addresses that the user names.
type input struct{ *World }

// ParamHints are what messages say about parameters. ParamArgs collects them: -p NAME and the value that it took, and
// -p NAME=VALUE and the word after it.
type ParamHints struct{ joined, before [][2]string }

func New() *App {
	return of(&World{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.LookupEnv, Now: time.Now,
		Random: rand.Reader, exports: &exports{}, held: outfile.Held{}, Actor: takeActor()})
}

func of(w *World) *App {
	return &App{World: w, Console: Console{World: w}, Places: Places{w}, input: input{w}}
}

// In is the program of a server: words name what is in a folder, whatever the working directory is, and a notebook has
// at most files.MaxNotebook bytes, of whatever form, because reading takes up to thirty times as many.
func (a *App) In(folder string) *App {
	w := *a.World
	w.Folder, w.Repo, w.most, w.held = files.Folder(folder), "", files.MaxNotebook, outfile.Held{}
	return of(&w)
}

// Report prints an error and returns its exit code.
func (con *Console) Report(err error) int {
	var code Exit
	if err == nil {
		return ExitPass
	}
	if errors.As(err, &code) {
		return int(code)
	}
	for line := range strings.SplitSeq(EscapeLines(err.Error()), "\n") {
		fmt.Fprintln(con.Stderr, "markmill: "+line)
	}
	if con.JSON && !con.printed {
		if printErr := con.PrintJSON("error", errorDocument(err)); printErr != nil {
			fmt.Fprintln(con.Stderr, "markmill: "+printErr.Error())
		}
	}
	return ExitOf(err)
}

// Args checks the number of positional arguments. Its error lists what the command takes.
func Args(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if len(given) >= least && (most < 0 || len(given) <= most) {
			return nil
		}
		takes := strings.TrimSpace(strings.TrimPrefix(c.Use, c.Name()))
		if takes == "" {
			takes = "no arguments"
		}
		got := "nothing"
		if len(given) > 0 {
			got = fmt.Sprintf("%d: %s", len(given), strings.Join(given, " "))
		}
		return Usagef("%s takes %s, and got %s; see %s --help", c.CommandPath(), takes, got, c.CommandPath())
	}
}

// takeActor is the person of the workbench for whom this program was started. Nothing that it starts is told.
func takeActor() string {
	actor := os.Getenv(child.ActorVariable)
	_ = os.Unsetenv(child.ActorVariable) // it fails for names that are none
	if !runs.IsPerson(actor) {
		return ""
	}
	return actor
}

// Detect says what a stream can show.
func (con *Console) Detect(f *os.File) terminal.Options {
	return terminal.Detect(f, con.Env)
}

// Colour reports whether a stream gets colour: it is a terminal, and no setting forbids it.
func (con *Console) Colour(f *os.File) bool { return con.Detect(f).Color }

// Shown lets write write to standard output. On a terminal what others wrote controls nothing there.
func (con *Console) Shown(write func(io.Writer) error) error {
	if !term.IsTerminal(int(con.Stdout.Fd())) {
		return write(con.Stdout)
	}
	w := plain.NewWriter(con.Stdout)
	return errors.Join(write(w), w.Close())
}

// ShownText is shown for a text.
func (con *Console) ShownText(text []byte) error {
	return con.Shown(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Terminal reports whether a stream is a terminal that a person reads.
func (con *Console) Terminal(f *os.File) bool {
	if con.Env("TERM") == "dumb" && runtime.GOOS != "windows" {
		return false
	}
	return term.IsTerminal(int(f.Fd()))
}

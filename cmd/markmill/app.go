package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
)

// app is what every command is handed: the outside world and where things are kept.
type app struct {
	stdin          io.Reader
	stdout, stderr *os.File
	getenv         func(string) (string, bool)
	now            func() time.Time
	random         io.Reader

	// What paramArgs saw, for messages: -p NAME and the value that it took, and -p NAME=VALUE and what stands behind
	// it.
	joined, before [][2]string

	json    bool // the command line asks for JSON: errors are told as JSON, too
	printed bool // a JSON document is printed
}

func newApp() *app {
	return &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.LookupEnv, now: time.Now, random: rand.Reader}
}

// Exit codes. 128+n stands for an end by signal n.
const (
	exitPass    = 0
	exitFail    = 1
	exitUsage   = 2 // unreadable notebook, bad parameter, unknown option: nothing ran
	exitBlocked = 3
)

// exit is an error that is only an exit code: what there was to say has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run runs one command line and returns its exit code.
func (a *app) run(args []string) int {
	root := a.root()
	a.json = wantsJSON(args)
	var err error
	if isCompletion(args) {
		a.completions(root)
		var values string
		if args, values = a.completionArgs(args); values != "" {
			return a.report(a.completeValue(args, values))
		}
	} else {
		args, err = a.paramArgs(args)
	}
	if err == nil {
		root.SetArgs(args)
		err = root.Execute()
	}
	return a.report(err)
}

// report prints an error and returns its exit code.
func (a *app) report(err error) int {
	var code exit
	if err == nil {
		return exitPass
	}
	if errors.As(err, &code) {
		return int(code)
	}
	for line := range strings.SplitSeq(escapeLines(err.Error()), "\n") {
		fmt.Fprintln(a.stderr, "markmill: "+line)
	}
	if a.json && !a.printed {
		if printErr := a.printJSON("error", newJSONError(err)); printErr != nil {
			fmt.Fprintln(a.stderr, "markmill: "+printErr.Error())
		}
	}
	return exitOf(err)
}

// exitOf is the exit code that an error stands for.
func exitOf(err error) int {
	var list notebooks.ErrorList
	var one *notebooks.Error
	switch {
	case errors.As(err, &list), errors.As(err, new(trouble)):
		return exitUsage
	case errors.As(err, &one):
		switch one.Kind {
		case notebooks.KindArtifact, notebooks.KindRecord, notebooks.KindInternal:
			return exitFail
		case notebooks.KindProvider:
			return exitBlocked
		}
		return exitUsage
	case errors.As(err, new(usage)):
		return exitUsage
	}
	return exitFail
}

// usage is a mistake in the command line itself.
type usage struct{ error }

func usagef(format string, args ...any) error {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = plain.Escape(text)
		}
	}
	return usage{fmt.Errorf(format, args...)}
}

// root is the command table.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "markmill",
		Short: "Run Markdown notebooks against a Git worktree and keep the proof",
		Long: `Markmill runs a Markdown notebook step by step, in live interpreters, inside an isolated
Git worktree, and leaves an output notebook and a record that a stranger can verify.

Exit codes: 0 pass, 1 fail, 2 usage (nothing ran), 3 blocked, 128+n ended by signal n.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if asked, err := c.Flags().GetBool("version"); asked || err != nil {
				return errors.Join(err, a.printVersion())
			}
			return c.Help()
		},
	}
	cmd.Flags().Bool("version", false, "say which build this is")
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.SetGlobalNormalizationFunc(dashes)
	cmd.SetFlagErrorFunc(flagHint)
	cmd.SetHelpFunc(a.help)
	for _, add := range []func() *cobra.Command{
		a.runCommand, a.showCommand, a.inspectCommand, a.checkCommand, a.newCommand, a.stripCommand, a.testCommand, a.doctorCommand, a.gitCommand, a.diffCommand, a.reviewCommand, a.convertCommand, a.mergeCommand, a.runsCommand, a.scrapsCommand, a.approveCommand, a.denyCommand,
		a.versionCommand, a.manCommand, a.agentsTopic,
	} {
		cmd.AddCommand(add())
	}
	return cmd
}

// knownCommand names the nearest command to one that there is not.
func knownCommand(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	var known []string
	for _, sub := range c.Commands() {
		known = append(known, sub.Name())
	}
	if near := notebooks.Suggest(words[0], known); near != "" {
		return usagef("unknown command %s; did you mean %s?", words[0], near)
	}
	return usagef("unknown command %s; there are: %s", words[0], strings.Join(known, ", "))
}

// args checks the number of positional arguments, and says what they are when it is wrong.
func args(least, most int) cobra.PositionalArgs {
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
		return usagef("%s takes %s, and got %s; see %s --help", c.CommandPath(), takes, got, c.CommandPath())
	}
}

// store is where the runs of a repository are kept; root is "" outside one.
func (a *app) store(root string) runs.Store {
	if dir, ok := a.getenv("MARKMILL_DIR"); ok && dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		return runs.Store{Dir: dir}
	}
	if root != "" {
		return runs.Store{Dir: filepath.Join(root, ".markmill")}
	}
	return runs.Store{Dir: filepath.Join(a.userDir("XDG_STATE_HOME", ".local/state"), "markmill")}
}

// rootOf is the root of a repository, "" outside one.
func rootOf(src *worktree.Source) string {
	if src == nil {
		return ""
	}
	return src.Root()
}

// userDir is a folder of the XDG base directory specification.
func (a *app) userDir(variable, fallback string) string {
	if dir, ok := a.getenv(variable); ok && filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, filepath.FromSlash(fallback))
}

// cache is where worktrees of runs are. A run inside a step has it in that step's temporary folder: the
// sandbox of the step lets nothing be written where the runs of others are.
func (a *app) cache() string {
	if depth, ok := a.getenv("MARKMILL_DEPTH"); ok && depth != "" {
		return filepath.Join(os.TempDir(), "markmill")
	}
	return filepath.Join(a.userDir("XDG_CACHE_HOME", ".cache"), "markmill")
}

// engine is an engine with the settings of the repository at root.
func (a *app) engine(root string) (*engine.Engine, error) {
	cfg, err := engine.LoadConfig(root)
	if err != nil {
		return nil, err
	}
	tools, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &engine.Engine{Version: version().Version, Config: cfg, Store: a.store, Cache: a.cache(),
		Tools: tools, Getenv: a.getenv, Now: a.now, Random: a.random, User: userName()}, nil
}

// userName is who runs this, by the system; a system that does not say leaves it unknown.
func userName() string {
	who, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return who.Username
}

// engineFor finds the repository that a notebook works on and its engine: the one that was named,
// or the one around the working directory, or the one around the notebook, or none.
func (a *app) engineFor(notebook, named string) (*engine.Engine, *worktree.Source, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	places := []string{wd}
	if named != "" {
		places = []string{named}
	} else if notebook != "-" && !remote.Is(notebook) {
		places = append(places, filepath.Dir(notebook))
	}
	for _, place := range places {
		if place, err = filepath.Abs(place); err != nil {
			return nil, nil, err
		}
		src, err := worktree.Open(place)
		switch {
		case err == nil:
			eng, err := a.engine(src.Root())
			if err == nil {
				eng.Source = src
			}
			return eng, src, err
		case !errors.Is(err, worktree.ErrNoRepository):
			return nil, nil, err
		}
	}
	if named != "" {
		return nil, nil, usagef("--repo %s: there is no Git repository", named)
	}
	eng, err := a.engine("")
	return eng, nil, err
}

// detect says how progress may be shown on a stream.
func (a *app) detect(f *os.File) terminal.Options {
	return terminal.Detect(f, func(name string) string { v, _ := a.getenv(name); return v })
}

// colour says whether a stream gets colour: a terminal, and nobody said no.
func (a *app) colour(f *os.File) bool { return a.detect(f).Color }

// terminal says whether a person reads a stream.
func (a *app) terminal(f *os.File) bool {
	if v, _ := a.getenv("TERM"); v == "dumb" && runtime.GOOS != "windows" {
		return false
	}
	return term.IsTerminal(int(f.Fd()))
}

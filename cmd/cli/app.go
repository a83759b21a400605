package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"markmill/cmd/api"
	"markmill/cmd/api/bisect"
	"markmill/cmd/markmill/child"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/outfile"
)

// app is the program, as every command is given it.
type app struct {
	*world
	console
	places
	input
	paramHints
}

// world is what the program has of the outside.
type world struct {
	stdin          io.Reader
	stdout, stderr *os.File
	getenv         func(string) (string, bool)
	now            func() time.Time
	random         io.Reader
	exports        exports
	force          bool         // the person at the terminal insists: see forceFlag
	held           outfile.Held // where outputs go, in a command that makes several runs
	actor          string       // the person for whom the user acts; "" is the user
	server         *Server      // nil in markmill
}

// env is a variable of the environment, "" where it is not set.
func (w *world) env(name string) string {
	value, _ := w.getenv(name)
	return value
}

// console prints: results on standard output, messages on standard error.
type console struct {
	*world
	json    bool // the command line asks for JSON: errors are printed as JSON, too
	printed bool // a JSON document has been printed
}

// places knows where records, caches and repositories are.
type places struct{ *world }

// input reads the files and addresses that the user names.
type input struct{ *world }

// paramHints are what messages say about parameters. paramArgs collects them: -p NAME and the value that it took, and
// -p NAME=VALUE and the word after it.
type paramHints struct{ joined, before [][2]string }

func newApp() *app {
	w := &world{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.LookupEnv, now: time.Now, random: rand.Reader, held: outfile.Held{}, actor: takeActor()}
	return &app{world: w, console: console{world: w}, places: places{w}, input: input{w}}
}

// Exit codes. 128+n stands for an end by signal n.
const (
	exitPass    = 0
	exitFail    = 1
	exitUsage   = 2 // unreadable notebook, bad parameter, unknown option: nothing ran
	exitBlocked = 3
	exitDecide  = 4 // no objection, and a person must decide
)

// exit is an error that is only an exit code: its message has been printed.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// passIf is the result of a command whose exit code 1 is an answer.
func passIf(ok bool) error {
	if ok {
		return nil
	}
	return exit(exitFail)
}

// endWith is the result of a command that ends with an exit code.
func endWith(code int) error {
	if code == exitPass {
		return nil
	}
	return exit(code)
}

// run runs one command line and returns its exit code.
func (a *app) run(args []string) int {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	root := a.root(first)
	if a.server == nil {
		for _, c := range root.Commands() {
			if slices.Contains(serverCommands, c.Name()) {
				a.startsServer(c, args)
			}
		}
	}
	a.json = wantsJSON(args)
	var err error
	if isCompletion(args) {
		complete := completion{a}
		complete.register(root)
		var values string
		if args, values = complete.join(args); values != "" {
			return a.report(complete.printValues(args, values))
		}
	} else {
		args, err = a.paramArgs(args)
	}
	if err == nil {
		root.SetArgs(args)
		err = root.Execute()
	}
	a.exported()
	return a.report(err)
}

// report prints an error and returns its exit code.
func (con *console) report(err error) int {
	var code exit
	if err == nil {
		return exitPass
	}
	if errors.As(err, &code) {
		return int(code)
	}
	for line := range strings.SplitSeq(escapeLines(err.Error()), "\n") {
		fmt.Fprintln(con.stderr, "markmill: "+line)
	}
	if con.json && !con.printed {
		if printErr := con.printJSON("error", errorDocument(err)); printErr != nil {
			fmt.Fprintln(con.stderr, "markmill: "+printErr.Error())
		}
	}
	return exitOf(err)
}

// exitOf is the exit code of an error.
func exitOf(err error) int {
	var list notebooks.ErrorList
	var one *notebooks.Error
	switch {
	case errors.Is(err, bisect.ErrUntestable):
		return exitBlocked
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

// root is the command table. It has all commands, unless only names one that needs no other: a start need not build the
// options and texts of the others.
func (a *app) root(only string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "markmill",
		Short: "Run Markdown notebooks in a Git worktree and keep the evidence",
		Long: `Markmill runs a Markdown notebook step by step, in live interpreters, inside an isolated Git worktree. It
writes an output notebook and a record that anybody can verify.

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
	cmd.Flags().Bool("version", false, "print which build this is")
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.SetGlobalNormalizationFunc(dashes)
	cmd.SetFlagErrorFunc(flagHint)
	cmd.SetHelpFunc(a.help)
	all := map[string]func() *cobra.Command{
		"run": a.runCommand, "show": a.showCommand, "inspect": a.inspectCommand, "check": a.checkCommand,
		"new": a.newCommand, "strip": a.stripCommand, "test": a.testCommand, "doctor": a.doctorCommand,
		"git": a.gitCommand, "diff": a.diffCommand, "review": a.reviewCommand, "convert": a.convertCommand,
		"merge": a.mergeCommand, "runs": a.runsCommand, "scraps": a.scrapsCommand, "approve": a.approveCommand,
		"deny": a.denyCommand, "version": a.versionCommand, "man": a.manCommand, "agents": a.agentsCommand,
		"bisect": a.bisectCommand, "status": a.statusCommand, "gate": a.gateCommand, "watch": a.watchCommand,
		"mcp": a.mcpCommand, "serve": a.serveCommand, "summary": a.summaryCommand, "lanes": a.lanesCommand,
		"schedule": a.scheduleCommand, "scheduler": a.schedulerCommand,
		"submit": a.submitCommand, "worker": a.workerCommand, "jobs": a.jobsCommand,
		"alerts": a.alertsCommand, "slo": a.sloCommand, "digest": a.digestCommand,
	}
	if a.server != nil {
		cmd.Long = "markmill-server has the commands of markmill that a team runs. markmill starts it with their words."
		maps.DeleteFunc(all, func(name string, _ func() *cobra.Command) bool {
			return !slices.Contains(serverCommands, name)
		})
		all["run"] = func() *cobra.Command { // of a sweep whose rows are jobs
			c := a.runCommand()
			c.Hidden = true
			return c
		}
	}
	if add := all[only]; add != nil && only != "man" {
		cmd.AddCommand(add())
		return cmd
	}
	for _, add := range all { // cobra sorts them
		cmd.AddCommand(add())
	}
	return cmd
}

// knownCommand suggests a command for one that does not exist.
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

// args checks the number of positional arguments. Its error lists what the command takes.
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

// store is the store of a repository, nil outside one, unless a branch may have brought it.
func (p *places) store(repo *worktree.Source) (runs.Store, error) {
	store := p.storeAt(api.RootOf(repo))
	return store, repo.CheckStore(store.Dir)
}

// storeAt is where the runs of a repository are kept; root is "" outside one.
func (p *places) storeAt(root string) runs.Store {
	if dir := p.env("MARKMILL_DIR"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		return runs.Store{Dir: dir}
	}
	if root != "" {
		return runs.Store{Dir: filepath.Join(root, ".markmill")}
	}
	return runs.Store{Dir: filepath.Join(p.userDir("XDG_STATE_HOME", ".local/state"), "markmill")}
}

// userDir is a folder of the XDG base directory specification.
func (p *places) userDir(variable, fallback string) string {
	if dir := p.env(variable); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, filepath.FromSlash(fallback))
}

// cache is the folder of the worktrees of runs. A run inside a step uses that step's temporary folder: the sandbox of
// the step allows no writes where other runs are.
func (p *places) cache() string {
	if p.env("MARKMILL_DEPTH") != "" {
		return filepath.Join(os.TempDir(), "markmill")
	}
	return filepath.Join(p.userDir("XDG_CACHE_HOME", ".cache"), "markmill")
}

// engine makes an engine with the settings of the repository at root.
func (p *places) engine(root string) (*engine.Engine, error) {
	cfg, err := engine.LoadConfig(root)
	if err != nil {
		return nil, err
	}
	tools, err := p.program()
	if err != nil {
		return nil, err
	}
	return &engine.Engine{Version: version().Version, Config: cfg, Store: p.storeAt, Cache: p.cache(),
		Tools: tools, Getenv: p.getenv, Now: p.now, Random: p.random, User: p.userName(), Ended: p.exporter()}, nil
}

// userName is the name of the user, "unknown" when the system does not say, and before it that of a person for whom the
// user acts.
func (w *world) userName() string {
	name := "unknown"
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	if w.actor != "" {
		return runs.Via(w.actor, name)
	}
	return name
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

// engineFor finds the repository that a notebook works on, and makes its engine. The repository is the one that was
// named, or else the one around the working directory, or else the one around the notebook, or none.
func (p *places) engineFor(notebook, named string) (*engine.Engine, *worktree.Source, error) {
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
			eng, err := p.engine(src.Root())
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
	eng, err := p.engine("")
	return eng, nil, err
}

// detect says what a stream can show.
func (con *console) detect(f *os.File) terminal.Options {
	return terminal.Detect(f, con.env)
}

// colour reports whether a stream gets colour: it is a terminal, and no setting forbids it.
func (con *console) colour(f *os.File) bool { return con.detect(f).Color }

// shown lets write write to standard output. On a terminal what others wrote controls nothing there.
func (con *console) shown(write func(io.Writer) error) error {
	if !term.IsTerminal(int(con.stdout.Fd())) {
		return write(con.stdout)
	}
	w := plain.NewWriter(con.stdout)
	return errors.Join(write(w), w.Close())
}

// shownText is shown for a text.
func (con *console) shownText(text []byte) error {
	return con.shown(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// terminal reports whether a stream is a terminal that a person reads.
func (con *console) terminal(f *os.File) bool {
	if con.env("TERM") == "dumb" && runtime.GOOS != "windows" {
		return false
	}
	return term.IsTerminal(int(f.Fd()))
}

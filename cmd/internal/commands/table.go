package commands

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/queue"
	"markmill/cmd/markmill-server/serve"
	"markmill/cmd/markmill/agent"
	"markmill/cmd/markmill/apply"
	"markmill/cmd/markmill/approve"
	"markmill/cmd/markmill/check"
	"markmill/cmd/markmill/convert"
	"markmill/cmd/markmill/diff"
	"markmill/cmd/markmill/doctor"
	"markmill/cmd/markmill/git"
	"markmill/cmd/markmill/health"
	"markmill/cmd/markmill/list"
	"markmill/cmd/markmill/man"
	"markmill/cmd/markmill/mcp"
	"markmill/cmd/markmill/new"
	"markmill/cmd/markmill/notebook"
	"markmill/cmd/markmill/resume"
	"markmill/cmd/markmill/review"
	"markmill/cmd/markmill/run"
	"markmill/cmd/markmill/runs"
	"markmill/cmd/markmill/schedule"
	"markmill/cmd/markmill/show"
	"markmill/cmd/markmill/status"
	"markmill/cmd/markmill/test"
	"markmill/cmd/markmill/verify"
	"markmill/cmd/markmill/version"
)

// execute runs one command line and returns its exit code.
func execute(a *program.App, args []string) int {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	root := Root(a, first)
	if a.Server == nil {
		startsServer(a, root, args)
	}
	a.JSON = program.WantsJSON(args)
	var err error
	if isCompletion(args) {
		complete := completion{a}
		complete.register(root)
		var values string
		if args, values = complete.join(args); values != "" {
			return a.Report(complete.printValues(args, values))
		}
	} else if err = help.UnknownCommand(root, args); err == nil {
		args, err = a.ParamArgs(args)
	}
	if err == nil {
		root.SetArgs(args)
		err = root.Execute()
	}
	a.Exported()
	return a.Report(err)
}

// Root is the command table. It has all commands, unless only names one that needs no other: a start need not build the
// options and texts of the others.
func Root(a *program.App, only string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "markmill",
		Short: "Run Markdown notebooks in a Git worktree and keep the evidence",
		Long: `Markmill runs a Markdown notebook step by step, in live interpreters, inside an isolated Git worktree. It
writes an output notebook and a record that anybody can verify.

Exit codes: 0 pass, 1 fail, 2 usage (nothing ran), 3 blocked, 4 to be decided, 128+n ended by signal n.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: help.KnownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if asked, err := c.Flags().GetBool("version"); asked || err != nil {
				return errors.Join(err, a.PrintVersion())
			}
			return c.Help()
		},
	}
	cmd.Flags().Bool("version", false, "print which build this is")
	cmd.SetOut(a.Stdout)
	cmd.SetErr(a.Stderr)
	cmd.SetGlobalNormalizationFunc(program.Dashes)
	cmd.SetFlagErrorFunc(help.FlagHint)
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetHelpFunc(func(c *cobra.Command, p1 []string) { help.Print(&a.Console, c, p1) })
	all := commands()
	if a.Server != nil {
		cmd.Long = "markmill-server has the commands of markmill that a team runs. markmill starts it with their words."
		maps.DeleteFunc(all, func(name string, _ func(*program.App) *cobra.Command) bool { return !servesBelow(name) })
	}
	if add := all[only]; add != nil && only != "man" {
		cmd.AddCommand(add(a))
		return cmd
	}
	for _, add := range all { // cobra sorts them
		cmd.AddCommand(add(a))
	}
	return cmd
}

// commands are the constructors of the commands and groups of commands, by name.
func commands() map[string]func(*program.App) *cobra.Command {
	return map[string]func(*program.App) *cobra.Command{
		"new": new.Command, "check": check.Command, "convert": convert.Command,
		"run": run.Command, "resume": resume.Command, "test": test.Command,
		"list": list.Command, "show": show.Command, "diff": diff.Command, "status": status.Command,
		"verify": verify.Command,
		"review": review.Command, "approve": approve.Command, "deny": approve.DenyCommand, "apply": apply.Command,
		"revert": apply.RevertCommand,
		"serve":  serve.Command, "doctor": doctor.Command,

		"runs": runs.Command, "queue": queue.Command, "schedule": schedule.Command, "health": health.Command,
		"agent": agent.Command, "notebook": notebook.Command, "git": git.Command,

		"mcp": hidden(mcp.Command), "man": hidden(man.Command), "version": hidden(version.Command),
	}
}

// hidden makes a command that --help does not list: plumbing, which other programs call.
func hidden(command func(*program.App) *cobra.Command) func(*program.App) *cobra.Command {
	return func(a *program.App) *cobra.Command {
		c := command(a)
		c.Hidden = true
		return c
	}
}

// serverCommands are the commands of markmill-server, with all below them. approve and deny start it for a job, resume
// for a sweep whose rows are jobs.
var serverCommands = []string{"queue", "schedule serve", "health alerts", "serve"}

// servesBelow reports whether markmill-server has a command of this name, or one below it.
func servesBelow(path string) bool {
	return path == "approve" || path == "deny" || path == "resume" || slices.ContainsFunc(serverCommands, func(
		s string) bool {
		return s == path || strings.HasPrefix(s, path+" ")
	})
}

// startsServer has the commands of markmill-server start it with the words of this command line.
func startsServer(a *program.App, c *cobra.Command, words []string) {
	for _, sub := range c.Commands() {
		path := strings.TrimPrefix(sub.CommandPath(), sub.Root().Name()+" ")
		if sub.Runnable() && slices.ContainsFunc(serverCommands, func(s string) bool {
			return s == path || strings.HasPrefix(path, s+" ")
		}) {
			sub.RunE = func(*cobra.Command, []string) error { return a.BecomeServer(words) }
		}
		startsServer(a, sub, words)
	}
}

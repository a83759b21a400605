package git

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/notebook/strip"
	"markmill/render/plain"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("git", "set up Git for notebooks: readable diffs, merges by step, no outputs in commits",
		"Sets up Git for notebooks: diffs that can be read, merges by step, and commits without outputs.",
		gitInstallCommand(a), gitUninstallCommand(a), gitStatusCommand(a), gitFilterCommand(a), gitTextCommand(a))
}

// gitSetupFlags adds the options that say where Git is set up.
func gitSetupFlags(a *program.App, c *cobra.Command) *Setup {
	s := &Setup{ConfigHome: a.UserDir("XDG_CONFIG_HOME", ".config")}
	f := c.Flags()
	f.BoolVar(&s.Global, "global", false, "for all repositories of this user, not only this one")
	f.StringVar(&s.Attributes, "attributes", "",
		"the attributes file (default .git/info/attributes; with --global, Git's core.attributesFile)")
	return s
}

func gitInstallCommand(a *program.App) *cobra.Command {
	var markdown []string
	c := &cobra.Command{
		Use: "install", Short: "Install Git's diff driver, merge driver and clean filter for notebooks",
		Long: `Sets up Git for notebooks, in this repository or, with --global, for this user:

- git diff, git log -p and git show print a Jupyter notebook as text, without counts, ids and session metadata;
- git difftool -t markmill shows the output of markmill diff;
- git merge, rebase, cherry-pick and stash pop merge notebooks by step (markmill notebook merge): Jupyter notebooks, and
  Markdown under notebooks/;
- Jupyter notebooks under notebooks/ are committed without outputs (markmill notebook strip), by a filter that is one
  process for each command of Git; the files themselves keep theirs. An output notebook in Markdown is committed
  as it is, unless --markdown names it.

The options of markmill notebook strip are passed to the filter. Installing again keeps what --markdown named before;
markmill git uninstall reverts it. Notebooks that were committed with outputs show as changed when they are
touched: git add --renormalize notebooks adds them all again.`,
		Example: "  markmill git install\n  markmill git install --global\n" +
			"  markmill git install --attributes .gitattributes --keep-count\n" +
			"  markmill git install --markdown 'notebooks/**/*.md'",
		Args: program.Args(0, 0),
	}
	setup := gitSetupFlags(a, c)
	c.Flags().StringArrayVar(&markdown, "markdown", nil,
		"also keep the outputs of these Markdown notebooks out of commits: a pattern of an attributes file; repeatable")
	own := pflag.NewFlagSet("filter", pflag.ContinueOnError)
	options := strip.StripFlags(own)
	c.Flags().AddFlagSet(own)
	c.RunE = func(*cobra.Command, []string) error {
		if err := options.Settle(); err != nil {
			return err
		}
		return gitInstall(a, setup, changedFlags(own), markdown)
	}
	return c
}

// changedFlags are the flags that were given, as words of a shell.
func changedFlags(f *pflag.FlagSet) string {
	var b strings.Builder
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		b.WriteString(" " + plain.Shell("--"+flag.Name+"="+value))
	})
	return b.String()
}

func gitInstall(a *program.App, setup *Setup, filterFlags string, markdown []string) error {
	executable, err := gitProgram()
	if err != nil {
		return err
	}
	for _, pattern := range markdown {
		if !ValidPattern(pattern) {
			return program.Usagef("--markdown %q is no pattern of an attributes file; give one such as "+
				"notebooks/**/*.md",
				pattern)
		}
	}
	other := ""
	if !setup.Global {
		other = OtherFilter()
	}
	file, err := setup.Install(executable, filterFlags, markdown)
	if err != nil {
		return gitError(err)
	}
	if other != "" {
		a.Tell("markmill: notebooks have the filter %s in this repository; under notebooks/ the filter markmill "+
			"replaces it\n", other)
	}
	patterns := append([]string{"*.ipynb", "notebooks/**/*.md"}, markdown...)
	return program.Say(a.Stdout, "Git calls %s for %s, %s; --markdown PATTERN names others; the lines are in %s\n",
		executable, strings.Join(slices.Compact(patterns), ", "), where(setup), file)
}

// gitError makes a missing repository a mistake in the command line.
func gitError(err error) error {
	if errors.Is(err, ErrNoRepository) {
		return program.Usagef("%w; with --global Git is set up for all repositories of this user", err)
	}
	return err
}

func gitUninstallCommand(a *program.App) *cobra.Command {
	c := &cobra.Command{
		Use: "uninstall", Short: "Remove what install wrote to Git's configuration",
		Long: `Removes the settings and attributes that markmill git install wrote, and the attributes file when install
made it and nothing else is in it. Give it the same --global and --attributes.`,
		Example: "  markmill git uninstall\n  markmill git uninstall --global",
		Args:    program.Args(0, 0),
	}
	setup := gitSetupFlags(a, c)
	c.RunE = func(*cobra.Command, []string) error {
		removed, err := setup.Uninstall()
		switch {
		case err != nil:
			return gitError(err)
		case !removed:
			return program.Say(a.Stdout, "there was nothing to remove, %s\n", where(setup))
		}
		return program.Say(a.Stdout, "Git no longer calls Markmill, %s\n", where(setup))
	}
	return c
}

func gitStatusCommand(a *program.App) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show whether Git is set up for notebooks, and what is missing",
		Long: `Shows what is in Git's configuration and in the attributes file.

Exit codes: 0 it is set up, 1 something is missing.`,
		Example: "  markmill git status",
		Args:    program.Args(0, 0),
	}
	setup := gitSetupFlags(a, c)
	c.RunE = func(*cobra.Command, []string) error {
		entries, err := setup.Status()
		if err != nil {
			return gitError(err)
		}
		missing := 0
		for _, e := range entries {
			if !e.OK {
				missing++
			}
			if err := program.Say(a.Stdout, "%s: %s\n", e.Name, e.State); err != nil {
				return err
			}
		}
		if missing == 0 {
			return nil
		}
		err = program.Say(a.Stdout, "not set up, %s: %d missing; markmill git install sets it up\n", where(setup),
			missing)
		return errors.Join(err, program.Exit(program.ExitFail))
	}
	return c
}

func where(s *Setup) string {
	if s.Global {
		return "for this user"
	}
	return "in this repository"
}

// gitProgram is how Git's configuration names this program: as markmill when that is what the PATH finds, so that an
// update or another machine changes nothing, else by its path.
func gitProgram() (string, error) {
	self, onPath, err := program.OwnPath()
	if onPath {
		return "markmill", nil
	}
	return plain.Shell(filepath.ToSlash(self)), err
}

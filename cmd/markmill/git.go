package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/api/files"
)

func (a *app) gitCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "git", Short: "Teach Git about notebooks: diffs that can be read, outputs that stay out of commits",
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, add := range []func() *cobra.Command{a.gitInstallCommand, a.gitUninstallCommand, a.gitStatusCommand, a.gitFilterCommand, a.gitTextCommand} {
		c.AddCommand(add())
	}
	return c
}

// gitSetup is where Git is taught: the repository or the user's own configuration.
type gitSetup struct {
	global     bool
	attributes string // the file; "" is the usual one

	markdown []string // patterns of Markdown whose outputs stay out of commits
}

func (s *gitSetup) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.global, "global", false, "for all repositories of this user, not only this one")
	f.StringVar(&s.attributes, "attributes", "", "the attributes file (default .git/info/attributes; with --global, Git's core.attributesFile)")
}

// settings is what stands in Git's configuration. Each names the program and what Git asks it for.
func gitSettings(program, filterFlags string) []gitSetting {
	return []gitSetting{
		{"filter.markmill.process", program + " git filter" + filterFlags},
		{"filter.markmill.required", "true"},
		{"diff.markmill.textconv", program + " git textconv"},
		{"diff.markmill.xfuncname", gitHeading},
		// Git gives the file of the checkout to textconv as it lies there, outputs and all, and the blob beside it has
		// none.
		{"diff.markmill-source.textconv", program + " git textconv --strip" + filterFlags},
		{"diff.markmill-source.xfuncname", gitHeading},
		{"difftool.markmill.cmd", program + ` diff "$LOCAL" "$REMOTE"`},
		{"merge.markmill.name", "notebooks by step"},
		{"merge.markmill.driver", program + " merge --driver %O %A %B %L %P %S %X %Y"},
	}
}

// gitMarkdownSettings are those of the filter for Markdown. It is a filter of its own: earlier versions gave all
// Markdown under notebooks/ to the other one, which took the outputs out of output notebooks that were meant to be
// committed.
func gitMarkdownSettings(program, filterFlags string) []gitSetting {
	return []gitSetting{
		{"filter." + markdownFilter + ".process", program + " git filter --markdown" + filterFlags},
		{"filter." + markdownFilter + ".required", "true"},
	}
}

const markdownFilter = "markmill-markdown"

// markdownLine is the line of the attributes file for Markdown that was named.
func markdownLine(pattern string) string {
	if strings.ContainsAny(pattern, " \t\"") {
		pattern = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(pattern) + `"`
	}
	return pattern + " filter=" + markdownFilter
}

// markdownLines are such lines of a file, as they stand there.
func markdownLines(attributes []byte) (lines []string) {
	if start, end, ok := findAttributes(attributes); ok {
		for line := range strings.Lines(string(attributes[start:end])) {
			if line = strings.TrimRight(line, "\r\n"); strings.HasSuffix(line, " filter="+markdownFilter) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// gitHeading finds the lines of a text that Git names a hunk by: the headings of cells.
const gitHeading = "^## .*$"

type gitSetting struct{ name, value string }

// gitAttributes are the lines of the attributes file: the outputs of Jupyter notebooks stay out of commits under
// notebooks/ only; elsewhere, as under runs/, a notebook is committed as it is. Outputs in Markdown are made to be
// committed.
var gitAttributes = []string{
	"*.ipynb diff=markmill merge=markmill",
	"notebooks/**/*.ipynb filter=markmill diff=markmill-source",
	"notebooks/**/*.md merge=markmill",
}

func (a *app) gitInstallCommand() *cobra.Command {
	var setup gitSetup
	c := &cobra.Command{
		Use: "install", Short: "Set up Git's diff driver, merge driver and clean filter for notebooks",
		Long: `Sets up Git for notebooks, in this repository or, with --global, for this user:

- git diff, git log -p and git show print a Jupyter notebook as a text, without counts, ids and session metadata;
- git difftool -t markmill shows what markmill diff says;
- git merge, rebase, cherry-pick and stash pop merge notebooks by step (markmill merge): Jupyter notebooks, and Markdown under notebooks/;
- Jupyter notebooks that are committed under notebooks/ have no outputs (markmill strip), as a filter that is one process for each command of
  Git; the files themselves keep theirs. An output notebook in Markdown is committed as it is, unless --markdown names it.

The options of markmill strip are given to the filter. Doing it again keeps what --markdown named before; markmill git uninstall takes it back.
Notebooks that were committed with outputs show as changed when they are touched: git add --renormalize notebooks takes all up anew.`,
		Example: "  markmill git install\n  markmill git install --global\n  markmill git install --attributes .gitattributes --keep-count\n  markmill git install --markdown 'notebooks/**/*.md'",
		Args:    args(0, 0),
	}
	setup.flags(c.Flags())
	c.Flags().StringArrayVar(&setup.markdown, "markdown", nil, "a pattern of Markdown notebooks whose outputs stay out of commits, too, as in an attributes file (may be repeated)")
	own := pflag.NewFlagSet("filter", pflag.ContinueOnError)
	options := stripFlags(own)
	c.Flags().AddFlagSet(own)
	c.RunE = func(*cobra.Command, []string) error {
		if err := options.settle(); err != nil {
			return err
		}
		return a.gitInstall(setup, changedFlags(own))
	}
	return c
}

// changedFlags spells the flags that were given, for a shell.
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
		b.WriteString(" " + shellWord("--"+flag.Name+"="+value))
	})
	return b.String()
}

// shellWord quotes a word where a shell would take it apart.
func shellWord(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_=.,:/+@", r))
	}) < 0
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (a *app) gitInstall(setup gitSetup, filterFlags string) error {
	program, err := a.gitProgram()
	if err != nil {
		return err
	}
	file, err := a.attributesFile(setup)
	if err != nil {
		return err
	}
	if !setup.global {
		a.tellOtherFilter()
	}
	old, err := readAttributes(file)
	if err != nil {
		return err
	}
	named := markdownLines(old)
	for _, pattern := range setup.markdown {
		if pattern == "" || strings.ContainsAny(pattern, "\r\n") || pattern[0] == '!' || pattern[0] == '#' {
			return usagef("--markdown %q is no pattern of an attributes file; give one such as notebooks/**/*.md", pattern)
		}
		if line := markdownLine(pattern); !slices.Contains(named, line) {
			named = append(named, line)
		}
	}
	settings := gitSettings(program, filterFlags)
	if len(named) > 0 {
		settings = append(settings, gitMarkdownSettings(program, filterFlags)...)
	}
	for _, s := range settings {
		if _, err := git("config", setup.scope(), "--replace-all", s.name, s.value); err != nil {
			return err
		}
	}
	if err := writeAttributes(file, slices.Concat(gitAttributes, named)); err != nil {
		return err
	}
	_ = say(a.stdout, "Git calls %s for notebooks, %s; the lines are in %s\n", program, setup.where(), file)
	return nil
}

// tellOtherFilter says when notebooks have had another filter here: the one set last wins.
func (a *app) tellOtherFilter() {
	out, err := git("check-attr", "filter", "--", "notebooks/a.ipynb")
	if err != nil {
		return
	}
	_, filter, _ := strings.Cut(strings.TrimSpace(out), ": filter: ")
	switch filter {
	case "unspecified", "unset", "set", "markmill", "":
	default:
		a.tell("markmill: notebooks have the filter %s in this repository; under notebooks/ the filter markmill takes its place\n", filter)
	}
}

func (a *app) gitUninstallCommand() *cobra.Command {
	var setup gitSetup
	c := &cobra.Command{
		Use: "uninstall", Short: "Take out of Git's configuration what install put there",
		Long: `Takes the settings and the attributes that markmill git install wrote out again; an attributes file that it made and that is
empty then goes, too. Give it the same --global and --attributes.`,
		Example: "  markmill git uninstall\n  markmill git uninstall --global",
		Args:    args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return a.gitUninstall(setup) },
	}
	setup.flags(c.Flags())
	return c
}

func (a *app) gitUninstall(setup gitSetup) error {
	file, err := a.attributesFile(setup)
	if err != nil {
		return err
	}
	had := false
	for _, s := range append(gitSettings("", ""), gitMarkdownSettings("", "")...) {
		_, err := git("config", setup.scope(), "--unset-all", s.name)
		var failed *exec.ExitError
		switch {
		case err == nil:
			had = true
		case errors.As(err, &failed) && failed.ExitCode() == 5: // it was not there
		default:
			return err
		}
	}
	removed, err := removeAttributes(file)
	if err != nil {
		return err
	}
	if !had && !removed {
		_ = say(a.stdout, "there was nothing to take out, %s\n", setup.where())
		return nil
	}
	_ = say(a.stdout, "Git no longer calls Markmill, %s\n", setup.where())
	return nil
}

func (a *app) gitStatusCommand() *cobra.Command {
	var setup gitSetup
	c := &cobra.Command{
		Use: "status", Short: "Say whether Git is set up for notebooks, and what is missing",
		Long: `Says what stands in Git's configuration and in the attributes file.

Exit codes: 0 it is set up, 1 something is missing.`,
		Example: "  markmill git status",
		Args:    args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return a.gitStatus(setup) },
	}
	setup.flags(c.Flags())
	return c
}

func (a *app) gitStatus(setup gitSetup) error {
	file, err := a.attributesFile(setup)
	if err != nil {
		return err
	}
	lines, err := readAttributes(file)
	if err != nil {
		return err
	}
	missing, settings, named := 0, gitSettings("", ""), markdownLines(lines)
	if len(named) > 0 {
		settings = append(settings, gitMarkdownSettings("", "")...)
	}
	for _, s := range settings {
		value, err := git("config", setup.scope(), "--get", s.name)
		if err != nil {
			missing++
			value = "not set"
		}
		_ = say(a.stdout, "%s: %s\n", s.name, strings.TrimSpace(value))
	}
	for _, want := range slices.Concat(gitAttributes, named) {
		state := "missing"
		if bytes.Contains(lines, []byte(want+"\n")) {
			state = "there"
		} else {
			missing++
		}
		_ = say(a.stdout, "%s: %s: %s\n", file, want, state)
	}
	if missing > 0 {
		_ = say(a.stdout, "not set up, %s: %d missing; markmill git install sets it up\n", setup.where(), missing)
		return exit(exitFail)
	}
	return nil
}

func (s gitSetup) scope() string {
	if s.global {
		return "--global"
	}
	return "--local"
}

func (s gitSetup) where() string {
	if s.global {
		return "for this user"
	}
	return "in this repository"
}

// gitProgram is how Git's configuration names this program: as markmill where that is what the PATH finds, as git-lfs
// does, so that an update or another machine changes nothing; else by its whole path.
func (a *app) gitProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("markmill"); err == nil && files.Same(found, self) {
		return "markmill", nil
	}
	return shellWord(filepath.ToSlash(self)), nil
}

// git runs Git and gives what it printed.
func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the program git is not on the PATH")
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %s: %w", strings.Join(args, " "), strings.TrimSpace(stderr.String()), err)
	}
	return stdout.String(), nil
}

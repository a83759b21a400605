package help

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"markmill/cmd/internal/program"
	pages "markmill/docs"
)

// ForAgents is docs/for-agents.md.
var ForAgents = pages.ForAgents

// Group is a heading of a help text, and the commands or options under it.
type Group struct {
	Title string
	Names []string
}

// commandGroups are the headings of markmill --help, and moreCommands that of the groups of further commands.
var (
	commandGroups = []Group{
		{"Write", []string{"new", "check", "convert"}},
		{"Run", []string{"run", "resume", "test"}},
		{"Look", []string{"list", "show", "diff", "status", "verify"}},
		{"Decide", []string{"review", "approve", "deny", "apply", "revert"}},
		{"Serve", []string{"serve", "doctor"}},
	}
	moreCommands = Group{"Groups of further commands (markmill help GROUP)",
		[]string{"runs", "queue", "schedule", "health", "agent", "notebook", "git"}}
)

// visibleCommands are the names of the commands and groups that markmill --help lists.
func visibleCommands() (names []string) {
	for _, g := range append(slices.Clone(commandGroups), moreCommands) {
		names = append(names, g.Names...)
	}
	return names
}

// RunGroups are the headings of markmill run --help, and of every command that has many of its options.
var RunGroups = []Group{
	{"The question", []string{"good", "bad", "scrap", "step"}},
	{"Values", []string{"parameters", "parameters-raw", "parameters-file", "parameters-yaml", "parameters-base64",
		"matrix", "table"}},
	{"What runs", []string{"at", "notebook", "only", "from", "until", "skip-tag", "attempts", "backend", "outdated",
		"watch", "help-notebook", "marked", "as-committed", "anew"}},
	{"Where it runs", []string{"repo", "base", "dirty", "in-place", "branch", "keep-worktree", "kernel"}},
	{"The job", []string{"key", "queue", "label", "after", "priority", "retries", "wait", "follow"}},
	{"The worker", []string{"drain", "lease", "sandbox", "warm", "schedule", "launch", "launch-count", "image",
		"secret", "print"}},
	{"The workbench", []string{"listen", "role", "tokens", "cert", "host", "proxy", "proxy-header",
		"webhook-secret"}},
	{"A NATS server", []string{"files", "nats", "nats-ca", "nats-cert", "nats-creds", "nats-key", "replicas"}},
	{"Results", []string{"help-all", "json", "log-output", "frozen", "reuse", "jobs", "force", "execution-timeout",
		"run-timeout",
		"update", "sanitize-with", "junit", "annotate"}},
	{"More of what runs", []string{"allow-unknown-parameters", "language", "start-timeout", "allow-errors",
		"drop-damaged", "copy", "data", "tree", "cwd", "no-output"}},
	{"More of attempts and sweeps", []string{"pick", "judge-once", "include", "exclude", "max-runs", "max-failures",
		"fail-fast"}},
	{"More of results", []string{"timings", "events", "stdout-file", "stderr-file", "progress-bar", "no-progress-bar",
		"no-log-output", "log-level"}},
	{"papermill's", []string{"engine", "prepare-only", "prepare-execute", "report-mode", "no-report-mode",
		"inject-paths", "inject-input-path", "inject-output-path"}},
}

// laterOptions are the options of a command that only --help-all shows, of run and of what has many of its options.
var laterOptions = func() (names []string) {
	for _, g := range RunGroups[len(RunGroups)-4:] {
		names = append(names, g.Names...)
	}
	return append(names, "parameters-yaml", "parameters-base64", "parameters-raw", "force", "run-timeout",
		"keep-worktree", "reuse", "frozen")
}()

// StripGroups are those of strip, and of git install, which takes its options.
var StripGroups = []Group{
	{"Actions", []string{"check", "stdout", "json", "mode"}},
	{"Scope", []string{"global", "attributes", "repo"}},
	{"Markdown", []string{"markdown", "drop-damaged"}},
	{"Jupyter notebooks", []string{"keep-output", "keep-count", "number-ids", "drop-empty-cells", "strip-init-cells",
		"max-size", "extra-keys", "keep-metadata-keys", "drop-tagged-cells", "keep-output-type", "drop-output-type"}},
}

// ReviewGroups are those of review.
var ReviewGroups = []Group{
	{"The verdict", []string{"fail-on", "require", "merge"}},
	{"The base's judges", []string{"judge", "judge-limit", "show-judges", "accept", "reason", "parameters"}},
	{"What is compared", []string{"repo", "all", "tolerance"}},
	{"What is printed", []string{"markdown", "json", "html", "explain", "max-bytes"}},
}

// listGroups are those of list.
var listGroups = []Group{
	{"Which runs", []string{"repo", "notebook", "status", "param", "scrap", "since", "until", "base", "limit", "sort"}},
	{"Other answers", []string{"stats", "query", "format", "output", "timeout"}},
	{"What is printed", []string{"json"}},
}

// OptionGroups are the headings for the options of a command; none where it has few.
func OptionGroups(c *cobra.Command) []Group {
	switch c.CommandPath() {
	case "markmill run", "markmill resume", "markmill test", "markmill notebook bisect", "markmill queue submit",
		"markmill queue worker", "markmill serve":
		return RunGroups
	case "markmill notebook strip", "markmill git install":
		return StripGroups
	case "markmill review":
		return ReviewGroups
	case "markmill list":
		return listGroups
	}
	return nil
}

// grouped sorts names under headings, and returns the rest.
func grouped(groups []Group, has func(name string) bool, all []string) (out []Group, rest []string) {
	rest = slices.Clone(all)
	for _, g := range groups {
		var there []string
		for _, name := range g.Names {
			if has(name) {
				there = append(there, name)
				rest = slices.DeleteFunc(rest, func(other string) bool { return other == name })
			}
		}
		if len(there) > 0 {
			out = append(out, Group{g.Title, there})
		}
	}
	return out, rest
}

// Print prints the help of a command: its text, its usage, and its options under headings.
func Print(con *program.Console, c *cobra.Command, _ []string) {
	width := 0
	if con.Terminal(con.Stdout) {
		width, _, _ = term.GetSize(int(con.Stdout.Fd()))
	}
	writeHelp(c.OutOrStdout(), c, width)
}

// helpWidth is the width of help that is not printed on a narrower terminal.
const helpWidth = 120

func writeHelp(w io.Writer, c *cobra.Command, width int) {
	if width <= 0 || width > helpWidth {
		width = helpWidth
	}
	var b strings.Builder
	whole, _ := c.Flags().GetBool(HelpAll) // false where there is no such option
	b.WriteString(Text(c, whole) + "\n")
	if isTopic(c) {
		helpCommands(&b, c)
		io.WriteString(w, b.String())
		return
	}
	b.WriteString("\nUsage:\n")
	if c.Runnable() && c.HasParent() {
		b.WriteString("  " + c.UseLine() + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("  " + c.CommandPath() + " COMMAND\n")
	}
	if c.Example != "" {
		b.WriteString("\nExamples:\n" + c.Example + "\n")
	}
	helpCommands(&b, c)
	helpOptions(&b, c, width, whole)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n`%s COMMAND --help` describes a command", c.CommandPath())
		b.WriteString(".\n")
	}
	io.WriteString(w, b.String())
}

// isTopic reports whether the help of a command is a text to be read, though there may be commands below it.
func isTopic(c *cobra.Command) bool {
	return c.IsAdditionalHelpTopicCommand() || c.Name() == "guide"
}

// helpCommands lists the commands below a command.
func helpCommands(b *strings.Builder, c *cobra.Command) {
	byName := map[string]*cobra.Command{}
	var all []string
	wide := 0
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			byName[sub.Name()] = sub
			all = append(all, sub.Name())
			wide = max(wide, len(sub.Name()))
		}
	}
	if len(all) == 0 {
		return
	}
	out := []Group{{"Commands", all}}
	if !c.HasParent() && byName["run"] != nil {
		var rest []string
		out, rest = grouped(append(slices.Clone(commandGroups), moreCommands),
			func(name string) bool { return byName[name] != nil }, all)
		if len(rest) > 0 {
			out = append(out, Group{"Other commands", rest})
		}
	}
	for _, g := range out {
		fmt.Fprintf(b, "\n%s:\n", g.Title)
		for _, name := range g.Names {
			fmt.Fprintf(b, "  %-*s  %s\n", wide, name, byName[name].Short)
		}
	}
}

// HelpAll is the option that shows every option of a command which has many.
const HelpAll = "help-all"

// More is the annotation of a command that holds what only --help-all says of it, and its documentation.
const More = "more"

// Text is what the help of a command says before the usage.
func Text(c *cobra.Command, whole bool) string {
	text := strings.TrimSpace(c.Long)
	if text == "" {
		return c.Short
	}
	more := c.Annotations[More]
	if more == "" || !whole {
		return text
	}
	before, codes, _ := strings.Cut(text, "\n\nExit codes:")
	return before + "\n\n" + more + "\n\nExit codes:" + codes
}

// HelpAllFlag adds --help-all to a command with many options.
func HelpAllFlag(c *cobra.Command) {
	c.Flags().Bool(HelpAll, false, "show all options, papermill's among them")
}

// ShownOptions are the options of a command by name, and their names in groups: every option, or without whole those
// that most people need. untitled is the title of the options of a command that has no groups.
func ShownOptions(c *cobra.Command, untitled string, whole bool) (all map[string]*pflag.Flag, out []Group) {
	all = map[string]*pflag.Flag{}
	var names []string
	whole = whole || c.Flags().Lookup(HelpAll) == nil
	add := func(f *pflag.Flag) {
		if !f.Hidden && all[f.Name] == nil && (whole || !slices.Contains(laterOptions, f.Name)) {
			all[f.Name] = f
			names = append(names, f.Name)
		}
	}
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	out, rest := grouped(OptionGroups(c), func(name string) bool { return all[name] != nil }, names)
	if len(rest) > 0 {
		if len(out) > 0 {
			untitled = "Other options"
		}
		out = append(out, Group{untitled, rest})
	}
	return all, out
}

// helpOptions lists the options of a command. pflag counts bytes, so a "…" is one byte until its columns are made.
func helpOptions(b *strings.Builder, c *cobra.Command, width int, whole bool) {
	all, out := ShownOptions(c, "Options", whole)
	for _, g := range out {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.Names {
			f := *all[name]
			f.Usage = strings.ReplaceAll(f.Usage, "…", "\x01")
			set.AddFlag(&f)
		}
		fmt.Fprintf(b, "\n%s:\n%s", g.Title, strings.ReplaceAll(set.FlagUsagesWrapped(width), "\x01", "…"))
	}
}

// runInstead says what does in run what these options do in other programs.
var runInstead = []struct{ options, words string }{
	{"timeout", "--execution-timeout limits each step that sets no timeout of its own, --run-timeout the whole run"},
	{"dry-run n dryrun plan", "markmill check --show NOTEBOOK shows what would run, markmill check NOTEBOOK what " +
		"would be refused; --prepare-only writes OUTPUT with the parameters and runs nothing"},
	{"o output out output-file", "OUTPUT is the second argument: markmill run NOTEBOOK OUTPUT"},
	{"param params set arg args", "-p NAME=VALUE gives a parameter"},
	{"q quiet silent s", "--no-progress-bar shows no progress, --log-level ERROR only errors"},
	{"v verbose d debug", "--log-output shows what the steps print; markmill show last --log prints it afterwards"},
	{"tags tag exclude skip", "--only takes ids of steps, and --skip-tag skips the steps with a tag"},
	{"resume continue", "markmill resume RUN continues an interrupted or failed run or sweep"},
	{"queue", "markmill queue submit NOTEBOOK makes a job of it, with --matrix one of each run"},
	{"params-table", "--table FILE runs each row of a table"},
	{"backends", "--backend NAME,… compares agents"},
	{"step steps", "--only ID,… runs only these steps; --from ID and --until ID run a part"},
	{"allow-dirty include-dirty", "--dirty include copies uncommitted changes into the worktree"},
	{"env e", "the notebook lists the variables of its steps: env: in the front matter, or env= of a step"},
}

// instead says what does what an option of other programs does; "" for an unknown one.
func instead(c *cobra.Command, name string) string {
	switch path := strings.TrimPrefix(c.CommandPath(), "markmill "); {
	case path == "notebook scraps" || path == "runs attest" || path == "list": // they have --output
		return ""
	case path == "run" || path == "resume" || path == "test" && name == "timeout":
		for _, i := range runInstead {
			if slices.Contains(strings.Fields(i.options), name) {
				return i.words
			}
		}
	case path == "new" && name == "kind":
		return "KIND is the first argument: markmill new KIND NAME"
	case path == "convert" && slices.Contains([]string{"o", "output", "out", "output-file"}, name):
		return "OUTPUT is the second argument: markmill convert NOTEBOOK OUTPUT"
	}
	switch name {
	case "color", "no-color", "colour":
		return "NO_COLOR=1 in the environment turns colours off; they are on when standard output is a terminal"
	case "format":
		if c.Flags().Lookup("json") != nil {
			return "--json prints one JSON object"
		}
	}
	return ""
}

// GroupOf makes a group of commands: with no command behind it, it prints its help.
func GroupOf(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, Args: KnownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

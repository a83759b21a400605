package commands

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/markmill/convert"
	reviewcmd "markmill/cmd/markmill/review"
	"markmill/engine"
	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/sheet"
	"markmill/runs"
)

// Completion is asked for at every press of a key: it reads little, starts no program, and skips what it cannot read.

// completer is what cobra asks for the values of an option or an argument.
type completer = func(c *cobra.Command, words []string, prefix string) ([]string, cobra.ShellCompDirective)

// completion answers the questions of shells.
type completion struct{ *program.App }

const (
	completeBytes = 4 << 20 // of a notebook
	completeRuns  = 50
)

// register adds the completion of values to the whole tree of commands.
func (a completion) register(root *cobra.Command) {
	at := func(path string) *cobra.Command {
		c, _, err := root.Find(strings.Fields(path))
		if err != nil {
			return &cobra.Command{}
		}
		return c
	}
	source := []string{"md", "ipynb", "qmd", "Rmd", "py", "R", "jl", "sh"}
	for _, path := range []string{"run", "check", "test", "convert", "notebook strip", "notebook merge",
		"notebook bisect"} {
		at(path).ValidArgsFunction = filesEnding(source)
	}
	for _, path := range []string{"show", "notebook scraps", "diff", "verify"} {
		at(path).ValidArgsFunction = a.runsOr(-1)
	}
	for _, path := range []string{"convert", "resume"} {
		at(path).ValidArgsFunction = a.runsOr(1)
	}
	for _, path := range []string{"runs abort", "apply", "revert", "runs attest", "approve", "deny"} {
		at(path).ValidArgsFunction = a.onlyRuns(1)
	}
	at("new").ValidArgsFunction = words("task\ta change and its test", "health\tmeasure, report, alert",
		"agent\ta coding agent implements, tests decide", "observatory\tchecks of a machine and its services")
	at("list").ValidArgsFunction = words()
	for _, option := range []struct {
		commands []string
		name     string
		complete completer
	}{
		{[]string{"run"}, "only", listed(ofNotebook(stepIDs))},
		{[]string{"run"}, "from", ofNotebook(stepIDs)},
		{[]string{"run"}, "until", ofNotebook(stepIDs)},
		{[]string{"run"}, "skip-tag", listed(ofNotebook(tags))},
		{[]string{"notebook bisect"}, "step", ofNotebook(stepIDs)},
		{[]string{"show"}, "log", a.stepsOfRun},
		{[]string{"resume"}, "at", a.stepsOfRun},
		{[]string{"run", "test", "resume", "notebook bisect"}, "parameters", parameters},
		{[]string{"run", "test", "notebook bisect"}, "parameters-raw", parameters},
		{[]string{"run", "test", "notebook bisect"}, "parameters-file", filesEnding([]string{"yaml", "yml", "json"})},
		{[]string{"run", "test"}, "kernel", listing(cobra.ShellCompDirectiveDefault, a.kernels)},
		{[]string{"run"}, "backend", listed(listing(cobra.ShellCompDirectiveDefault, a.admitted))},
		{[]string{"run"}, "pick", words(notebooks.Picks...)},
		{[]string{"run"}, "language", words(languages("")...)},
		{[]string{"run"}, "engine", words("markmill", "nbclient")},
		{[]string{"run", "test"}, "tree", words(runs.TreeMounted, runs.TreeSeparate)},
		{[]string{"run", "test"}, "dirty",
			words("ignore\tleave uncommitted changes out", "include\tcopy them into the worktree",
				"block\trefuse to run")},
		{[]string{"run", "resume"}, "log-level",
			words("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET")},
		{[]string{"run", "test"}, "base", listing(cobra.ShellCompDirectiveDefault, a.revisions)},
		{[]string{"run"}, "branch", words()},
		{[]string{"convert"}, "to", words(convert.FormNames...)},
		{[]string{"notebook scraps", "list"}, "format", words(sheet.Formats...)},
		{[]string{"diff"}, "format", words("nbdime", "csv")},
		{[]string{"review"}, "fail-on", listed(words(append(reviewcmd.ConditionWords(review.Conditions), "none")...))},
	} {
		for _, path := range option.commands {
			c := at(path)
			if c.Flags().Lookup(option.name) != nil {
				// The only error is a missing option, which was checked.
				_ = c.RegisterFlagCompletionFunc(option.name, option.complete)
			}
		}
	}
}

// filesEnding completes names of files that end so, and folders.
func filesEnding(endings []string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

// listing completes words, and never names of files. Text after a tab describes a word.
func listing(how cobra.ShellCompDirective, list func(args []string) []string) completer {
	return func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		out := beginning(list(args), prefix)
		if len(out) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return out, how | cobra.ShellCompDirectiveNoFileComp
	}
}

// words completes fixed words.
func words(all ...string) completer {
	return listing(cobra.ShellCompDirectiveDefault, func([]string) []string { return all })
}

func beginning(all []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

// listed completes the last word of a list with commas. It does not offer the words that the list has.
func listed(one completer) completer {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		i := strings.LastIndexByte(prefix, ',') + 1
		there := strings.Split(prefix[:i], ",")
		found, how := one(c, args, prefix[i:])
		var out []string
		for _, f := range found {
			name, _, _ := strings.Cut(f, "\t")
			if !slices.Contains(there, name) {
				out = append(out, prefix[:i]+f)
			}
		}
		return out, how
	}
}

// notebookOf reads the notebook that a command line names, as far as it can be read; nil where that would be slow.
func notebookOf(args []string) *notebooks.Notebook {
	if len(args) == 0 || args[0] == "-" || remote.Is(args[0]) {
		return nil
	}
	info, err := os.Stat(args[0])
	if err != nil || !info.Mode().IsRegular() || info.Size() > completeBytes {
		return nil
	}
	src, err := os.ReadFile(args[0])
	if err != nil {
		return nil
	}
	src, _ = forms.Source(args[0], src, false)
	nb, _ := forms.Parse(args[0], src) // a notebook with mistakes has steps as well
	return nb
}

// ofNotebook completes names from a notebook.
func ofNotebook(list func(*notebooks.Notebook) []string) completer {
	return listing(cobra.ShellCompDirectiveKeepOrder, func(args []string) []string {
		if nb := notebookOf(args); nb != nil {
			return list(nb)
		}
		return nil
	})
}

func stepIDs(nb *notebooks.Notebook) []string {
	var out []string
	for _, s := range nb.Steps {
		out = append(out, described(string(s.ID), strings.TrimSpace(s.Lang+" "+strings.Join(s.Tags, " "))))
	}
	return out
}

func tags(nb *notebooks.Notebook) []string {
	var out []string
	for _, s := range nb.Steps {
		for _, tag := range s.Tags {
			if !slices.Contains(out, tag) {
				out = append(out, tag)
			}
		}
	}
	return out
}

// described is a word with the description that a shell may show.
func described(word, about string) string {
	if about = plain.Escape(strings.Join(strings.Fields(about), " ")); about == "" {
		return word
	}
	return word + "\t" + about
}

// parameters completes NAME= and, where the values of a parameter are listed, NAME=VALUE.
func parameters(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	name, _, valued := strings.Cut(prefix, "=")
	how := cobra.ShellCompDirectiveKeepOrder
	if !valued {
		how |= cobra.ShellCompDirectiveNoSpace
	}
	return listing(how, func([]string) []string {
		var out []string
		if nb := notebookOf(args); nb != nil {
			for _, p := range nb.Params {
				if !valued {
					out = append(out, described(p.Name+"=", p.Help))
				} else if p.Name == name {
					for _, v := range choices(p) {
						out = append(out, name+"="+v)
					}
				}
			}
		}
		return out
	})(c, args, prefix)
}

// choices are the values of a parameter that can be listed.
func choices(p notebooks.Param) []string {
	var out []string
	for _, v := range p.Enum {
		out = append(out, strings.Trim(string(v.JSON()), `"`))
	}
	if len(out) == 0 && p.Type == notebooks.TypeBool {
		return []string{"true", "false"}
	}
	return out
}

// kernels lists the names that -k takes.
func (a completion) kernels([]string) []string {
	out := languages("built in")
	if _, src, err := a.Here(); err == nil {
		if cfg, err := engine.LoadConfig(engines.RootOf(src)); err == nil {
			for name := range cfg.Kernels {
				out = append(out, described(name, engine.ConfigFile))
			}
		}
	}
	for _, s := range jupyter.List(a.Env) {
		out = append(out, described(s.Name, "Jupyter"))
	}
	slices.Sort(out)
	name := func(s string) string { before, _, _ := strings.Cut(s, "\t"); return before }
	return slices.CompactFunc(out, func(x, y string) bool { return name(x) == name(y) })
}

// admitted lists the agents that markmill.yaml admits.
func (a completion) admitted([]string) []string {
	_, src, err := a.Here()
	if err != nil {
		return nil
	}
	cfg, err := engine.LoadConfig(engines.RootOf(src))
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(cfg.Agents))
}

func languages(about string) []string {
	var out []string
	for _, k := range kernel.Table() {
		out = append(out, described(k.Name(), about))
	}
	return out
}

// revisions lists the branches of the repository.
func (a completion) revisions([]string) []string {
	if _, src, err := a.Here(); err == nil && src != nil {
		return append([]string{"HEAD"}, src.Branches()...)
	}
	return nil
}

// runIDs are the newest runs, with last before them.
func (a completion) runIDs() []string {
	store, _, err := a.Here()
	if err != nil {
		return nil
	}
	entries, err := store.Newest(completeRuns)
	if err != nil || len(entries) == 0 {
		return nil
	}
	out := []string{described("last", string(entries[0].Status)+" "+filepath.Base(entries[0].Notebook))}
	for _, e := range entries {
		out = append(out, described(string(e.ID), string(e.Status)+" "+filepath.Base(e.Notebook)))
	}
	return out
}

// onlyRuns completes runs for the first arguments, most of them at most; -1 is all.
func (a completion) onlyRuns(most int) completer {
	return listing(cobra.ShellCompDirectiveKeepOrder, func(args []string) []string {
		if most >= 0 && len(args) >= most {
			return nil
		}
		return a.runIDs()
	})
}

// runsOr completes runs for the first arguments, and files where no run has the prefix.
func (a completion) runsOr(most int) completer {
	return func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return beginning(a.runIDs(), prefix), cobra.ShellCompDirectiveKeepOrder
	}
}

// stepsOfRun completes the ids of the steps of a run: that of the first argument, else of the last one.
func (a completion) stepsOfRun(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return listing(cobra.ShellCompDirectiveKeepOrder, func(args []string) []string {
		run, _, err := a.Find(program.WordOr(args, "last"))
		if err != nil {
			return nil
		}
		var out []string
		for i := range run.Steps {
			s := &run.Steps[i]
			out = append(out, described(string(s.Planned.ID), string(cmp.Or(s.Status(), runs.StepPending))))
		}
		return out
	})(nil, args, prefix)
}

// join prepares the words of a completion as ParamArgs prepares a command line. The last word is to be completed. When
// it is VALUE of -p NAME VALUE, values is NAME.
func (a completion) join(args []string) (out []string, values string) {
	if len(args) < 2 {
		return args, ""
	}
	head, last := args[1:len(args)-1], args[len(args)-1]
	var open []string
	if n := len(head); n > 1 && isPair(head[n-2]) && !strings.Contains(head[n-1], "=") {
		head, values = head[:n-2], head[n-1]
	} else if n > 0 && isPair(head[n-1]) {
		head, open = head[:n-1], head[n-1:]
	}
	joined, err := a.ParamArgs(head)
	a.ParamHints = program.ParamHints{} // which are for messages
	if err != nil {
		joined = head
	}
	out = append([]string{args[0]}, joined...)
	return append(append(out, open...), last), values
}

// isPair reports whether an argument is an option that takes NAME and VALUE as separate words.
func isPair(arg string) bool {
	name, _, _, attached := program.ParamOption(arg)
	return name != "" && !attached
}

// printValues prints the values of the parameter of -p NAME, as cobra prints completions.
func (a completion) printValues(args []string, name string) error {
	prefix := args[len(args)-1]
	var b strings.Builder
	for _, word := range args {
		if nb := notebookOf([]string{word}); nb != nil {
			for _, p := range nb.Params {
				if p.Name == name {
					for _, v := range beginning(choices(p), prefix) {
						b.WriteString(v + "\n")
					}
				}
			}
			break
		}
	}
	fmt.Fprintf(&b, ":%d\n", cobra.ShellCompDirectiveNoFileComp)
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}

// isCompletion reports whether a shell asks for completions.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

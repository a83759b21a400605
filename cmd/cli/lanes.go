package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/api/files"
	"markmill/cmd/api/sweep"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/sheet"
	"markmill/runs"
	"markmill/runs/outfile"
)

// laneOptions are the options of lanes, and of run where it compares attempts.
type laneOptions struct {
	backends     []string
	attempts     int
	pick         string
	once         bool
	html, format string
	page         *outfile.File            // --html, opened before the first step
	changed      func(option string) bool // whether an option was given; nil: none was
}

// flags are the options that run has, too.
func (o *laneOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.pick, "pick", "", "which attempt is taken: first that passes, smallest change, none (default: "+
		"pick: of the notebook)")
	f.BoolVar(&o.once, "judge-once", false, "do not run the tests and reviews of an attempt a second time")
}

func (a *app) lanesCommand() *cobra.Command {
	o := defaultRunOptions()
	var stdin bool
	c := &cobra.Command{
		Use: "lanes NOTEBOOK [OUTPUT]", Short: "Compare attempts of coding agents at one notebook",
		Long: `Runs a notebook with an agent's step several times: with each backend, and -n times with each. The attempts have
worktrees of their own, one base commit and one contract. Every attempt is a run with a record, and a record of the
comparison names them (markmill runs verify takes it, or last-sweep). A backend that is not admitted, or cannot be used
here, stays in the table with its reason.

The table says of each attempt how it ended, what its tests said, whether it changed only what may be changed, how much it
changed, and what it took. Attempts with the same letter have the same result tree. The tests and reviews of a tree run
twice: where they differ they are flaky, and no attempt with that tree counts as passed.

--pick takes an attempt: the first that passes, in the order of the table, after which none is begun; or the one that
passes with the smallest change. OUTPUT is the output notebook of that attempt, or else the notebook alone, with the
comparison. A person chooses with markmill runs apply RUN.

Exit codes: 0 an attempt passed, 1 none did, 2 usage (nothing ran), 3 all were blocked, 128+n ended by signal n.`,
		Example: `  markmill lanes task.md --backends claude,codex,command:mine -n 3
  markmill lanes task.md task.out.md --backends codex -n 5 --pick smallest --html lanes.html
  markmill run --resume last-sweep`,
		Args: args(1, 2),
		RunE: func(c *cobra.Command, words []string) error {
			o.lanes.changed = c.Flags().Changed
			if words[0] == "-" && stdin {
				return usagef("NOTEBOOK - and -f - both want standard input; give one of them a path")
			}
			return a.lanes(c.Context(), words[0], append(words, "")[1], o)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.lanes.backends, "backends", nil,
		"the admitted agents `NAME,…` that do the notebook's agent steps (default: as the notebook says)")
	f.IntVarP(&o.lanes.attempts, "attempts", "n", 0, "how many attempts `N` of each backend (default: attempts= of a "+
		"step, else 1)")
	f.IntVarP(&o.sweep.work.Jobs, "jobs", "j", 0,
		"how many attempts go on at once (default: as many as there are processors)")
	f.StringVar(&o.lanes.html, "html", "", "write the comparison as a page to `PAGE` (- is standard output)")
	f.StringVar(&o.lanes.format, "format", "table", "of the comparison on standard output: table, markdown or csv")
	o.lanes.flags(f)
	a.paramFlags(f, &o.req.Given, &stdin)
	o.workOptions.flags(f, &o.req)
	f.StringVar(&o.runTimeout, "run-timeout", "",
		"limit of each attempt, in the place of the notebook's, a `TIME` in seconds, or 90s, 10m, 1h")
	f.BoolVar(&o.json, "json", false, jsonWords("lanes"))
	onOff(f, &o.progress, "progress-bar", "no-progress-bar", true, "show each attempt as it ends",
		"show only attempts that do not pass")
	f.StringVar(&o.logLevel, "log-level", "INFO",
		"what is printed on standard error: DEBUG, INFO, WARNING, ERROR, CRITICAL, NOTSET")
	return c
}

// lanes compares attempts.
func (a *app) lanes(ctx context.Context, path, output string, o *runOptions) error {
	l := &o.lanes
	switch {
	case !slices.Contains([]string{"table", "markdown", "csv"}, l.format):
		return usagef("--format %s: the formats are table, markdown and csv", l.format)
	case o.json && (l.changed("format") || l.html == "-"):
		return usagef("--json prints one object on standard output; leave --format and --html - out")
	case l.changed("attempts") && (l.attempts < 1 || l.attempts > notebooks.MaxAttempts):
		return usagef("-n %d: give a number of attempts from 1 to %d", l.attempts, notebooks.MaxAttempts)
	case o.sweep.work.Jobs < 0 || l.changed("jobs") && o.sweep.work.Jobs < 1:
		return usagef("-j %d runs nothing; give how many attempts may go on at once", o.sweep.work.Jobs)
	case l.changed("backends") && len(l.backends) == 0:
		return usagef("--backends names none; give agents, such as --backends claude,codex, or leave the option out")
	}
	for i, name := range l.backends {
		name = strings.TrimPrefix(name, "command:")
		if l.backends[i] = name; name == "" || notebooks.Slug(name) != name {
			return usagef("--backends %s: %q is no name of a backend; there are those of markmill agents list",
				strings.Join(l.backends, ","), name)
		}
		if slices.Contains(l.backends[:i], name) {
			return usagef("--backends names %s twice; -n says how many attempts each has", name)
		}
	}
	var err error
	if l.page, err = a.openOutput("--html", l.html); err != nil {
		return err
	}
	defer l.page.Close()
	o.comparing = true
	return a.runNotebook(ctx, path, output, o)
}

// attempts reports whether attempts are to be compared, by the command, its options or the notebook.
func (o *runOptions) attempts(eng *engine.Engine) (bool, error) {
	if o.comparing {
		return true, nil
	}
	given := func(name string) bool { return o.lanes.changed != nil && o.lanes.changed(name) }
	n := o.lanes.attempts
	if given("attempts") && (n < 1 || n > notebooks.MaxAttempts) {
		return false, usagef("--attempts %d: give a number from 1 to %d", n, notebooks.MaxAttempts)
	}
	if n == 0 && bytes.Contains(o.req.Source, []byte("attempts")) {
		nb, err := eng.Parse(o.req)
		if err != nil {
			return false, err
		}
		n = nb.Attempts()
	}
	if n > 1 {
		return true, nil
	}
	for _, name := range []string{"pick", "judge-once"} {
		if given(name) {
			return false, usagef("--%s is for several attempts, and there is one: give --attempts N", name)
		}
	}
	return false, nil
}

// oneRun are the options of run that several attempts have no use for.
var oneRun = []string{"frozen", "prepare-only", "events", "stdout-file", "stderr-file", "log-output", "keep-worktree",
	"branch", "inject-paths", "inject-input-path", "inject-output-path", "reuse", "matrix", "params-table", "include",
	"exclude"}

// compareAttempts plans and makes the attempts at a notebook.
func (a *app) compareAttempts(ctx context.Context, path, output string, o *runOptions) error {
	l := &o.lanes
	for _, name := range oneRun {
		if l.changed != nil && l.changed(name) {
			return usagef("--%s is for one run, and there are several attempts; leave it out, or give --attempts 1",
				name)
		}
	}
	switch {
	case l.pick != "" && !slices.Contains(notebooks.Picks, l.pick):
		return usagef("--pick %s is not known; known: %s", l.pick, strings.Join(notebooks.Picks, ", "))
	case l.changed != nil && l.changed("pick") && l.pick == "":
		return usagef("--pick names no rule; known: %s", strings.Join(notebooks.Picks, ", "))
	case output == "-" || remote.Is(output) || output != "" && notebooks.IsJupyterName(output):
		return usagef(
			"OUTPUT %s: a comparison of attempts is written to a file in Markdown; give a path that ends in .md",
			output)
	case output != "" && isJupyter(path, o.req.Source) && files.Same(path, output):
		return usagef("OUTPUT %s is the notebook itself, and would be of another form; give another OUTPUT", output)
	case output != "" && o.dirty == string(engine.DirtyInclude):
		return usagef("--dirty include would take OUTPUT along the next time; commit the changes, or leave OUTPUT out")
	case len(o.req.Reverse) > 0:
		return usagef("%s: the tree has the change of an attempt already; commit it, or give --base", output)
	}
	at := sweep.Attempts{Request: o.req, Backends: l.backends, Number: l.attempts, Pick: l.pick, Once: l.once,
		Default: notebooks.PickFirst, Work: a.sweepWork(path, o)}
	if o.comparing {
		at.Default = notebooks.PickNone
	}
	if output != "" {
		if err := a.checkTarget("OUTPUT", output); err != nil {
			return err
		}
		var err error
		if at.Output, err = filepath.Abs(output); err != nil {
			return err
		}
	}
	s, err := sweep.PlanAttempts(ctx, at)
	if err != nil {
		return err
	}
	for _, w := range s.Warnings {
		if o.level() <= slog.LevelWarn {
			a.tell("markmill: warning: %s\n", w)
		}
	}
	return a.runSweep(ctx, s, o)
}

// lanesDocument is what lanes --json prints, and run --json where it compares attempts.
type lanesDocument struct {
	Sweep    runs.SweepID `json:"sweep_id"`
	Dir      string       `json:"sweep_dir"`
	Status   runs.Status  `json:"status"`
	ExitCode int          `json:"exit_code"`
	// of the journal of the comparison: kept elsewhere, it shows every later change
	Digest   runs.Digest `json:"digest"`
	Base     string      `json:"base_commit"`
	Contract runs.Digest `json:"contract"` // of all attempts
	Output   string      `json:"output,omitzero"`
	Pick     string      `json:"pick"`            // first, smallest, none
	Picked   runs.RunID  `json:"picked,omitzero"` // the attempt that is taken
	Passed   int         `json:"passed"`          // attempts that passed, and whose tests are not flaky
	// how many of them have the same result tree, of each such group
	Same     []int                `json:"identical"`
	Attempts []*sheet.ComparedRun `json:"attempts"` // in the order of the table
}

// printLanes prints a comparison of attempts and ends with its exit code.
func (a *app) printLanes(done *runs.Sweep, store runs.Store, o *runOptions) error {
	list, lanes := sweep.Compared(done, store), sweep.Comparison(done, store)
	t := sheet.Compare(list, nil)
	if o.lanes.html != "" {
		page, err := sweep.Page(done, store)
		if err == nil {
			err = a.writeOpened(o.lanes.page, o.lanes.html, page)
		}
		if err != nil {
			return err
		}
	}
	picked := runs.RunID("")
	if lanes.Picked > 0 {
		picked = done.Rows[lanes.Picked-1].Run
	}
	end, d := done.Completed, done.Started
	switch {
	case o.json:
		doc := lanesDocument{Sweep: d.SweepID, Dir: done.Dir, Status: end.Status, ExitCode: end.ExitCode,
			Digest: done.Digest,
			Base:   d.Base, Contract: d.Lanes.Contract, Pick: d.Lanes.Pick, Picked: picked, Passed: lanes.Passed,
			Same: append([]int{}, lanes.Identical...), Attempts: list}
		if end.Output != "" {
			doc.Output = d.Lanes.Output
		}
		if err := a.printJSON("lanes", doc); err != nil {
			return err
		}
	case o.lanes.html != "-":
		format := o.lanes.format
		if format == "" {
			format = "table"
		}
		if err := a.shown(func(w io.Writer) error { return t.Write(w, format) }); err != nil {
			return err
		}
	}
	if o.level() > slog.LevelInfo {
		return endWith(end.ExitCode)
	}
	if legend := t.Legend(); legend != "" && !o.json {
		a.tell("%s\n", legend)
	}
	a.tell("markmill: %s: %s · evidence: %s\n", string(end.Status), result.LanesWords(lanes), files.Short(done.Dir))
	if n := done.MissingRows(); n > 0 {
		a.tell("markmill: missing: %s: markmill run --resume %s\n", plain.Counted(n, "attempt"), string(d.SweepID))
	}
	for i, c := range list {
		if done.Proven(i) && (picked == "" || picked == done.Rows[i].Run) && !sameBefore(list[:i], c) {
			a.tell("markmill: to take %s: markmill runs apply %s\n", c.Attempt, c.Run)
			if store.Record(runs.RunID(c.Run)).HasData() {
				a.tell("markmill: and what it wrote that Git ignores: markmill runs apply --data %s\n", c.Run)
			}
		}
	}
	return endWith(end.ExitCode)
}

// sameBefore reports whether an earlier attempt that passed has the same result tree.
func sameBefore(list []*sheet.ComparedRun, c *sheet.ComparedRun) bool {
	return slices.ContainsFunc(list, func(other *sheet.ComparedRun) bool {
		return other.Tree == c.Tree && runs.Status(other.Status).Passed()
	})
}

// lanesOutput is the directory of the comparison that wrote an output notebook; "" for another file.
func (p *places) lanesOutput(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if m := region.ManifestAtEnd(text); m == nil || m.Lanes == nil {
		return "", nil
	}
	store, _, err := p.here()
	if err != nil {
		return "", err
	}
	ids, err := store.Sweeps()
	for _, id := range ids {
		dir := store.SweepDir(id)
		if done, err := runs.LoadSweep(dir); err == nil && done.Completed != nil &&
			done.Completed.Output == runs.DigestOf(text) {
			return dir, nil
		}
	}
	return "", err
}

// verifyLanes compares the output notebook of a comparison with one that is rendered again.
func verifyLanes(v *runs.SweepVerification, store runs.Store) {
	done := v.Sweep
	if done == nil || done.Started.Lanes == nil || done.Completed == nil || done.Completed.Output == "" {
		return
	}
	if done.Started.Lanes.Views != runs.ViewsVersion {
		v.Notes = append(v.Notes,
			"the output notebook is one of another version of Markmill, and was not rendered again")
		return
	}
	switch out, err := sweep.Output(done, store); {
	case err != nil:
		v.Notes = append(v.Notes, fmt.Sprintf("the output notebook was not rendered again: %s", err))
	case runs.DigestOf(out) != done.Completed.Output:
		v.Findings = append(v.Findings, runs.Finding{Where: runs.JournalFile, Message: "the output notebook that " +
			"follows from the runs is another than the one it names"})
	}
}

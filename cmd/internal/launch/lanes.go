package launch

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/sweep"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/sheet"
	"markmill/runs"
)

// check returns an error for values that make no sense.
func (o *laneOptions) check() error {
	switch {
	case o.Changed("attempts") && (o.attempts < 1 || o.attempts > notebooks.MaxAttempts):
		return program.Usagef("--attempts %d: give a number from 1 to %d", o.attempts, notebooks.MaxAttempts)
	case o.Changed("backend") && len(o.backends) == 0:
		return program.Usagef("--backend names none; give agents, such as --backend claude,codex, or leave the " +
			"option out")
	}
	for i, name := range o.backends {
		name = strings.TrimPrefix(name, "command:")
		if o.backends[i] = name; name == "" || notebooks.Slug(name) != name {
			return program.Usagef("--backend %s: %q is no name of a backend; there are those of markmill agent list",
				strings.Join(o.backends, ","), name)
		}
		if slices.Contains(o.backends[:i], name) {
			return program.Usagef("--backend names %s twice; --attempts says how many attempts each has", name)
		}
	}
	return nil
}

// oneRun are the options of run that several attempts have no use for.
var oneRun = []string{"frozen", "prepare-only", "events", "stdout-file", "stderr-file", "log-output", "keep-worktree",
	"branch", "inject-paths", "inject-input-path", "inject-output-path", "reuse", "matrix", "table", "include",
	"exclude"}

// CompareAttempts plans and makes the attempts at a notebook.
func CompareAttempts(ctx context.Context, a *program.App, path, output string, o *Options) error {
	l := &o.Lanes
	for _, name := range oneRun {
		if l.Changed != nil && l.Changed(name) {
			return program.Usagef("--%s is for one run, and there are several attempts; leave it out, or give "+
				"--attempts 1",
				name)
		}
	}
	switch {
	case l.pick != "" && !slices.Contains(notebooks.Picks, l.pick):
		return program.Usagef("--pick %s is not known; known: %s", l.pick, strings.Join(notebooks.Picks, ", "))
	case l.Changed != nil && l.Changed("pick") && l.pick == "":
		return program.Usagef("--pick names no rule; known: %s", strings.Join(notebooks.Picks, ", "))
	case output == "-" || remote.Is(output) || output != "" && notebooks.IsJupyterName(output):
		return program.Usagef(
			"OUTPUT %s: a comparison of attempts is written to a file in Markdown; give a path that ends in .md",
			output)
	case output != "" && program.IsJupyter(path, o.Req.Source) && files.Same(path, output):
		return program.Usagef("OUTPUT %s is the notebook itself, and would be of another form; give another OUTPUT",
			output)
	case output != "" && o.Dirty == string(engine.DirtyInclude):
		return program.Usagef("--dirty include would take OUTPUT along the next time; commit the changes, or leave " +
			"OUTPUT out")
	case len(o.Req.Reverse) > 0:
		return program.Usagef("%s: the tree has the change of an attempt already; commit it, or give --base", output)
	}
	at := sweep.Attempts{Request: o.Req, Backends: l.backends, Number: l.attempts, Pick: l.pick, Once: l.once,
		Default: notebooks.PickFirst, Work: sweepWork(a, path, o)}
	if len(l.backends) > 0 {
		at.Default = notebooks.PickNone
	}
	if output != "" {
		if err := a.CheckTarget("OUTPUT", output); err != nil {
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
		if o.Level() <= slog.LevelWarn {
			a.Tell("markmill: warning: %s\n", w)
		}
	}
	return runSweep(ctx, a, s, o)
}

// LanesDocument is what run --json prints where it compares attempts.
type LanesDocument struct {
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
func printLanes(a *program.App, done *runs.Sweep, store runs.Store, o *Options) error {
	list, lanes := sweep.Compared(done, store), sweep.Comparison(done, store)
	t := sheet.Compare(list, nil)
	picked := runs.RunID("")
	if lanes.Picked > 0 {
		picked = done.Rows[lanes.Picked-1].Run
	}
	end, d := done.Completed, done.Started
	switch {
	case o.JSON:
		doc := LanesDocument{Sweep: d.SweepID, Dir: done.Dir, Status: end.Status, ExitCode: end.ExitCode,
			Digest: done.Digest,
			Base:   d.Base, Contract: d.Lanes.Contract, Pick: d.Lanes.Pick, Picked: picked, Passed: lanes.Passed,
			Same: append([]int{}, lanes.Identical...), Attempts: list}
		if end.Output != "" {
			doc.Output = d.Lanes.Output
		}
		if err := a.PrintJSON("lanes", doc); err != nil {
			return err
		}
	default:
		if err := a.Shown(func(w io.Writer) error { return t.Write(w, "table") }); err != nil {
			return err
		}
	}
	if o.Level() > slog.LevelInfo {
		return program.EndWith(end.ExitCode)
	}
	if legend := t.Legend(); legend != "" && !o.JSON {
		a.Tell("%s\n", legend)
	}
	a.Tell("markmill: %s: %s · evidence: %s\n", string(end.Status), result.LanesWords(lanes), files.Short(done.Dir))
	if n := done.MissingRows(); n > 0 {
		a.Tell("markmill: missing: %s: markmill resume %s\n", plain.Counted(n, "attempt"), string(d.SweepID))
	}
	for i, c := range list {
		if done.Proven(i) && (picked == "" || picked == done.Rows[i].Run) && !sameBefore(list[:i], c) {
			a.Tell("markmill: to take %s: markmill apply %s\n", c.Attempt, c.Run)
			if store.Record(runs.RunID(c.Run)).HasData() {
				a.Tell("markmill: and what it wrote that Git ignores: markmill apply --data %s\n", c.Run)
			}
		}
	}
	return program.EndWith(end.ExitCode)
}

// sameBefore reports whether an earlier attempt that passed has the same result tree.
func sameBefore(list []*sheet.ComparedRun, c *sheet.ComparedRun) bool {
	return slices.ContainsFunc(list, func(other *sheet.ComparedRun) bool {
		return other.Tree == c.Tree && runs.Status(other.Status).Passed()
	})
}

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
)

// laneOptions are the options of run where it compares attempts.
type laneOptions struct {
	backends []string
	attempts int
	pick     string
	once     bool
	changed  func(option string) bool // whether an option was given; nil: none was
}

func (o *laneOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.attempts, "attempts", 0, "compare `N` attempts of each agent, in the place of attempts= of its step")
	f.StringSliceVar(&o.backends, "backend", nil,
		"compare the admitted agents `NAME,…` that do the notebook's agent steps")
	f.StringVar(&o.pick, "pick", "", "which attempt is taken: first that passes, smallest change, none (default: "+
		"pick: of the notebook)")
	f.BoolVar(&o.once, "judge-once", false, "do not run the tests and reviews of an attempt a second time")
}

// check returns an error for values that make no sense.
func (o *laneOptions) check() error {
	switch {
	case o.changed("attempts") && (o.attempts < 1 || o.attempts > notebooks.MaxAttempts):
		return usagef("--attempts %d: give a number from 1 to %d", o.attempts, notebooks.MaxAttempts)
	case o.changed("backend") && len(o.backends) == 0:
		return usagef("--backend names none; give agents, such as --backend claude,codex, or leave the option out")
	}
	for i, name := range o.backends {
		name = strings.TrimPrefix(name, "command:")
		if o.backends[i] = name; name == "" || notebooks.Slug(name) != name {
			return usagef("--backend %s: %q is no name of a backend; there are those of markmill agent list",
				strings.Join(o.backends, ","), name)
		}
		if slices.Contains(o.backends[:i], name) {
			return usagef("--backend names %s twice; --attempts says how many attempts each has", name)
		}
	}
	return nil
}

// attempts reports whether attempts are to be compared, by the options or the notebook.
func (o *runOptions) attempts(eng *engine.Engine) (bool, error) {
	if o.lanes.changed == nil {
		o.lanes.changed = func(string) bool { return false }
	}
	if err := o.lanes.check(); err != nil {
		return false, err
	}
	if len(o.lanes.backends) > 0 {
		return true, nil
	}
	n := o.lanes.attempts
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
		if o.lanes.changed(name) {
			return false, usagef("--%s is for several attempts, and there is one: give --attempts N", name)
		}
	}
	return false, nil
}

// oneRun are the options of run that several attempts have no use for.
var oneRun = []string{"frozen", "prepare-only", "events", "stdout-file", "stderr-file", "log-output", "keep-worktree",
	"branch", "inject-paths", "inject-input-path", "inject-output-path", "reuse", "matrix", "table", "include",
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
	if len(l.backends) > 0 {
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

// lanesDocument is what run --json prints where it compares attempts.
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
	default:
		if err := a.shown(func(w io.Writer) error { return t.Write(w, "table") }); err != nil {
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
		a.tell("markmill: missing: %s: markmill resume %s\n", plain.Counted(n, "attempt"), string(d.SweepID))
	}
	for i, c := range list {
		if done.Proven(i) && (picked == "" || picked == done.Rows[i].Run) && !sameBefore(list[:i], c) {
			a.tell("markmill: to take %s: markmill apply %s\n", c.Attempt, c.Run)
			if store.Record(runs.RunID(c.Run)).HasData() {
				a.tell("markmill: and what it wrote that Git ignores: markmill apply --data %s\n", c.Run)
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

package cli

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/api/sweep"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/runs"
	"markmill/runs/outfile"
)

// sweepOptions are the options of run for a sweep.
type sweepOptions struct {
	matrix, include, exclude []string
	table                    string
	maxRuns                  int
	work                     sweep.Work
	queue                    rowOptions
}

// sweepFlags are the names of the options that only a sweep has.
var sweepFlags = []string{"matrix", "table", "include", "exclude", "max-runs", "jobs", "max-failures",
	"fail-fast"}

func (o *sweepOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.matrix, "matrix", nil,
		"run every combination of values: `NAME=VALUES`, such as region=eu,us or month=1..12 or 'list=[a, \"b,c\"]'; "+
			"repeatable")
	f.StringVar(&o.table, "table", "", "run each row of a table: a `FILE` in CSV, TSV, JSON Lines or YAML")
	f.StringArrayVar(&o.include, "include", nil,
		"also run these values: `NAME=VALUE,…`, or a YAML mapping in braces; repeatable")
	f.StringArrayVar(&o.exclude, "exclude", nil,
		"leave out runs that have all these values: `NAME=VALUE,…`, or a YAML mapping in braces; repeatable")
	f.IntVar(&o.maxRuns, "max-runs", sweep.DefaultMaxRuns, "refuse a sweep of more than `N` runs")
	o.workFlags(f)
}

// workFlags are the options of how the runs of a sweep go on.
func (o *sweepOptions) workFlags(f *pflag.FlagSet) {
	f.IntVarP(&o.work.Jobs, "jobs", "j", 0,
		"how many runs of a sweep go on at once, at most as many as there are processors, or how many attempts "+
			"(default: as many as there are processors)")
	f.IntVar(&o.work.MaxFailures, "max-failures", 0, "start no more runs of a sweep after `N` did not pass")
	f.BoolVar(&o.work.FailFast, "fail-fast", false,
		"interrupt a sweep at the first run that does not pass")
}

// queueFlags are the options of a resumed sweep whose rows are jobs.
func (o *sweepOptions) queueFlags(f *pflag.FlagSet, name string) {
	f.StringVar(&o.queue.name, name, "", "submit each run of a sweep to the queue `NAME`, and wait for the workers")
	o.queue.jobOptions.flags(f)
	o.queue.queueOptions.flags(f)
}

// asked reports whether a sweep is to be run.
func (o *sweepOptions) asked() bool { return len(o.matrix) > 0 || o.table != "" || len(o.include) > 0 }

// check returns an error for options that do not go together.
func (o *runOptions) checkSweep(c *cobra.Command, output string) error {
	if o.sweep.work.Jobs < 0 || c.Flags().Changed("jobs") && o.sweep.work.Jobs < 1 {
		return usagef("-j %d runs nothing; give how many runs may go on at once", o.sweep.work.Jobs)
	}
	if !o.sweep.asked() {
		for _, name := range sweepFlags {
			if f := c.Flags().Lookup(name); f != nil && f.Changed && name != "jobs" {
				return usagef("--%s is for sweeps: give --matrix NAME=VALUES or --table FILE", name)
			}
		}
		return nil
	}
	for _, name := range []string{"frozen", "prepare-only", "events", "stdout-file", "stderr-file", "log-output",
		"keep-worktree", "branch", "inject-paths", "inject-input-path", "inject-output-path"} {
		if c.Flags().Changed(name) {
			return usagef("--%s is for one run, and a sweep makes several; leave it out", name)
		}
	}
	switch {
	case output == "-" || remote.Is(output):
		return usagef("OUTPUT %s: a sweep writes files; give a path such as 'out/{NAME}.md'", output)
	case output != "" && o.dirty == string(engine.DirtyInclude):
		return usagef("--dirty include would take the OUTPUT of one run into the next; commit the changes, or " +
			"leave OUTPUT out")
	case o.sweep.maxRuns < 1:
		return usagef("--max-runs %d allows nothing", o.sweep.maxRuns)
	case o.sweep.work.MaxFailures < 0 || c.Flags().Changed("max-failures") && o.sweep.work.MaxFailures < 1:
		return usagef("--max-failures %d; give a number from 1 on, or leave it out", o.sweep.work.MaxFailures)
	}
	return nil
}

// grid reads the options into a grid.
func (a *app) grid(o *sweepOptions) (g sweep.Grid, err error) {
	g.MaxRuns = o.maxRuns
	for _, word := range o.matrix {
		name, text, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return g, usagef("--matrix %s: write NAME=VALUES, such as month=1..12", word)
		}
		values, err := params.ParseValues("--matrix", name, text, o.maxRuns)
		if err != nil {
			return g, err
		}
		g.Axes = append(g.Axes, sweep.Axis{Name: name, Values: values})
	}
	if o.table != "" {
		data, err := a.readInput(o.table, "a table of parameters", maxParams)
		if err != nil {
			return g, files.ReadError(o.table, err)
		}
		if g.Table, err = params.ReadTable(name(o.table), data); err != nil {
			return g, err
		}
	}
	if g.Include, err = valueLists("--include", o.include); err == nil {
		g.Exclude, err = valueLists("--exclude", o.exclude)
	}
	return g, err
}

// valueLists reads --include and --exclude.
func valueLists(option string, words []string) (out [][]params.Given, err error) {
	for _, word := range words {
		var list []params.Given
		if strings.HasPrefix(word, "{") {
			if list, err = params.ParseGiven(option, option, []byte(word)); err != nil {
				return nil, err
			}
		} else {
			for _, one := range strings.Split(word, ",") {
				name, text, ok := strings.Cut(one, "=")
				if !ok || name == "" {
					return nil, usagef("%s %s: write NAME=VALUE,NAME=VALUE", option, word)
				}
				list = append(list, params.Given{Name: name, Text: text, Source: option})
			}
		}
		out = append(out, list)
	}
	return out, nil
}

// sweepNotebook runs a sweep.
func (a *app) sweepNotebook(ctx context.Context, path, output string, o *runOptions) error {
	grid, err := a.grid(&o.sweep)
	if err != nil {
		return err
	}
	s, err := sweep.Plan(ctx, sweep.Options{Grid: grid, Request: o.req, Output: output, Work: a.sweepWork(path, o)})
	if err != nil {
		return err
	}
	a.announceFolder(o)
	for _, w := range s.Warnings {
		if o.level() <= slog.LevelWarn {
			a.tell("markmill: warning: %s\n", w)
		}
	}
	return a.runSweep(ctx, s, o)
}

// sweepWork says how the runs of a sweep are made.
func (a *app) sweepWork(path string, o *runOptions) sweep.Work {
	work := o.sweep.work
	work.Engine = func() (*engine.Engine, error) {
		eng, _, err := a.engineFor(path, o.repo)
		return eng, err
	}
	work.Prepare = func(req *engine.Request, output string) error {
		one := *o
		one.req = *req
		if err := a.checkTarget("OUTPUT", output); err != nil {
			return err
		}
		err := one.setOutput(output)
		*req = one.req
		return err
	}
	return work
}

// runSweep runs a sweep that is planned, shows each run as it ends, and prints the table.
func (a *app) runSweep(ctx context.Context, s *sweep.Sweep, o *runOptions) error {
	process.SealDescriptors()
	ctx, stop := a.interruptible(ctx)
	defer stop()
	eng, work := s.Engine, &s.Work
	key, err := a.signKey(eng.Config)
	if err != nil {
		return err
	}
	work.Force = a.force
	work.Sinks = func(output string, file *outfile.File) engine.Sinks {
		return a.sinks(output, file, nil, key, engine.Observer{Files: a.written(&follower{})})
	}
	work.Sealed = func(dir string) error { return a.signRecord(dir, key) }
	shown := o.level() <= slog.LevelInfo
	if shown && work.Jobs > 1 && s.Shared() {
		a.tell("markmill: the runs work in the same folder, so they go on one after another\n")
	}
	if shown {
		what := "runs"
		if s.Lanes() {
			what = "attempts"
		}
		a.tell("markmill: %s: %d %s\n", string(s.ID()), s.Len(), what)
	}
	work.Ended = func(row int, end runs.SweepRunEndedData, left int) {
		if shown && (o.progress || !end.Status.Passed()) {
			fmt.Fprintln(a.stderr, a.sweepLine(s.Row(row), end, left))
		}
	}
	done, err := a.runRows(ctx, &o.sweep.queue, key != "", s)
	if err != nil {
		return err
	}
	var ran []runs.RunID
	for i := range done.Rows {
		if end := done.Rows[i].Ended; end != nil {
			if ran = append(ran, end.Run); end.Lane != nil && end.Lane.Again != nil {
				ran = append(ran, end.Lane.Again.Run)
			}
		}
	}
	a.retain(eng, eng.Source, ran...)
	return a.printSweep(done, eng.Store(done.Started.Repository), o)
}

// sweepLine is the line of a run that has ended.
func (a *app) sweepLine(row string, end runs.SweepRunEndedData, left int) string {
	mark := "✓"
	if !end.Status.Passed() {
		mark = "✗"
	}
	words := fmt.Sprintf("%s %s · %s · %.2f s · %d left", mark, row, end.Status, float64(end.Millis)/1000, left)
	if end.Reason != "" {
		words += " · " + end.Reason + " · " + string(end.Run)
	}
	return escapeLines(strings.ReplaceAll(words, "\n", " "))
}

// sweepDocument is what run --json prints for a sweep.
type sweepDocument struct {
	Sweep    runs.SweepID `json:"sweep_id"`
	Dir      string       `json:"sweep_dir"`
	Status   runs.Status  `json:"status"`
	ExitCode int          `json:"exit_code"`
	Digest   runs.Digest  `json:"digest"` // of the sweep's journal: kept elsewhere, it shows every later change
	// Columns of rows are row, the parameters that differ, status, seconds, scraps, run, reason.
	Columns []string  `json:"columns"`
	Rows    codec.Raw `json:"rows"` // objects with all columns; a missing value is null
}

// printSweep prints the table of a sweep and ends with its exit code.
func (a *app) printSweep(done *runs.Sweep, store runs.Store, o *runOptions) error {
	if done.Started.Lanes != nil {
		return a.printLanes(done, store, o)
	}
	table := sweep.Table(done, store)
	id := done.Started.SweepID
	if o.json {
		var rows bytes.Buffer
		if err := table.Write(&rows, "json"); err != nil {
			return err
		}
		doc := sweepDocument{Sweep: id, Dir: done.Dir, Status: done.Completed.Status, ExitCode: done.Completed.ExitCode,
			Digest: done.Digest, Columns: table.Columns, Rows: rows.Bytes()}
		if err := a.printJSON("sweep", doc); err != nil {
			return err
		}
	} else if err := table.Write(a.stdout, "table"); err != nil {
		return err
	}
	passed, missing := 0, done.MissingRows()
	for i := range done.Rows {
		if row := &done.Rows[i]; !row.Missing() && row.Ended.Status.Passed() {
			passed++
		}
	}
	if o.level() <= slog.LevelInfo {
		a.tell("markmill: %s: %d of %d runs passed · evidence: %s\n", string(done.Completed.Status), passed,
			len(done.Rows), files.Short(done.Dir))
		if missing > 0 {
			a.tell("markmill: %d runs are missing: markmill resume %s%s\n", missing, string(id),
				o.sweep.queue.again())
		}
	}
	return endWith(done.Completed.ExitCode)
}

// resumeSweep runs what is missing of a sweep, or failed. Rows that are jobs of a queue are put back there (queue
// retry).
func (a *app) resumeSweep(ctx context.Context, dir string, o *runOptions) error {
	if err := o.check(a.world, ""); err != nil {
		return err
	}
	s, err := sweep.Resume(dir, o.req.Given, o.sweep.queue.name == "", a.sweepWork("-", o))
	if err != nil {
		return err
	}
	if s.Done() {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: string(s.ID()) +
			" has no run that is missing or failed",
			Hint: "markmill diff " + string(s.ID()) + " shows its table"}
	}
	return a.runSweep(ctx, s, o)
}

// sweepNamed is the directory of the sweep that a word names; "" where it names something else.
func (p *places) sweepNamed(word string) (string, error) {
	store, _, err := p.here()
	if err != nil {
		return "", err
	}
	return store.FindSweep(word)
}

// verifySweep is verify of a sweep.
func (a *app) verifySweep(dir, allowed string, signed, asJSON bool) error {
	if dir == "" {
		return nil
	}
	_, src, err := a.here()
	if err != nil {
		return err
	}
	signers, err := a.signers(allowed, api.RootOf(src))
	if err != nil {
		return err
	}
	if signed {
		return usagef("--signed is for runs, and a sweep has no signature: verify its runs")
	}
	got, err := runs.VerifySweep(dir, api.FoldView, signers)
	if err != nil {
		return err
	}
	verifyLanes(got, runs.StoreOfSweep(dir))
	out := verified{OK: len(got.Findings) == 0, Findings: append([]runs.Finding{}, got.Findings...), Notes: got.Notes}
	if got.Sweep != nil {
		out.Sweep = got.Sweep.Started.SweepID
	}
	holds := ""
	if out.OK {
		holds = fmt.Sprintf("%s: everything holds (%d rows, %d runs)", out.Sweep, len(got.Sweep.Rows), got.Runs)
	}
	return a.printVerified(out, holds, asJSON)
}

// convertSweep writes the page of a sweep.
func (a *app) convertSweep(dir, to, form string) error {
	done, err := runs.LoadSweep(dir)
	if err != nil {
		return err
	}
	if done.Started.Lanes != nil && form == "" && notebooks.FormOfName(to) == notebooks.FormNative {
		page, err := sweep.Output(done, runs.StoreOfSweep(dir))
		if err != nil {
			return err
		}
		return a.writeResult("OUTPUT", to, page, sweep.Picked(done, runs.StoreOfSweep(dir))...)
	}
	if form != formHTML {
		return usagef("%s is a sweep, and becomes an HTML page only: name an OUTPUT that ends in .html; markmill "+
			"notebook scraps writes its table", dir)
	}
	page, err := sweep.Page(done, runs.StoreOfSweep(dir))
	if err != nil {
		return err
	}
	return a.writeResult("OUTPUT", to, page)
}

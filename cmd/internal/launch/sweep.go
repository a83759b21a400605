package launch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/sweep"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
	"markmill/runs/outfile"
)

// sweepFlags are the names of the options that only a sweep has.
var sweepFlags = []string{"matrix", "table", "include", "exclude", "max-runs", "jobs", "max-failures",
	"fail-fast"}

// WorkFlags are the options of how the runs of a sweep go on.
func (o *sweepOptions) WorkFlags(f *pflag.FlagSet) {
	f.IntVarP(&o.work.Jobs, "jobs", "j", 0,
		"do `N` runs of a sweep, or attempts, at once (default and most: one for each processor)")
	f.IntVar(&o.work.MaxFailures, "max-failures", 0, "start no more runs of a sweep after `N` did not pass")
	f.BoolVar(&o.work.FailFast, "fail-fast", false,
		"interrupt a sweep at the first run that does not pass")
}

// check returns an error for options that do not go together.
func (o *Options) CheckSweep(c *cobra.Command, output string) error {
	if o.Sweep.work.Jobs < 0 || c.Flags().Changed("jobs") && o.Sweep.work.Jobs < 1 {
		return program.Usagef("-j %d runs nothing; give how many runs may go on at once", o.Sweep.work.Jobs)
	}
	if !o.Sweep.Asked() {
		for _, name := range sweepFlags {
			if f := c.Flags().Lookup(name); f != nil && f.Changed && name != "jobs" {
				return program.Usagef("--%s is for sweeps: give --matrix NAME=VALUES or --table FILE", name)
			}
		}
		return nil
	}
	for _, name := range []string{"frozen", "prepare-only", "events", "stdout-file", "stderr-file", "log-output",
		"keep-worktree", "branch", "inject-paths", "inject-input-path", "inject-output-path"} {
		if c.Flags().Changed(name) {
			return program.Usagef("--%s is for one run, and a sweep makes several; leave it out", name)
		}
	}
	switch {
	case output == "-" || remote.Is(output):
		return program.Usagef("OUTPUT %s: a sweep writes files; give a path such as 'out/{NAME}.md'", output)
	case output != "" && o.Dirty == string(engine.DirtyInclude):
		return program.Usagef(
			"--dirty include would take the OUTPUT of one run into the next; commit the changes, or " +
				"leave OUTPUT out")
	case o.Sweep.maxRuns < 1:
		return program.Usagef("--max-runs %d allows nothing", o.Sweep.maxRuns)
	case o.Sweep.work.MaxFailures < 0 || c.Flags().Changed("max-failures") && o.Sweep.work.MaxFailures < 1:
		return program.Usagef("--max-failures %d; give a number from 1 on, or leave it out", o.Sweep.work.MaxFailures)
	}
	return nil
}

// grid reads the options into a grid.
func grid(a *program.App, o *sweepOptions) (g sweep.Grid, err error) {
	g.MaxRuns = o.maxRuns
	for _, word := range o.matrix {
		name, text, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return g, program.Usagef("--matrix %s: write NAME=VALUES, such as month=1..12", word)
		}
		values, err := params.ParseValues("--matrix", name, text, o.maxRuns)
		if err != nil {
			return g, err
		}
		g.Axes = append(g.Axes, sweep.Axis{Name: name, Values: values})
	}
	if o.table != "" {
		data, err := a.ReadInput(o.table, "a table of parameters", program.MaxParams)
		if err != nil {
			return g, files.ReadError(o.table, err)
		}
		if g.Table, err = params.ReadTable(program.Name(o.table), data); err != nil {
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
					return nil, program.Usagef("%s %s: write NAME=VALUE,NAME=VALUE", option, word)
				}
				list = append(list, params.Given{Name: name, Text: text, Source: option})
			}
		}
		out = append(out, list)
	}
	return out, nil
}

// SweepNotebook runs a sweep.
func SweepNotebook(ctx context.Context, a *program.App, path, output string, o *Options) error {
	grid, err := grid(a, &o.Sweep)
	if err != nil {
		return err
	}
	s, err := sweep.Plan(ctx, sweep.Options{Grid: grid, Request: o.Req, Output: output, Work: sweepWork(a, path, o)})
	if err != nil {
		return err
	}
	AnnounceFolder(a, o)
	for _, w := range s.Warnings {
		if o.Level() <= slog.LevelWarn {
			a.Tell("markmill: warning: %s\n", w)
		}
	}
	return runSweep(ctx, a, s, o)
}

// sweepWork says how the runs of a sweep are made.
func sweepWork(a *program.App, path string, o *Options) sweep.Work {
	work := o.Sweep.work
	work.Engine = func() (*engine.Engine, error) {
		eng, _, err := a.EngineFor(path, o.Repo)
		return eng, err
	}
	work.Prepare = func(req *engine.Request, output string) error {
		one := *o
		one.Req = *req
		if err := a.CheckTarget("OUTPUT", output); err != nil {
			return err
		}
		err := one.SetOutput(output)
		*req = one.Req
		return err
	}
	return work
}

// runSweep runs a sweep that is planned, shows each run as it ends, and prints the table.
func runSweep(ctx context.Context, a *program.App, s *sweep.Sweep, o *Options) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	eng, work := s.Engine, &s.Work
	key, err := a.SignKey(eng.Config)
	if err != nil {
		return err
	}
	work.Force = a.Force
	work.Sinks = func(output string, file *outfile.File) engine.Sinks {
		return Sinks(a, output, file, nil, key, engine.Observer{Files: Written(a, &Follower{})})
	}
	shown := o.Level() <= slog.LevelInfo
	if shown && work.Jobs > 1 && s.Shared() {
		a.Tell("markmill: the runs work in the same folder, so they go on one after another\n")
	}
	if shown {
		what := "run"
		if s.Lanes() {
			what = "attempt"
		}
		a.Tell("markmill: %s: %s\n", string(s.ID()), plain.Counted(s.Len(), what))
	}
	work.Ended = func(row int, end runs.SweepRunEndedData, left int) {
		if shown && (o.Progress || !end.Status.Passed()) {
			fmt.Fprintln(a.Stderr, sweepLine(a, s.Row(row), end, left))
		}
	}
	done, err := runRows(ctx, a, &o.Sweep.Queue, key != "", s)
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
	Retain(a, eng, eng.Source, ran...)
	return printSweep(a, done, eng.Store(done.Started.Repository), o)
}

// sweepLine is the line of a run that has ended.
func sweepLine(a *program.App, row string, end runs.SweepRunEndedData, left int) string {
	words := fmt.Sprintf("%s %s · %s · %.2f s · %d left", result.RunMark(end.Status), row,
		result.StatusWords(string(end.Status)), float64(end.Millis)/1000, left)
	if end.Reason != "" {
		words += " · " + end.Reason + " · " + string(end.Run)
	}
	return program.EscapeLines(strings.ReplaceAll(words, "\n", " "))
}

// SweepDocument is what run --json prints for a sweep.
type SweepDocument struct {
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
func printSweep(a *program.App, done *runs.Sweep, store runs.Store, o *Options) error {
	if done.Started.Lanes != nil {
		return printLanes(a, done, store, o)
	}
	table := sweep.Table(done, store)
	id := done.Started.SweepID
	if o.JSON {
		var rows bytes.Buffer
		if err := table.Write(&rows, "json"); err != nil {
			return err
		}
		doc := SweepDocument{Sweep: id, Dir: done.Dir, Status: done.Completed.Status, ExitCode: done.Completed.ExitCode,
			Digest: done.Digest, Columns: table.Columns, Rows: rows.Bytes()}
		if err := a.PrintJSON("sweep", doc); err != nil {
			return err
		}
	} else if err := table.Write(a.Stdout, "table"); err != nil {
		return err
	}
	passed, missing := 0, done.MissingRows()
	for i := range done.Rows {
		if row := &done.Rows[i]; !row.Missing() && row.Ended.Status.Passed() {
			passed++
		}
	}
	if o.Level() <= slog.LevelInfo {
		a.Tell("markmill: %s: %d of %d runs passed · evidence: %s\n", string(done.Completed.Status), passed,
			len(done.Rows), files.Short(done.Dir))
		if missing > 0 {
			a.Tell("markmill: %d runs are missing: markmill resume %s%s\n", missing, string(id),
				o.Sweep.Queue.again())
		}
	}
	return program.EndWith(done.Completed.ExitCode)
}

// ResumeSweep runs what is missing of a sweep, or failed. Rows that are jobs of a queue are put back there (queue
// retry).
func ResumeSweep(ctx context.Context, a *program.App, dir string, o *Options) error {
	if err := o.Check(a.World, ""); err != nil {
		return err
	}
	s, err := sweep.Resume(dir, o.Req.Given, o.Sweep.Queue.Name == "", sweepWork(a, "-", o))
	if err != nil {
		return err
	}
	if s.Done() {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: string(s.ID()) +
			" has no run that is missing or failed",
			Hint: "markmill diff " + string(s.ID()) + " shows its table"}
	}
	return runSweep(ctx, a, s, o)
}

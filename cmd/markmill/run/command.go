package run

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill/check"
	"markmill/engine"
	"markmill/notebooks/params"
	"markmill/render"
	"markmill/render/jupyter"
)

// runMore is what --help-all says besides.
const runMore = `With --matrix or --table it is a sweep: a run for each combination of values, or each row, which share the
processors. A table of them is printed at the end. OUTPUT has the names of parameters in braces. The sweep has a
record of its own, which names its runs: markmill resume, verify, diff and convert take its id, or last-sweep.

With attempts= at an agent's step, --attempts or --backend it compares attempts of coding agents: with each backend, and
so many times with each. The attempts have worktrees of their own, one base commit and one contract; the record of the
comparison is a sweep. A backend that is not admitted, or cannot be used here, stays in the table with its reason. The
table says of each attempt how it ended, what its tests said, whether it changed only what may be changed, how much it
changed, and what it took. Attempts with the same letter have the same result tree. The tests and reviews of a tree run
twice: where they differ they are flaky, and no attempt with that tree counts as passed. --pick takes an attempt: the
first that passes, after which none is begun; the one that passes with the smallest change; or none. Without it pick: of
the notebook decides, else the first that passes, and with --backend none: then a person chooses with markmill apply RUN.
OUTPUT is the output notebook of that attempt, or else the notebook alone, with the comparison.

With --outdated it takes folders and files, and runs only the notebooks below them (default: the repository)
whose output is not current (see markmill status), each with the parameters that the output says it was given,
to the same path, without the change of that run where the tree has it already. Uncommitted changes count, and
are taken along, unless --dirty or --base says otherwise.

With --watch it runs again when the notebook or a file that its steps have read is saved, until Ctrl-C. A save during a
run ends that run, whose record says so, and the next one begins: at the first step that read what was saved, or that
was edited, with the steps before it carried over and their proof. Where that is not possible it says why, and runs them
all. Where it is not known what the steps read, every save counts that Git does not ignore. Uncommitted changes are
taken along: otherwise a save would change nothing. OUTPUT is written at the end of each run.`

func Command(a *program.App) *cobra.Command {
	o := &launch.Options{}
	c := &cobra.Command{
		Use: "run NOTEBOOK [OUTPUT]", Short: "Run a notebook in a worktree of its own and keep the proof",
		Long: `Runs the steps of a notebook one by one, in live interpreters, inside an isolated Git worktree of the base commit
(outside a repository: in the current folder). The record of the run, with the diffs, logs and scraps, is kept under
.markmill/runs; the output notebook is written to OUTPUT too, when it is given (- for standard output). An OUTPUT that
ends in .ipynb is a Jupyter notebook, one in .md is Markdown. Without an ending a Jupyter notebook leaves a Jupyter
notebook, all others leave Markdown.

--matrix and --table run it with many values (a sweep), --attempts and --backend compare coding agents, --outdated runs
what is not current, and --watch runs again when a file is saved. --help-all says more of each.

A failed step shows its traceback, or the end of what it printed, below its line on standard error.

Exit codes: 0 pass, 1 fail, 2 usage (nothing ran), 3 blocked, 128+n ended by signal n.`,
		Example: `  markmill run examples/system-health.md health.out.md -p threshold=0.5
  markmill run task.md -p name value -f params.yaml --only build,test
  markmill run report.md 'out/{region}-{month}.md' --matrix region=eu,us --matrix month=1..12 -j 4
  markmill run task.md --json | jq .status
  markmill run task.md --backend claude,codex --attempts 3
  markmill run --watch report.md report.out.md
  markmill run --outdated reports`,
		Annotations: map[string]string{help.More: runMore},
		Args:        runArgs(a, o),
		RunE: func(c *cobra.Command, paths []string) error {
			o.Lanes.Changed = c.Flags().Changed
			switch whole, err := c.Flags().GetBool(help.HelpAll); {
			case whole || err != nil:
				return cmp.Or(err, c.Help())
			case o.Version:
				return a.PrintVersion()
			case o.Outdated:
				return runOutdated(c.Context(), a, c, paths, o)
			case o.Watch:
				return watchNotebook(a, c, paths, o)
			}
			for _, name := range []string{"only", "from", "until"} {
				if f := c.Flags().Lookup(name); f.Changed && strings.Trim(f.Value.String(), "[]") == "" {
					return program.Usagef("--%s names no step; give an id, or leave the option out", name)
				}
			}
			for _, name := range []string{"base", "branch"} { // a script's variable may be unset
				if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return program.Usagef("--%s names nothing; give a name, or leave the option out", name)
				}
			}
			if paths[0] == "-" && o.StdinParams {
				return program.Usagef("NOTEBOOK - and -f - both want standard input; give one of them a path")
			}
			output := ""
			if len(paths) == 2 {
				output = paths[1]
			}
			if err := o.CheckSweep(c, output); err != nil {
				return err
			}
			return RunNotebook(c.Context(), a, paths[0], output, o)
		},
	}
	f := c.Flags()
	a.ParamFlags(f, &o.Req.Given, &o.StdinParams)
	f.BoolVar(&o.Req.AllowErrors, "allow-errors", false,
		"continue after a step that fails, as with allow_errors in the notebook: only tests and reviews fail the run")
	f.BoolVar(&o.Req.AllowUnknown, "allow-unknown-parameters", false,
		"take parameters that the notebook does not declare, as papermill does")
	f.BoolVar(&o.InjectPaths, "inject-paths", false,
		"give the paths of input and output as PAPERMILL_INPUT_PATH and PAPERMILL_OUTPUT_PATH")
	f.BoolVar(&o.InjectInput, "inject-input-path", false, "give PAPERMILL_INPUT_PATH")
	f.BoolVar(&o.InjectOutput, "inject-output-path", false, "give PAPERMILL_OUTPUT_PATH")
	program.OnOff(f, &o.PrepareOnly, "prepare-only", "prepare-execute", false,
		"inject the parameters, write OUTPUT, run nothing", "run the steps, as without it")
	program.OnOff(f, &o.Req.ReportMode, "report-mode", "no-report-mode", false,
		"fold the code of the steps: in Jupyter, and on the page of the output notebook",
		"show the code of the steps in OUTPUT")
	f.BoolVar(&o.Req.Timings, "timings", false,
		"note in a Jupyter OUTPUT when each cell ran, as nbclient does; it then differs from run to run")
	f.BoolVar(&o.Frozen, "frozen", false, "write no OUTPUT; fail where it would change, and show how")
	f.BoolVar(&o.Help, "help-notebook", false, "show the notebook's parameters and steps instead (as check --show)")
	f.StringVarP(&o.Req.Language, "language", "l", "", "`LANGUAGE` of steps that name none")
	f.StringVar(&o.EngineName, "engine", "", "for papermill's scripts: markmill, or nbclient for the same")
	o.WorkOptions.Flags(f, &o.Req)
	f.StringVar(&o.RunTimeout, "run-timeout", "",
		"limit of the whole run, instead of the notebook's, a `TIME` in seconds, or 90s, 10m, 1h")
	f.StringVar(&o.StartTimeout, "start-timeout", "", "limit of a kernel's start, a `TIME` (default 60 s)")
	f.StringSliceVar(&o.Only, "only", nil, "run only the steps `ID,…` (and setup and finally steps)")
	f.StringVar(&o.From, "from", "", "begin at the step `ID`")
	f.StringVar(&o.Until, "until", "", "end after the step `ID`")
	f.StringSliceVar(&o.SkipTags, "skip-tag", nil, "leave out steps with a `TAG`")
	f.Var(&o.Floor, "floor", "what the server that calls the program imposes, as JSON")
	f.Lookup("floor").Hidden = true
	f.StringVar(&o.Req.Reuse, "reuse", "",
		"carry over unchanged steps of an earlier run that passed here, of a record from elsewhere none, signed or "+
			"not: `WHICH` is on (all but tests), tests, off")
	f.Lookup("reuse").NoOptDefVal = engine.ReuseOn
	f.BoolVar(&o.Req.InPlace, "in-place", false, "run in the checkout itself instead of a worktree")
	f.StringVar(&o.Req.Branch, "branch", "",
		"commit the change on a new branch `NAME` when the run passes; its author is the user, by the name in Git")
	f.BoolVar(&o.NoOutput, "no-output", false, "with --branch: leave the output notebook out of the branch")
	f.StringSliceVar(&o.Req.Copy, "copy", nil, "ignored files to take into the worktree, by a `PATTERN` such as .env")
	f.StringSliceVar(&o.Req.Data, "data", nil,
		"ignored files that the run reads, and leaves in the checkout if it passes, by a `PATTERN` such as data/**")
	f.BoolVar(&o.DropDamaged, "drop-damaged", false,
		"run an output notebook whose regions were edited; the edits are dropped")
	f.BoolVar(&o.Outdated, "outdated", false, "run the notebooks below the paths whose output is not current")
	f.BoolVar(&o.Watch, "watch", false, "run it again whenever something that it depends on is saved")
	o.Sweep.Flags(f)
	o.Lanes.Flags(f)
	a.ForceFlag(f)
	o.ViewFlags(f)
	papermillFlags(o, f)
	help.HelpAllFlag(c)
	return c
}

// runArgs checks the arguments of run.
func runArgs(a *program.App, o *launch.Options) cobra.PositionalArgs {
	return func(c *cobra.Command, words []string) error {
		switch {
		case o.Version || c.Flags().Changed(help.HelpAll):
			return nil
		case o.Outdated:
			return checkOutdated(c)
		}
		if err := program.Args(1, 2)(c, words); err != nil {
			return program.PipeHint(a.ParamHint(err, words), len(words))
		}
		return nil
	}
}

// papermillFlags accepts the options of papermill whose effect the record has anyway, so that its scripts run
// unchanged. They are not shown in the help.
func papermillFlags(o *launch.Options, f *pflag.FlagSet) {
	program.OnOff(f, &o.SaveEach, "request-save-on-cell-execute", "no-request-save-on-cell-execute", false,
		"for papermill's scripts: the record has each step as it ends", "for papermill's scripts: as without it")
	f.IntVar(&o.Autosave, "autosave-cell-every", 0,
		"for papermill's scripts: the record has what a step prints as it comes")
	f.BoolVar(&o.Version, "version", false, "say which build this is, as markmill version")
	for _, name := range []string{"request-save-on-cell-execute", "autosave-cell-every", "version"} {
		f.Lookup(name).Hidden = true
	}
}

// RunNotebook plans and runs a notebook.
func RunNotebook(ctx context.Context, a *program.App, path, output string, o *launch.Options) error {
	if err := o.Check(a.World, output); err != nil {
		return err
	}
	path, err := inputPath(a, path, o)
	if err != nil {
		return err
	}
	given := len(o.Req.Given) > 0 || o.Sweep.Asked()
	src, madeOf, err := a.ReadRun(path, o.DropDamaged, given)
	if err != nil {
		return err
	}
	o.Req.MadeOf = madeOf
	eng, repo, err := a.EngineFor(path, o.Repo)
	if err != nil {
		return err
	}
	eng.Floor = o.Floor.Floor
	o.Req.Path, o.Req.Source, o.Req.Repository = program.Name(path), src, engines.RootOf(repo)
	if err := o.ChooseFolder(); err != nil {
		return err
	}
	if o.Help {
		return check.Inspect(a, eng, o.Req, o.JSON)
	}
	if o.Req.Source, err = a.Runnable(path, src, given); err != nil {
		return err
	}
	if output == "" {
		output = views.LikeSource(eng.Config.Output, program.IsJupyter(path, src))
	}
	compare, err := o.Attempts(eng)
	switch {
	case err != nil:
		return err
	case compare:
		return launch.CompareAttempts(ctx, a, path, output, o)
	case o.Sweep.Asked():
		return launch.SweepNotebook(ctx, a, path, output, o)
	case o.Lanes.Changed != nil && o.Lanes.Changed("jobs"):
		return program.Usagef("--jobs is for sweeps and attempts: give --matrix NAME=VALUES, --table FILE, or " +
			"--attempts N")
	}
	plan, output, err := launch.Plan(ctx, a, eng, path, output, o)
	if err != nil {
		return err
	}
	launch.AnnounceFolder(a, o)
	for _, w := range plan.Notebook().Warnings {
		if o.Level() <= slog.LevelWarn {
			a.Tell("markmill: warning: %s\n", w)
		}
	}
	if o.PrepareOnly && !o.Frozen {
		return prepare(a, plan, output)
	}
	return launch.RunPlan(ctx, a, eng, plan, output, o)
}

// inputPath expands the placeholders in NOTEBOOK. Only given values can replace them, because the notebook is not read
// yet.
func inputPath(a *program.App, path string, o *launch.Options) (string, error) {
	if !views.HasPlaceholders(path) {
		return path, nil
	}
	bound, err := params.Bind("", nil, o.Req.Given,
		params.Options{AllowUnknown: true, IsName: func(string) bool { return true }, Getenv: a.Getenv})
	if err != nil {
		return "", err
	}
	now := a.Now().UTC()
	return params.ExpandPath(path, bound, map[string]string{"date": now.Format(time.DateOnly),
		"now": now.Format(time.RFC3339)})
}

// prepare writes the notebook with its parameters injected.
func prepare(a *program.App, plan *engine.Plan, output string) error {
	req, nb := plan.Request(), plan.Notebook()
	form := cmp.Or(req.OutputForm, nb.Form)
	named, err := program.OutputName(output)
	if err != nil {
		return err
	}
	b, err := render.Prepared(form, nb, plan.Parameters(), plan.Given(), jupyter.OutputPath(named, req.Repository),
		req.ReportMode)
	if err != nil {
		return err
	}
	return a.WriteResult("OUTPUT", output, b)
}

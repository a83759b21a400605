package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/notebooks/percent"
	"markmill/render"
	"markmill/render/jupyter"
	"markmill/render/safe"
	"markmill/runs"
)

// runOptions are the options of run that are not in the engine's request.
type runOptions struct {
	req engine.Request

	workOptions
	startTimeout, runTimeout  string
	from, until               string
	only, skipTags            []string
	engineName                string
	injectPaths               bool
	injectInput, injectOutput bool
	prepareOnly, help         bool
	frozen, noOutput          bool
	dropDamaged               bool
	json                      bool
	events                    string
	progress                  bool
	logOutput                 bool
	saveEach                  bool // papermill's
	autosave                  int  // papermill's, in seconds
	version                   bool
	logLevel                  string
	stdoutFile, stderrFile    string
	stdinParams               bool // -f -
	sweep                     sweepOptions
	lanes                     laneOptions
	outdated                  bool // run what is not current below the paths
	watch                     bool // run again when something is saved
	floor                     floorFlag
}

// floorFlag is the floor that a server imposes on the runs that it starts.
type floorFlag struct{ *engine.Floor }

// Set reads the JSON.
func (f *floorFlag) Set(text string) error { return codec.Unmarshal([]byte(text), &f.Floor) }

func (f *floorFlag) String() string { return "" }

// Type is for the help.
func (f *floorFlag) Type() string { return "JSON" }

func (a *app) runCommand() *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use: "run NOTEBOOK [OUTPUT]", Short: "Run a notebook in a worktree of its own and keep the proof",
		Long: `Runs the steps of a notebook one by one, in live interpreters, inside an isolated Git worktree
of the base commit (outside a repository: in the current folder). The record of the run, with the diffs,
logs and scraps, is kept under .markmill/runs; the output notebook is written to OUTPUT too, when
it is given (- for standard output). An OUTPUT that ends in .ipynb is a Jupyter notebook, one in .md
is Markdown. Without an ending a Jupyter notebook leaves a Jupyter notebook, all others leave Markdown.

With --matrix or --table it is a sweep: a run for each combination of values, or each row, which share the
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
taken along: otherwise a save would change nothing. OUTPUT is written at the end of each run.

A failed step shows its traceback, or the end of what it printed, below its line on standard error.

Exit codes: 0 pass, 1 fail, 2 usage (nothing ran), 3 blocked, 128+n ended by signal n.`,
		Example: `  markmill run examples/system-health.md health.out.md -p threshold=0.5
  markmill run task.md -p name value -f params.yaml --only build,test
  markmill run report.md 'out/{region}-{month}.md' --matrix region=eu,us --matrix month=1..12 -j 4
  markmill run task.md --json | jq .status
  markmill run task.md --backend claude,codex --attempts 3
  markmill run --watch report.md report.out.md
  markmill run --outdated reports`,
		Args: a.runArgs(o),
		RunE: func(c *cobra.Command, paths []string) error {
			o.lanes.changed = c.Flags().Changed
			switch whole, err := c.Flags().GetBool(helpAll); {
			case whole || err != nil:
				return cmp.Or(err, c.Help())
			case o.version:
				return a.printVersion()
			case o.outdated:
				return a.runOutdated(c.Context(), c, paths, o)
			case o.watch:
				return a.watch(c, paths, o)
			}
			for _, name := range []string{"only", "from", "until"} {
				if f := c.Flags().Lookup(name); f.Changed && strings.Trim(f.Value.String(), "[]") == "" {
					return usagef("--%s names no step; give an id, or leave the option out", name)
				}
			}
			for _, name := range []string{"base", "branch"} { // a script's variable may be unset
				if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return usagef("--%s names nothing; give a name, or leave the option out", name)
				}
			}
			if paths[0] == "-" && o.stdinParams {
				return usagef("NOTEBOOK - and -f - both want standard input; give one of them a path")
			}
			output := ""
			if len(paths) == 2 {
				output = paths[1]
			}
			if err := o.checkSweep(c, output); err != nil {
				return err
			}
			return a.runNotebook(c.Context(), paths[0], output, o)
		},
	}
	f := c.Flags()
	a.paramFlags(f, &o.req.Given, &o.stdinParams)
	f.BoolVar(&o.req.AllowErrors, "allow-errors", false,
		"continue after a step that fails, as with allow_errors in the notebook: only tests and reviews fail the run")
	f.BoolVar(&o.req.AllowUnknown, "allow-unknown-parameters", false,
		"take parameters that the notebook does not declare, as papermill does")
	f.BoolVar(&o.injectPaths, "inject-paths", false,
		"give the paths of input and output as PAPERMILL_INPUT_PATH and PAPERMILL_OUTPUT_PATH")
	f.BoolVar(&o.injectInput, "inject-input-path", false, "give PAPERMILL_INPUT_PATH")
	f.BoolVar(&o.injectOutput, "inject-output-path", false, "give PAPERMILL_OUTPUT_PATH")
	onOff(f, &o.prepareOnly, "prepare-only", "prepare-execute", false,
		"inject the parameters, write OUTPUT, run nothing", "run the steps, as without it")
	onOff(f, &o.req.ReportMode, "report-mode", "no-report-mode", false,
		"fold the code of the steps: in Jupyter, and on the page of the output notebook",
		"show the code of the steps in OUTPUT")
	f.BoolVar(&o.req.Timings, "timings", false,
		"note in a Jupyter OUTPUT when each cell ran, as nbclient does; it then differs from run to run")
	f.BoolVar(&o.frozen, "frozen", false, "write no OUTPUT; fail where it would change, and show how")
	f.BoolVar(&o.help, "help-notebook", false, "show the notebook's parameters and steps instead (as check --show)")
	f.StringVarP(&o.req.Language, "language", "l", "", "`LANGUAGE` of steps that name none")
	f.StringVar(&o.engineName, "engine", "", "for papermill's scripts: markmill, or nbclient for the same")
	o.workOptions.flags(f, &o.req)
	f.StringVar(&o.runTimeout, "run-timeout", "",
		"limit of the whole run, instead of the notebook's, a `TIME` in seconds, or 90s, 10m, 1h")
	f.StringVar(&o.startTimeout, "start-timeout", "", "limit of a kernel's start, a `TIME` (default 60 s)")
	f.StringSliceVar(&o.only, "only", nil, "run only the steps `ID,…` (and setup and finally steps)")
	f.StringVar(&o.from, "from", "", "begin at the step `ID`")
	f.StringVar(&o.until, "until", "", "end after the step `ID`")
	f.StringSliceVar(&o.skipTags, "skip-tag", nil, "leave out steps with a `TAG`")
	f.Var(&o.floor, "floor", "what the server that calls the program imposes, as JSON")
	f.Lookup("floor").Hidden = true
	f.StringVar(&o.req.Reuse, "reuse", "",
		"carry over unchanged steps of an earlier run that passed here, of a record from elsewhere none, signed or "+
			"not: `WHICH` is on (all but tests), tests, off")
	f.Lookup("reuse").NoOptDefVal = engine.ReuseOn
	f.BoolVar(&o.req.InPlace, "in-place", false, "run in the checkout itself instead of a worktree")
	f.StringVar(&o.req.Branch, "branch", "",
		"commit the change on a new branch `NAME` when the run passes; its author is the user, by the name in Git")
	f.BoolVar(&o.noOutput, "no-output", false, "with --branch: leave the output notebook out of the branch")
	f.StringSliceVar(&o.req.Copy, "copy", nil, "ignored files to take into the worktree, by a `PATTERN` such as .env")
	f.StringSliceVar(&o.req.Data, "data", nil,
		"ignored files that the run reads, and leaves in the checkout if it passes, by a `PATTERN` such as data/**")
	f.BoolVar(&o.dropDamaged, "drop-damaged", false,
		"run an output notebook whose regions were edited; the edits are dropped")
	f.BoolVar(&o.outdated, "outdated", false, "run the notebooks below the paths whose output is not current")
	f.BoolVar(&o.watch, "watch", false, "run it again whenever something that it depends on is saved")
	o.sweep.flags(f)
	o.lanes.flags(f)
	a.forceFlag(f)
	o.viewFlags(f)
	o.papermillFlags(f)
	helpAllFlag(c)
	return c
}

// runArgs checks the arguments of run.
func (a *app) runArgs(o *runOptions) cobra.PositionalArgs {
	return func(c *cobra.Command, words []string) error {
		switch {
		case o.version || c.Flags().Changed(helpAll):
			return nil
		case o.outdated:
			return checkOutdated(c)
		}
		if err := args(1, 2)(c, words); err != nil {
			return pipeHint(a.paramHint(err, words), len(words))
		}
		return nil
	}
}

// defaultRunOptions are the options of a command that takes only some of those of run.
func defaultRunOptions() *runOptions {
	return &runOptions{workOptions: workOptions{dirty: string(engine.DirtyIgnore)}}
}

// workOptions are the options of run and test for how steps run, and on what.
type workOptions struct{ repo, dirty, stepTimeout string }

func (o *workOptions) flags(f *pflag.FlagSet, req *engine.Request) {
	o.stepFlags(f, req)
	f.StringVar(&req.Base, "base", "", "revision `REV` that the worktree is made of (default HEAD)")
	f.StringVar(&o.dirty, "dirty", string(engine.DirtyIgnore),
		"uncommitted changes: ignore, include (take them along), block")
}

// stepFlags are the options for how steps run.
func (o *workOptions) stepFlags(f *pflag.FlagSet, req *engine.Request) {
	f.StringVarP(&req.Kernel, "kernel", "k", "", "`KERNEL` for the steps whose language it runs")
	f.StringVar(&req.Tree, "tree", "", "`PLACE` where steps find the worktree: mounted (at the checkout's own path, "+
		"or the run is blocked), separate (default: mounted where it can be)")
	f.StringVar(&req.Cwd, "cwd", "", "`FOLDER` in the worktree where steps start")
	f.StringVar(&o.stepTimeout, "execution-timeout", "",
		"limit of a step that sets none, a `TIME` in seconds, or 90s, 10m, 1h; 0 gives none")
	f.StringVar(&o.repo, "repo", "",
		"`FOLDER` of the Git repository to work on (default: the one around the working directory, or else around the "+
			"notebook)")
}

// settle reads the values into the request.
func (o *workOptions) settle(req *engine.Request) (err error) {
	// papermill's 0 is no limit.
	if seconds, notNumber := strconv.Atoi(o.stepTimeout); notNumber != nil || seconds != 0 {
		if req.StepTimeoutNS, err = limitNS("--execution-timeout", o.stepTimeout); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"", runs.TreeMounted, runs.TreeSeparate}, req.Tree) {
		return usagef("--tree %s is not known; known: mounted, separate", req.Tree)
	}
	switch req.Dirty = engine.Dirty(o.dirty); req.Dirty {
	case engine.DirtyIgnore, engine.DirtyInclude, engine.DirtyBlock:
		return nil
	}
	return usagef("--dirty %s is not known; known: ignore, include, block", o.dirty)
}

// viewFlags are the options for what is shown of a run and what is left besides its record.
func (o *runOptions) viewFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.req.KeepTree, "keep-worktree", false, "keep the worktree and say where it is")
	f.BoolVar(&o.json, "json", false, jsonWords("run"))
	f.StringVar(&o.events, "events", "", "write the events to a `FILE` as they come (- is standard output)")
	onOff(f, &o.progress, "progress-bar", "no-progress-bar", true, "show each step as it runs",
		"show no progress: only steps that fail, and how the run ended")
	onOff(f, &o.logOutput, "log-output", "no-log-output", false, "print what the steps print, each line with its step",
		"show what the steps print at failures only")
	f.StringVar(&o.logLevel, "log-level", "INFO",
		"what is printed on standard error: DEBUG, INFO, WARNING, ERROR, CRITICAL, NOTSET")
	f.StringVar(&o.stdoutFile, "stdout-file", "", "write the steps' standard output to a `FILE` too")
	f.StringVar(&o.stderrFile, "stderr-file", "", "write the steps' standard error to a `FILE` too")
}

// paramFlags are papermill's options for parameters. stdin is set if one of them reads standard input.
func (a *app) paramFlags(f *pflag.FlagSet, given *[]params.Given, stdin *bool) {
	parameterFlag(f, given)
	f.VarP(givenFlag{given, "NAME=VALUE", pair("-r", true)}, "parameters-raw", "r",
		"a parameter, always a string; also -r NAME VALUE")
	f.VarP(givenFlag{given, "FILE", func(path string) ([]params.Given, error) {
		*stdin = *stdin || path == "-"
		return a.fileParams(path)
	}}, "parameters-file", "f", "parameters from a YAML or JSON file (- is standard input)")
	f.VarP(givenFlag{given, "YAML", func(v string) ([]params.Given, error) {
		return params.ParseGiven("-y", "-y",
			[]byte(v))
	}},
		"parameters-yaml", "y", "parameters from YAML text")
	f.VarP(givenFlag{given, "BASE64", base64Params}, "parameters-base64", "b", "parameters from base64 of YAML text")
}

// parameterFlag is -p.
func parameterFlag(f *pflag.FlagSet, given *[]params.Given) {
	f.VarP(givenFlag{given, "NAME=VALUE", pair("-p", false)}, "parameters", "p",
		"a parameter, read by its declared type; also -p NAME VALUE")
}

// papermillFlags accepts the options of papermill whose effect the record has anyway, so that its scripts run
// unchanged. They are not shown in the help.
func (o *runOptions) papermillFlags(f *pflag.FlagSet) {
	onOff(f, &o.saveEach, "request-save-on-cell-execute", "no-request-save-on-cell-execute", false,
		"for papermill's scripts: the record has each step as it ends", "for papermill's scripts: as without it")
	f.IntVar(&o.autosave, "autosave-cell-every", 0,
		"for papermill's scripts: the record has what a step prints as it comes")
	f.BoolVar(&o.version, "version", false, "say which build this is, as markmill version")
	for _, name := range []string{"request-save-on-cell-execute", "autosave-cell-every", "version"} {
		f.Lookup(name).Hidden = true
	}
}

// savesMeanwhile is the option of papermill that asks for an OUTPUT that grows during the run; "" for none.
func (o *runOptions) savesMeanwhile() string {
	switch {
	case o.autosave != 0:
		return "--autosave-cell-every"
	case o.saveEach:
		return "--request-save-on-cell-execute"
	}
	return ""
}

// runNotebook plans and runs a notebook.
func (a *app) runNotebook(ctx context.Context, path, output string, o *runOptions) error {
	if err := o.check(a.world, output); err != nil {
		return err
	}
	path, err := a.inputPath(path, o)
	if err != nil {
		return err
	}
	given := len(o.req.Given) > 0 || o.sweep.asked()
	src, madeOf, err := a.readRun(path, o.dropDamaged, given)
	if err != nil {
		return err
	}
	o.req.MadeOf = madeOf
	eng, repo, err := a.engineFor(path, o.repo)
	if err != nil {
		return err
	}
	eng.Floor = o.floor.Floor
	o.req.Path, o.req.Source, o.req.Repository = name(path), src, api.RootOf(repo)
	if err := o.chooseFolder(); err != nil {
		return err
	}
	if o.help {
		return a.inspect(eng, o.req, o.json)
	}
	if o.req.Source, err = a.runnable(path, src, given); err != nil {
		return err
	}
	if output == "" {
		output = api.LikeSource(eng.Config.Output, isJupyter(path, src))
	}
	compare, err := o.attempts(eng)
	switch {
	case err != nil:
		return err
	case compare:
		return a.compareAttempts(ctx, path, output, o)
	case o.sweep.asked():
		return a.sweepNotebook(ctx, path, output, o)
	case o.lanes.changed != nil && o.lanes.changed("jobs"):
		return usagef("--jobs is for sweeps and attempts: give --matrix NAME=VALUES, --table FILE, or " +
			"--attempts N")
	}
	plan, output, err := a.plan(ctx, eng, path, output, o)
	if err != nil {
		return err
	}
	a.announceFolder(o)
	for _, w := range plan.Notebook().Warnings {
		if o.level() <= slog.LevelWarn {
			a.tell("markmill: warning: %s\n", w)
		}
	}
	if o.prepareOnly && !o.frozen {
		return a.prepare(plan, output)
	}
	return a.runPlan(ctx, eng, plan, output, o)
}

// plan plans the run of a notebook that was read, and returns the path of OUTPUT with its placeholders expanded.
func (a *app) plan(ctx context.Context, eng *engine.Engine, path, output string, o *runOptions) (
	plan *engine.Plan, to string, err error) {
	if o.req.ID, err = eng.NewID(o.req.Path); err != nil {
		return nil, "", err
	}
	if output, err = api.OutputPath(output, eng, o.req); err != nil {
		return nil, "", err
	}
	if err := o.checkTargets(a.world, output); err != nil { // the names in it stand for values now
		return nil, "", err
	}
	o.inject(name(path), output)
	if err := o.setOutput(output); err != nil {
		return nil, "", a.outputHint(err, output)
	}
	o.req.Empty, o.req.Observed = o.prepareOnly && !o.frozen, true
	if plan, err = eng.Plan(ctx, o.req); err != nil {
		return nil, "", err
	}
	return plan, output, a.checkViews(plan, output)
}

// setOutput puts OUTPUT into the request.
func (o *runOptions) setOutput(output string) (err error) {
	req := &o.req
	if req.Output, err = outputName(output); err != nil {
		return err
	}
	if req.OutputForm, err = outputForm(*req, output); err != nil {
		return err
	}
	left := cmp.Or(req.OutputForm, forms.Detect(req.Path, req.Source))
	if req.Timings && (left != notebooks.FormJupyter || o.frozen) {
		return usagef("--timings is for an OUTPUT that is written in Jupyter's form; the record has the times of " +
			"every run (markmill show)")
	}
	req.Frozen, req.Assets = o.frozen, api.AssetsFolder(name(output))
	if req.OutputForm == "" && forms.IsJupyter(req.Path, req.Source) { // the pictures are in the file itself
		req.Assets = ""
	}
	return nil
}

// checkViews returns an error if the views cannot show the run of a plan.
func (a *app) checkViews(plan *engine.Plan, output string) error {
	if err := safe.CheckNormalize(plan.Notebook()); err != nil {
		return err
	}
	if err := render.CheckForm(plan.Request().OutputForm, plan.Notebook()); err != nil {
		return a.outputHint(err, output)
	}
	return nil
}

// outputForm is the form that OUTPUT has by its name; "" is that of the notebook.
func outputForm(req engine.Request, output string) (form notebooks.Form, err error) {
	jupyter := forms.IsJupyter(req.Path, req.Source)
	switch named := notebooks.FormOfName(name(output)); {
	case output == "" || output == "-":
	case named == notebooks.FormJupyter && !jupyter:
		form = named
	case jupyter && named == notebooks.FormNative:
		form = named
	case jupyter && named != notebooks.FormJupyter && !isDevice(output):
		return "", usagef("OUTPUT %s of a Jupyter notebook must end in .ipynb or .md", output)
	}
	if form != "" && files.Same(req.Path, output) {
		return "", usagef("OUTPUT %s is the notebook itself, and would be of another form; give another OUTPUT", output)
	}
	return form, nil
}

// check validates the options and their combinations.
func (o *runOptions) check(w *world, output string) error {
	var err error
	if err = o.settle(&o.req); err != nil {
		return err
	}
	if o.req.RunTimeoutNS, err = limitNS("--run-timeout", o.runTimeout); err != nil {
		return err
	}
	if o.req.StartNS, err = limitNS("--start-timeout", o.startTimeout); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "markmill", "nbclient"}, o.engineName) {
		return usagef("--engine %s is not known: engines are Python classes of papermill's, and Markmill has one of "+
			"its own; leave the option out, or choose who runs the steps with -k", o.engineName)
	}
	if _, known := logLevels[o.logLevel]; !known {
		return usagef("--log-level %s is not known; known: NOTSET, DEBUG, INFO, WARNING, ERROR, CRITICAL", o.logLevel)
	}
	if ext := strings.ToLower(filepath.Ext(name(output))); ext == ".html" || ext == ".htm" {
		return usagef("OUTPUT %s: a run writes Markdown or a Jupyter notebook, and markmill convert makes a page of "+
			"it; give a path that ends in .md or .ipynb", output)
	}
	if _, script := percent.LanguageOf(output); script {
		return usagef("OUTPUT %s is a script, which has no place for outputs; give a path that ends in .md or .ipynb",
			output)
	}
	if err := o.checkTargets(w, output); err != nil {
		return err
	}
	if err := o.oneResult(output); err != nil {
		return err
	}
	o.req.Only, o.req.SkipTags = o.only, o.skipTags
	o.req.From, o.req.Until = notebooks.StepID(o.from), notebooks.StepID(o.until)
	return nil
}

// checkTargets returns an error for a file that the run could not, or should not, write.
func (o *runOptions) checkTargets(w *world, output string) error {
	for _, t := range []struct{ what, path string }{{"OUTPUT", output}, {"--events", o.events},
		{"--stdout-file", o.stdoutFile}, {"--stderr-file", o.stderrFile}} {
		if err := w.checkTarget(t.what, t.path); err != nil {
			return err
		}
	}
	return nil
}

// oneResult returns an error for two results on standard output: a reader could not tell them apart.
func (o *runOptions) oneResult(output string) error {
	var who []string
	for _, w := range []struct {
		name string
		does bool
	}{
		{"OUTPUT -", output == "-"}, {"--json", o.json && !o.prepareOnly}, {"--events -", o.events == "-"},
		{"--stdout-file -", o.stdoutFile == "-"}, {"--stderr-file -", o.stderrFile == "-" && o.stdoutFile != "-"},
	} {
		if w.does {
			who = append(who, w.name)
		}
	}
	if len(who) < 2 {
		return nil
	}
	return usagef("%s and %s both want standard output; leave one of them out, or give it a path", who[0], who[1])
}

// limit parses a time limit: a number of seconds, or a duration.
func limit(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil { // a number of seconds, perhaps; 10m is no 10ms
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d <= 0 {
		return 0, usagef("%s %s is no time limit; give seconds, or 90s, 10m, 1h", flag, text)
	}
	return d, nil
}

// limitNS is limit in nanoseconds.
func limitNS(flag, text string) (int64, error) {
	d, err := limit(flag, text)
	return int64(d), err
}

// logLevels are papermill's.
var logLevels = map[string]slog.Level{"NOTSET": slog.LevelDebug, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo,
	"WARNING": slog.LevelWarn, "ERROR": slog.LevelError, "CRITICAL": slog.LevelError}

func (o *runOptions) level() slog.Level { return logLevels[o.logLevel] }

// inject adds the paths that papermill injects, under papermill's names. They need not be declared.
func (o *runOptions) inject(input, output string) {
	add := func(name, value string) {
		o.req.Given = append(o.req.Given, params.Given{Name: name, Text: value, Raw: true, Source: "inject"})
	}
	if o.injectPaths || o.injectInput {
		add("PAPERMILL_INPUT_PATH", input)
	}
	if o.injectPaths || o.injectOutput {
		if remote.Is(output) {
			output = name(output)
		}
		add("PAPERMILL_OUTPUT_PATH", output)
	}
}

// inputPath expands the placeholders in NOTEBOOK. Only given values can replace them, because the notebook is not read
// yet.
func (a *app) inputPath(path string, o *runOptions) (string, error) {
	if !api.HasPlaceholders(path) {
		return path, nil
	}
	bound, err := params.Bind("", nil, o.req.Given,
		params.Options{AllowUnknown: true, IsName: func(string) bool { return true }, Getenv: a.getenv})
	if err != nil {
		return "", err
	}
	now := a.now().UTC()
	return params.ExpandPath(path, bound, map[string]string{"date": now.Format(time.DateOnly),
		"now": now.Format(time.RFC3339)})
}

// prepare writes the notebook with its parameters injected.
func (a *app) prepare(plan *engine.Plan, output string) error {
	req, nb := plan.Request(), plan.Notebook()
	form := cmp.Or(req.OutputForm, nb.Form)
	named, err := outputName(output)
	if err != nil {
		return err
	}
	b, err := render.Prepared(form, nb, plan.Parameters(), plan.Given(), jupyter.OutputPath(named, req.Repository),
		req.ReportMode)
	if err != nil {
		return err
	}
	return a.writeResult("OUTPUT", output, b)
}

// folderIn returns a folder of --cwd relative to the root of the repository. A path that leads there from the current
// folder, as papermill has it, is taken where there is no such folder below the root.
func folderIn(root, folder string) string {
	isFolder := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	if folder == "" || filepath.IsLocal(folder) && (isFolder(filepath.Join(root, folder)) || !isFolder(folder)) {
		return folder
	}
	real, err := filepath.EvalSymlinks(folder)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	top, rootErr := filepath.EvalSymlinks(root)
	if rel, relErr := filepath.Rel(top, real); errors.Join(err, rootErr, relErr) == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return folder
}

// chooseFolder decides where a run outside a repository works: in the current folder, as with papermill, or in the
// folder of --cwd.
func (o *runOptions) chooseFolder() error {
	outside := o.req.Cwd != "" && !filepath.IsLocal(o.req.Cwd)
	if o.req.Repository != "" {
		if o.req.Cwd = folderIn(o.req.Repository, o.req.Cwd); o.req.Cwd != "" && !filepath.IsLocal(o.req.Cwd) {
			return usagef("--cwd %s is outside the worktree; give a folder relative to its root", o.req.Cwd)
		}
		return nil
	}
	folder := "."
	if outside {
		folder, o.req.Cwd = o.req.Cwd, ""
	}
	var err error
	o.req.Folder, err = filepath.Abs(folder)
	return err
}

// outputName is OUTPUT in the record: an absolute path or an address; "" without one.
func outputName(output string) (string, error) {
	switch {
	case remote.Is(output):
		return name(output), nil
	case output == "" || output == "-":
		return "", nil
	}
	return filepath.Abs(output)
}

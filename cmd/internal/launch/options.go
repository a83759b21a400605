package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/sweep"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/notebooks/percent"
	"markmill/runs"
)

// laneOptions are the options of run where it compares attempts.
type laneOptions struct {
	backends []string
	attempts int
	pick     string
	once     bool
	Changed  func(option string) bool // whether an option was given; nil: none was
}

func (o *laneOptions) Flags(f *pflag.FlagSet) {
	f.IntVar(&o.attempts, "attempts", 0, "compare `N` attempts of each agent, in the place of attempts= of its step")
	f.StringSliceVar(&o.backends, "backend", nil,
		"compare the admitted agents `NAME,…` that do the notebook's agent steps")
	f.StringVar(&o.pick, "pick", "", "which attempt is taken: first that passes, smallest change, none (default: "+
		"pick: of the notebook)")
	f.BoolVar(&o.once, "judge-once", false, "do not run the tests and reviews of an attempt a second time")
}

// Attempts reports whether attempts are to be compared, by the options or the notebook.
func (o *Options) Attempts(eng *engine.Engine) (bool, error) {
	if o.Lanes.Changed == nil {
		o.Lanes.Changed = func(string) bool { return false }
	}
	if err := o.Lanes.check(); err != nil {
		return false, err
	}
	if len(o.Lanes.backends) > 0 {
		return true, nil
	}
	n := o.Lanes.attempts
	if n == 0 && bytes.Contains(o.Req.Source, []byte("attempts")) {
		nb, err := eng.Parse(o.Req)
		if err != nil {
			return false, err
		}
		n = nb.Attempts()
	}
	if n > 1 {
		return true, nil
	}
	for _, name := range []string{"pick", "judge-once"} {
		if o.Lanes.Changed(name) {
			return false, program.Usagef("--%s is for several attempts, and there is one: give --attempts N", name)
		}
	}
	return false, nil
}

// Options are the options of run that are not in the engine's request.
type Options struct {
	Req engine.Request

	WorkOptions
	StartTimeout, RunTimeout  string
	From, Until               string
	Only, SkipTags            []string
	EngineName                string
	InjectPaths               bool
	InjectInput, InjectOutput bool
	PrepareOnly, Help         bool
	Frozen, NoOutput          bool
	DropDamaged               bool
	JSON                      bool
	events                    string
	Progress                  bool
	LogOutput                 bool
	SaveEach                  bool // papermill's
	Autosave                  int  // papermill's, in seconds
	Version                   bool
	LogLevel                  string
	stdoutFile, stderrFile    string
	StdinParams               bool // -f -
	Sweep                     sweepOptions
	Lanes                     laneOptions
	Outdated                  bool // run what is not current below the paths
	Watch                     bool // run again when something is saved
	Floor                     floorFlag
}

// floorFlag is the floor that a server imposes on the runs that it starts.
type floorFlag struct{ *engine.Floor }

// Set reads the JSON.
func (f *floorFlag) Set(text string) error { return codec.Unmarshal([]byte(text), &f.Floor) }

func (f *floorFlag) String() string { return "" }

// Type is for the help.
func (f *floorFlag) Type() string { return "JSON" }

// Defaults are the options of a command that takes only some of those of run.
func Defaults() *Options {
	return &Options{WorkOptions: WorkOptions{Dirty: string(engine.DirtyIgnore)}}
}

// WorkOptions are the options of run and test for how steps run, and on what.
type WorkOptions struct{ Repo, Dirty, StepTimeout string }

func (o *WorkOptions) Flags(f *pflag.FlagSet, req *engine.Request) {
	o.StepFlags(f, req)
	f.StringVar(&req.Base, "base", "", "revision `REV` that the worktree is made of (default HEAD)")
	f.StringVar(&o.Dirty, "dirty", string(engine.DirtyIgnore),
		"`WHAT` becomes of uncommitted changes: ignore, include (take them along), block")
}

// StepFlags are the options for how steps run.
func (o *WorkOptions) StepFlags(f *pflag.FlagSet, req *engine.Request) {
	f.StringVarP(&req.Kernel, "kernel", "k", "", "`KERNEL` for the steps whose language it runs")
	f.StringVar(&req.Tree, "tree", "", "`PLACE` where steps find the worktree: mounted (at the checkout's own path, "+
		"or the run is blocked), separate (default: mounted where it can be)")
	f.StringVar(&req.Cwd, "cwd", "", "`FOLDER` in the worktree where steps start")
	f.StringVar(&o.StepTimeout, "execution-timeout", "",
		"limit of a step that sets none, a `TIME` in seconds, or 90s, 10m, 1h; 0 gives none")
	f.StringVar(&o.Repo, "repo", "",
		"`FOLDER` of the Git repository to work on (default: the one around the working directory, or else around the "+
			"notebook)")
}

// Settle reads the values into the request.
func (o *WorkOptions) Settle(req *engine.Request) (err error) {
	// papermill's 0 is no limit.
	if seconds, notNumber := strconv.Atoi(o.StepTimeout); notNumber != nil || seconds != 0 {
		if req.StepTimeoutNS, err = program.LimitNS("--execution-timeout", o.StepTimeout); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"", runs.TreeMounted, runs.TreeSeparate}, req.Tree) {
		return program.Usagef("--tree %s is not known; known: mounted, separate", req.Tree)
	}
	switch req.Dirty = engine.Dirty(o.Dirty); req.Dirty {
	case engine.DirtyIgnore, engine.DirtyInclude, engine.DirtyBlock:
		return nil
	}
	return program.Usagef("--dirty %s is not known; known: ignore, include, block", o.Dirty)
}

// ViewFlags are the options for what is shown of a run and what is left besides its record.
func (o *Options) ViewFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.Req.KeepTree, "keep-worktree", false, "keep the worktree and say where it is")
	f.BoolVar(&o.JSON, "json", false, program.JSONWords("run"))
	f.StringVar(&o.events, "events", "", "write the events to a `FILE` as they come (- is standard output)")
	program.OnOff(f, &o.Progress, "progress-bar", "no-progress-bar", true, "show each step as it runs",
		"show no progress: only steps that fail, and how the run ended")
	program.OnOff(f, &o.LogOutput, "log-output", "no-log-output", false, "print what the steps print, each line with "+
		"its step",
		"show what the steps print at failures only")
	f.StringVar(&o.LogLevel, "log-level", "INFO",
		"what is printed on standard error: DEBUG, INFO, WARNING, ERROR, CRITICAL, NOTSET")
	f.StringVar(&o.stdoutFile, "stdout-file", "", "write the steps' standard output to a `FILE` too")
	f.StringVar(&o.stderrFile, "stderr-file", "", "write the steps' standard error to a `FILE` too")
}

// savesMeanwhile is the option of papermill that asks for an OUTPUT that grows during the run; "" for none.
func (o *Options) savesMeanwhile() string {
	switch {
	case o.Autosave != 0:
		return "--autosave-cell-every"
	case o.SaveEach:
		return "--request-save-on-cell-execute"
	}
	return ""
}

// SetOutput puts OUTPUT into the request.
func (o *Options) SetOutput(output string) (err error) {
	req := &o.Req
	if req.Output, err = program.OutputName(output); err != nil {
		return err
	}
	if req.OutputForm, err = outputForm(*req, output); err != nil {
		return err
	}
	left := cmp.Or(req.OutputForm, forms.Detect(req.Path, req.Source))
	if req.Timings && (left != notebooks.FormJupyter || o.Frozen) {
		return program.Usagef("--timings is for an OUTPUT that is written in Jupyter's form; the record has the " +
			"times of every run (markmill show)")
	}
	req.Frozen, req.Assets = o.Frozen, views.AssetsFolder(program.Name(output))
	if req.OutputForm == "" && forms.IsJupyter(req.Path, req.Source) { // the pictures are in the file itself
		req.Assets = ""
	}
	return nil
}

// outputForm is the form that OUTPUT has by its name; "" is that of the notebook.
func outputForm(req engine.Request, output string) (form notebooks.Form, err error) {
	jupyter := forms.IsJupyter(req.Path, req.Source)
	switch named := notebooks.FormOfName(program.Name(output)); {
	case output == "" || output == "-":
	case named == notebooks.FormJupyter && !jupyter:
		form = named
	case jupyter && named == notebooks.FormNative:
		form = named
	case jupyter && named != notebooks.FormJupyter && !isDevice(output):
		return "", program.Usagef("OUTPUT %s of a Jupyter notebook must end in .ipynb or .md", output)
	}
	if form != "" && files.Same(req.Path, output) {
		return "", program.Usagef("OUTPUT %s is the notebook itself, and would be of another form; give another OUTPUT",
			output)
	}
	return form, nil
}

// Check validates the options and their combinations.
func (o *Options) Check(w *program.World, output string) error {
	var err error
	if err = o.Settle(&o.Req); err != nil {
		return err
	}
	if o.Req.RunTimeoutNS, err = program.LimitNS("--run-timeout", o.RunTimeout); err != nil {
		return err
	}
	if o.Req.StartNS, err = program.LimitNS("--start-timeout", o.StartTimeout); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "markmill", "nbclient"}, o.EngineName) {
		return program.Usagef("--engine %s is not known: engines are Python classes of papermill's, and Markmill has "+
			"one of its own; leave the option out, or choose who runs the steps with -k", o.EngineName)
	}
	if _, known := logLevels[o.LogLevel]; !known {
		return program.Usagef("--log-level %s is not known; known: NOTSET, DEBUG, INFO, WARNING, ERROR, CRITICAL",
			o.LogLevel)
	}
	if ext := strings.ToLower(filepath.Ext(program.Name(output))); ext == ".html" || ext == ".htm" {
		return program.Usagef("OUTPUT %s: a run writes Markdown or a Jupyter notebook, and markmill convert makes a "+
			"page of it; give a path that ends in .md or .ipynb", output)
	}
	if _, script := percent.LanguageOf(output); script {
		return program.Usagef("OUTPUT %s is a script, which has no place for outputs; give a path that ends in .md "+
			"or .ipynb",
			output)
	}
	if err := o.CheckTargets(w, output); err != nil {
		return err
	}
	if err := o.oneResult(output); err != nil {
		return err
	}
	o.Req.Only, o.Req.SkipTags = o.Only, o.SkipTags
	o.Req.From, o.Req.Until = notebooks.StepID(o.From), notebooks.StepID(o.Until)
	return nil
}

// CheckTargets returns an error for a file that the run could not, or should not, write.
func (o *Options) CheckTargets(w *program.World, output string) error {
	for _, t := range []struct{ what, path string }{{"OUTPUT", output}, {"--events", o.events},
		{"--stdout-file", o.stdoutFile}, {"--stderr-file", o.stderrFile}} {
		if err := w.CheckTarget(t.what, t.path); err != nil {
			return err
		}
	}
	return nil
}

// oneResult returns an error for two results on standard output: a reader could not tell them apart.
func (o *Options) oneResult(output string) error {
	var who []string
	for _, w := range []struct {
		name string
		does bool
	}{
		{"OUTPUT -", output == "-"}, {"--json", o.JSON && !o.PrepareOnly}, {"--events -", o.events == "-"},
		{"--stdout-file -", o.stdoutFile == "-"}, {"--stderr-file -", o.stderrFile == "-" && o.stdoutFile != "-"},
	} {
		if w.does {
			who = append(who, w.name)
		}
	}
	if len(who) < 2 {
		return nil
	}
	return program.Usagef("%s and %s both want standard output; leave one of them out, or give it a path", who[0],
		who[1])
}

// logLevels are papermill's.
var logLevels = map[string]slog.Level{"NOTSET": slog.LevelDebug, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo,
	"WARNING": slog.LevelWarn, "ERROR": slog.LevelError, "CRITICAL": slog.LevelError}

func (o *Options) Level() slog.Level { return logLevels[o.LogLevel] }

// inject adds the paths that papermill injects, under papermill's names. They need not be declared.
func (o *Options) inject(input, output string) {
	add := func(name, value string) {
		o.Req.Given = append(o.Req.Given, params.Given{Name: name, Text: value, Raw: true, Source: "inject"})
	}
	if o.InjectPaths || o.InjectInput {
		add("PAPERMILL_INPUT_PATH", input)
	}
	if o.InjectPaths || o.InjectOutput {
		if remote.Is(output) {
			output = program.Name(output)
		}
		add("PAPERMILL_OUTPUT_PATH", output)
	}
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

// ChooseFolder decides where a run outside a repository works: in the current folder, as with papermill, or in the
// folder of --cwd.
func (o *Options) ChooseFolder() error {
	outside := o.Req.Cwd != "" && !filepath.IsLocal(o.Req.Cwd)
	if o.Req.Repository != "" {
		if o.Req.Cwd = folderIn(o.Req.Repository, o.Req.Cwd); o.Req.Cwd != "" && !filepath.IsLocal(o.Req.Cwd) {
			return program.Usagef("--cwd %s is outside the worktree; give a folder relative to its root", o.Req.Cwd)
		}
		return nil
	}
	folder := "."
	if outside {
		folder, o.Req.Cwd = o.Req.Cwd, ""
	}
	var err error
	o.Req.Folder, err = filepath.Abs(folder)
	return err
}

// sweepOptions are the options of run for a sweep.
type sweepOptions struct {
	matrix, include, exclude []string
	table                    string
	maxRuns                  int
	work                     sweep.Work
	Queue                    RowOptions
}

func (o *sweepOptions) Flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.matrix, "matrix", nil,
		"run every combination of values: `NAME=VALUES`, such as region=eu,us or month=1..12 or 'list=[a, \"b,c\"]'; "+
			"repeatable")
	f.StringVar(&o.table, "table", "", "run each row of a table: a `FILE` in CSV, TSV, JSON Lines or YAML")
	f.StringArrayVar(&o.include, "include", nil,
		"also run these values: `NAME=VALUE,…`, or a YAML mapping in braces; repeatable")
	f.StringArrayVar(&o.exclude, "exclude", nil,
		"leave out runs that have all these values: `NAME=VALUE,…`, or a YAML mapping in braces; repeatable")
	f.IntVar(&o.maxRuns, "max-runs", sweep.DefaultMaxRuns, "refuse a sweep of more than `N` runs")
	o.WorkFlags(f)
}

// QueueFlags are the options of a resumed sweep whose rows are jobs.
func (o *sweepOptions) QueueFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Queue.Name, "queue", "", "submit each run of a sweep to the queue `NAME`, and wait for the workers")
	o.Queue.JobOptions.Flags(f)
	o.Queue.Options.Flags(f)
}

// Asked reports whether a sweep is to be run.
func (o *sweepOptions) Asked() bool { return len(o.matrix) > 0 || o.table != "" || len(o.include) > 0 }

// RowOptions say where the rows of a sweep run.
type RowOptions struct {
	jobqueue.Options
	jobqueue.JobOptions
	Name string // of the queue; "" runs them here
}

// again is the option that goes on with the jobs of a sweep.
func (o *RowOptions) again() string {
	if o.Name == "" {
		return ""
	}
	words := " --queue " + o.Name
	if len(o.Labels) > 0 {
		words += " --label " + strings.Join(o.Labels, ",")
	}
	if o.Priority != string(queue.Normal) {
		words += " --priority " + o.Priority
	}
	if o.Retries > 0 {
		words += fmt.Sprintf(" --retries %d", o.Retries)
	}
	return words
}

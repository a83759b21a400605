package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/api/watch"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
)

// watchFlags are the options of run that go with --watch.
var watchFlags = []string{"watch", "parameters", "parameters-raw", "parameters-file", "parameters-yaml",
	"parameters-base64", "kernel", "tree", "cwd", "execution-timeout", "repo", "log-output", "no-log-output", "force"}

// watch is run --watch.
func (a *app) watch(c *cobra.Command, paths []string, o *runOptions) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(watchFlags, f.Name) {
			err = usagef("--watch and --%s exclude each other", f.Name)
		}
	})
	if err != nil {
		return err
	}
	o.dirty = string(engine.DirtyInclude)
	w := &watching{app: a, o: o, path: paths[0]}
	if len(paths) == 2 {
		w.output = paths[1]
	}
	return w.run(c.Context())
}

// watching is what the runs of run --watch share.
type watching struct {
	*app
	o            *runOptions // of each run, before anything of it is known
	path, output string
	source       *worktree.Source

	live bool // the line of state stands on the terminal

	mu      sync.Mutex
	outputs map[string]bool // what the runs write, and folders that hold nothing else, by absolute path
}

func (w *watching) run(ctx context.Context) error {
	switch {
	case w.path == "-" || remote.Is(w.path):
		return usagef("NOTEBOOK %s cannot be watched; give the path of a file", name(w.path))
	case w.output == "-" || remote.Is(w.output):
		return usagef("OUTPUT %s is written after each run; give the path of a file", name(w.output))
	case w.output != "" && files.Same(w.path, w.output):
		return usagef("OUTPUT %s is the notebook itself: each run would begin the next; give another OUTPUT", w.output)
	}
	src, err := w.readAny(w.path)
	if err != nil {
		return err
	}
	eng, repo, err := w.engineFor(w.path, w.o.repo)
	if err != nil {
		return err
	}
	if repo == nil {
		return usagef("watch needs a Git repository: outside of one the steps work in the folder itself, and what " +
			"they write cannot be told from a save")
	}
	w.source, w.outputs = repo, map[string]bool{w.storeAt(repo.Root()).Dir: true, w.cache(): true}
	if w.output == "" {
		w.output = api.LikeSource(eng.Config.Output, isJupyter(w.path, src))
	}
	if err := w.o.check(w.world, w.output); err != nil {
		return err
	}
	if err := w.holdOutput(w.output); err != nil {
		return err
	}
	process.SealDescriptors()
	running := false
	ctx, stop := w.interruptibleSaying(ctx, func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !running {
			return ""
		}
		return "interrupted; finishing the record (once more ends at once)"
	})
	defer stop()
	err = watch.Notebook(ctx, watch.Options{Source: repo, Notebook: w.path, Own: w.own, Run: w.once, User: w.userName(),
		Tell: func(s watch.State) {
			w.mu.Lock()
			running = !s.Ended
			w.mu.Unlock()
			w.tellState(s)
		}})
	if w.live {
		fmt.Fprintln(w.stderr)
	}
	if err == nil {
		err = exit(128 + interruptedBy(ctx))
	}
	return err
}

// own reports whether the runs write a file: OUTPUT, its pictures, or what becomes one of them; or a log of this
// program.
func (w *watching) own(file string) bool {
	if info, err := os.Stat(file); err == nil && slices.ContainsFunc(w.written(&follower{}),
		func(log os.FileInfo) bool { return os.SameFile(log, info) }) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; ; file = filepath.Dir(file) {
		if w.outputs[file] {
			return true
		}
		if up := filepath.Dir(file); up == file {
			return false
		} else if strings.HasPrefix(filepath.Base(file), runs.TempPrefix) {
			return true
		}
	}
}

// once makes one run.
func (w *watching) once(ctx context.Context, b watch.Beginning) (*engine.Result, error) {
	o := *w.o
	given := len(o.req.Given) > 0
	src, madeOf, err := w.readRunnable(w.path, false, given)
	if err != nil {
		return nil, err
	}
	eng, err := w.engine(w.source.Root()) // the settings may have changed
	if err != nil {
		return nil, err
	}
	eng.Source, eng.Beside = w.source, func(name string) bool { return watch.Temporary(filepath.Base(name)) }
	o.req.Path, o.req.Source, o.req.MadeOf, o.req.Repository = name(w.path), src, madeOf, w.source.Root()
	if err := o.chooseFolder(); err != nil {
		return nil, err
	}
	if o.req.ID, err = eng.NewID(o.req.Path); err != nil {
		return nil, err
	}
	output, err := api.OutputPath(w.output, eng, o.req)
	if err != nil {
		return nil, err
	}
	if err := o.checkTargets(w.world, output); err != nil {
		return nil, err
	}
	if err := o.setOutput(output); err != nil {
		return nil, w.outputHint(err, output)
	}
	if o.req.Output != "" {
		w.mu.Lock()
		w.outputs[o.req.Output] = true
		if o.req.Assets != "" {
			w.outputs[filepath.Join(filepath.Dir(o.req.Output), filepath.FromSlash(o.req.Assets))] = true
		}
		w.mu.Unlock()
	}
	plan, whole, err := watch.Plan(ctx, eng, o.req, b)
	if err != nil {
		return nil, err
	}
	if err := w.checkViews(plan, output); err != nil {
		return nil, err
	}
	switch {
	case whole != "":
		w.note("all steps run: " + whole)
	case plan.Fork() != nil:
		w.note(goOnWords(b.From.Run.ID, plan))
	}
	return w.show(ctx, eng, plan, output, &o)
}

// show runs a plan and shows its progress.
func (w *watching) show(ctx context.Context, eng *engine.Engine, plan *engine.Plan, output string, o *runOptions) (
	*engine.Result, error) {
	key, err := w.signKey(eng.Config)
	if err != nil {
		return nil, err
	}
	view := w.detect(w.stderr)
	view.Line, view.Log, view.Now = true, o.logOutput, w.now
	view.Record = record(w.storeAt(w.source.Root()).Path(plan.Request().ID))
	progress := terminal.New(w.stderr, view)
	stop := ticking(progress)
	event := func(e runs.Event) {
		var by engine.Interrupt
		if e.Type == runs.StepFinished && errors.As(context.Cause(ctx), &by) && by.Abort != nil {
			return // the step was ended for a save, which is no failure
		}
		progress.Event(e)
	}
	file, err := w.openOutput("OUTPUT", output)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	result, err := eng.Run(ctx, plan, w.sinks(output, file, nil, key,
		engine.Observer{Event: event, Output: progress.Output, Files: w.written(&follower{})}))
	stop()
	progress.Done("")
	if err == nil {
		err = w.signRecord(result.Dir, key)
	}
	if err == nil {
		w.erase()
		w.retain(eng, w.source, result.Run.ID)
	}
	return result, err
}

// note prints a line that stays.
func (w *watching) note(text string) {
	w.erase()
	w.line(text)
}

func (w *watching) erase() {
	if w.live {
		fmt.Fprint(w.stderr, "\r\x1b[K")
		w.live = false
	}
}

// tellState shows a state: on a terminal as the one line that changes, else as a line of its own.
func (w *watching) tellState(s watch.State) {
	w.erase()
	text := ""
	switch {
	case !s.Ended && len(s.Saved) == 0:
		text = "running " + name(w.path)
	case !s.Ended:
		text = "running: " + plain.Some(s.Saved, 3) + " saved"
	case s.Cut:
		text = fmt.Sprintf("run ended after %.1f s, because something was saved meanwhile", s.Took.Seconds())
	case s.Err != nil:
		text = "nothing ran: " + s.Err.Error() + "\nwaiting"
	default:
		text = w.ended(s)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = plain.Escape(line)
		if w.terminal(w.stderr) && i == len(lines)-1 {
			w.live = true
			fmt.Fprint(w.stderr, plain.Cut(line, max(20, w.detect(w.stderr).Width())-1))
		} else {
			fmt.Fprintln(w.stderr, line)
		}
	}
}

// ended says how a run ended.
func (w *watching) ended(s watch.State) string {
	run := s.Result.Run
	took := fmt.Sprintf("%.1f s", s.Took.Truncate(100*time.Millisecond).Seconds())
	evidence := " · " + files.Short(s.Result.Dir)
	causes := run.Causes()
	switch {
	case run.Status().Passed() && len(causes) == 0:
		return "passed in " + took + "; waiting" + evidence
	}
	text := ""
	for _, c := range causes {
		text += "markmill: " + plain.Line([]byte(run.Located(c.Blocker).Line())) + "\n"
	}
	where := ""
	if len(causes) > 0 && causes[0].Step != "" {
		where = " at step " + string(causes[0].Step)
	}
	word := map[runs.Status]string{runs.Fail: "failed"}[run.Status()]
	if word == "" {
		word = string(run.Status())
	}
	return text + word + where + " after " + took + "; waiting" + evidence
}

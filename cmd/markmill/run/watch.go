package run

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

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/runview"
	"markmill/cmd/internal/views"
	"markmill/cmd/internal/watch"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
)

// watchFlags are the options of run that go with --watch.
var watchFlags = []string{"watch", "parameters", "parameters-raw", "parameters-file", "parameters-yaml",
	"parameters-base64", "kernel", "tree", "cwd", "execution-timeout", "repo", "log-output", "no-log-output", "force"}

// watchNotebook is run --watch.
func watchNotebook(a *program.App, c *cobra.Command, paths []string, o *launch.Options) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(watchFlags, f.Name) {
			err = program.Usagef("--watch and --%s exclude each other", f.Name)
		}
	})
	if err != nil {
		return err
	}
	o.Dirty = string(engine.DirtyInclude)
	w := &watching{App: a, o: o, path: paths[0]}
	if len(paths) == 2 {
		w.output = paths[1]
	}
	return w.run(c.Context())
}

// watching is what the runs of run --watch share.
type watching struct {
	*program.App
	o            *launch.Options // of each run, before anything of it is known
	path, output string
	source       *worktree.Source

	live bool // the line of state stands on the terminal

	mu      sync.Mutex
	outputs map[string]bool // what the runs write, and folders that hold nothing else, by absolute path
}

func (w *watching) run(ctx context.Context) error {
	switch {
	case w.path == "-" || remote.Is(w.path):
		return program.Usagef("NOTEBOOK %s cannot be watched; give the path of a file", program.Name(w.path))
	case w.output == "-" || remote.Is(w.output):
		return program.Usagef("OUTPUT %s is written after each run; give the path of a file", program.Name(w.output))
	case w.output != "" && files.Same(w.path, w.output):
		return program.Usagef("OUTPUT %s is the notebook itself: each run would begin the next; give another OUTPUT",
			w.output)
	}
	src, err := w.ReadAny(w.path)
	if err != nil {
		return err
	}
	eng, repo, err := w.EngineFor(w.path, w.o.Repo)
	if err != nil {
		return err
	}
	if repo == nil {
		return program.Usagef("watch needs a Git repository: outside of one the steps work in the folder itself, and " +
			"what they write cannot be told from a save")
	}
	w.source, w.outputs = repo, map[string]bool{w.StoreAt(repo.Root()).Dir: true, w.Cache(): true}
	if w.output == "" {
		w.output = views.LikeSource(eng.Config.Output, program.IsJupyter(w.path, src))
	}
	if err := w.o.Check(w.World, w.output); err != nil {
		return err
	}
	if err := w.HoldOutput(w.output); err != nil {
		return err
	}
	running := false
	ctx, stop := w.InterruptibleSaying(ctx, func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !running {
			return ""
		}
		return "interrupted; finishing the record (once more ends at once)"
	})
	defer stop()
	err = watch.Notebook(ctx, watch.Options{Source: repo, Notebook: w.path, Own: w.own, Run: w.once, User: w.UserName(),
		Tell: func(s watch.State) {
			w.mu.Lock()
			running = !s.Ended
			w.mu.Unlock()
			w.tellState(s)
		}})
	if w.live {
		fmt.Fprintln(w.Stderr)
	}
	if err == nil {
		err = program.Exit(128 + program.InterruptedBy(ctx))
	}
	return err
}

// own reports whether the runs write a file: OUTPUT, its pictures, or what becomes one of them; or a log of this
// program.
func (w *watching) own(file string) bool {
	if info, err := os.Stat(file); err == nil && slices.ContainsFunc(launch.Written(w.App, &launch.Follower{}),
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
	given := len(o.Req.Given) > 0
	src, madeOf, err := w.ReadRunnable(w.path, false, given)
	if err != nil {
		return nil, err
	}
	eng, err := w.Engine(w.source.Root()) // the settings may have changed
	if err != nil {
		return nil, err
	}
	eng.Source, eng.Beside = w.source, func(name string) bool { return watch.Temporary(filepath.Base(name)) }
	o.Req.Path, o.Req.Source, o.Req.MadeOf, o.Req.Repository = program.Name(w.path), src, madeOf, w.source.Root()
	if err := o.ChooseFolder(); err != nil {
		return nil, err
	}
	if o.Req.ID, err = eng.NewID(o.Req.Path); err != nil {
		return nil, err
	}
	output, err := views.OutputPath(w.output, eng, o.Req)
	if err != nil {
		return nil, err
	}
	if err := o.CheckTargets(w.World, output); err != nil {
		return nil, err
	}
	if err := o.SetOutput(output); err != nil {
		return nil, w.OutputHint(err, output)
	}
	if o.Req.Output != "" {
		w.mu.Lock()
		w.outputs[o.Req.Output] = true
		if o.Req.Assets != "" {
			w.outputs[filepath.Join(filepath.Dir(o.Req.Output), filepath.FromSlash(o.Req.Assets))] = true
		}
		w.mu.Unlock()
	}
	plan, whole, err := watch.Plan(ctx, eng, o.Req, b)
	if err != nil {
		return nil, err
	}
	if err := launch.CheckViews(w.App, plan, output); err != nil {
		return nil, err
	}
	switch {
	case whole != "":
		w.note("all steps run: " + whole)
	case plan.Fork() != nil:
		w.note(launch.GoOnWords(b.From.Run.ID, plan))
	}
	return w.show(ctx, eng, plan, output, &o)
}

// show runs a plan and shows its progress.
func (w *watching) show(ctx context.Context, eng *engine.Engine, plan *engine.Plan, output string, o *launch.Options) (
	*engine.Result, error) {
	key, err := w.SignKey(eng.Config)
	if err != nil {
		return nil, err
	}
	view := w.Detect(w.Stderr)
	view.Line, view.Log, view.Now = true, o.LogOutput, w.Now
	view.Record = runview.Record(w.StoreAt(w.source.Root()).Path(plan.Request().ID))
	progress := terminal.New(w.Stderr, view)
	stop := launch.Ticking(progress)
	event := func(e runs.Event) {
		var by engine.Interrupt
		if e.Type == runs.StepFinished && errors.As(context.Cause(ctx), &by) && by.Abort != nil {
			return // the step was ended for a save, which is no failure
		}
		progress.Event(e)
	}
	file, err := w.OpenOutput("OUTPUT", output)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	result, err := eng.Run(ctx, plan, launch.Sinks(w.App, output, file, nil, key,
		engine.Observer{Event: event, Output: progress.Output, Files: launch.Written(w.App, &launch.Follower{})}))
	stop()
	progress.Done("")
	if err == nil {
		w.erase()
		launch.Retain(w.App, eng, w.source, result.Run.ID)
	}
	return result, err
}

// note prints a line that stays.
func (w *watching) note(text string) {
	w.erase()
	w.Line(text)
}

func (w *watching) erase() {
	if w.live {
		fmt.Fprint(w.Stderr, "\r\x1b[K")
		w.live = false
	}
}

// tellState shows a state: on a terminal as the one line that changes, else as a line of its own.
func (w *watching) tellState(s watch.State) {
	w.erase()
	text := ""
	switch {
	case !s.Ended && len(s.Saved) == 0:
		text = "running " + program.Name(w.path)
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
		if w.Terminal(w.Stderr) && i == len(lines)-1 {
			w.live = true
			fmt.Fprint(w.Stderr, plain.Cut(line, max(20, w.Detect(w.Stderr).Width())-1))
		} else {
			fmt.Fprintln(w.Stderr, line)
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
		text += "markmill: " + plain.Line([]byte(run.Say(c))) + "\n"
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

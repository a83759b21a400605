package launch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/runview"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/outfile"
)

// GoOnWords say where a run begins that goes on from another, why there, and which carried steps run again.
func GoOnWords(id runs.RunID, plan *engine.Plan) string {
	carried, replayed, next := plan.Reused()
	verb, at, end := "going on from", " at ", " after its last step"
	if f := plan.Fork(); f != nil {
		verb = "a fork of"
		if f.Reuse != "" {
			verb, at, end = "carrying from", " up to ", ""
		}
	}
	words := verb + " run " + string(id)
	if next != "" {
		words += at + string(next)
	} else {
		words += end
	}
	if f := plan.Fork(); f != nil && f.Reason != "" {
		if f.Asked != "" {
			words += ", before " + string(f.Asked)
		}
		words += ": " + f.Reason
	}
	if len(carried) > 0 {
		words += "; carried over: " + plain.Some(carried, 3)
	}
	if len(replayed) > 0 {
		words += "; run again for their state only: " + plain.Some(replayed, 3)
	}
	return words
}

// RunPlan runs a plan, shows its progress and reports how it ended.
func RunPlan(ctx context.Context, a *program.App, eng *engine.Engine, plan *engine.Plan, output string,
	o *Options) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	if remote.Is(output) && !o.Frozen { // before the steps, so that their results can be written
		if err := a.Remote().Check(ctx, output); err != nil {
			return err
		}
	}
	var held *frozen
	if o.Frozen {
		var err error
		if held, err = freeze(a, output, o); err != nil {
			return err
		}
	}
	var file *outfile.File
	if held == nil {
		if output != "" && output != "-" && !remote.Is(output) {
			if dir := filepath.Dir(output); !exists(dir) {
				a.Tell("markmill: OUTPUT makes the folder %s\n", files.Short(dir))
			}
			if hint := a.ValueHint(output); hint != "" {
				a.Tell("markmill: %s\n", hint)
			}
		}
		var err error
		if file, err = a.OpenOutput("OUTPUT", output); err != nil {
			return err
		}
		defer file.Close()
	}
	watch, err := Follow(a, o, a.StoreAt(plan.Request().Repository).Path(plan.Request().ID))
	if err != nil {
		return err
	}
	if o.Level() <= slog.LevelInfo {
		announce(a, plan, o)
	}
	key, err := a.SignKey(eng.Config)
	if err != nil {
		return err
	}
	sinks := Sinks(a, output, file, held, key, engine.Observer{Event: watch.Event, Output: watch.Output,
		Unfinished: watch.Progress.Unfinished, Files: Written(a, watch)})
	result, err := eng.Run(ctx, plan, sinks)
	if cerr := watch.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return ended(a, &endedRun{Result: result, output: output, watch: watch, held: held}, eng, o)
}

// Sinks are the files that a run leaves for readers, signed with a key if there is one, and who follows it. held is
// set with --frozen.
func Sinks(a *program.App, output string, file *outfile.File, held *frozen, key string, observer engine.Observer,
) engine.Sinks {
	s := engine.Sinks{Views: Views(a, "", nil), Sign: a.SignWith(key), Observers: []engine.Observer{observer},
		Ended: func(dir string, complete bool) error { return endRecord(a, dir, complete, file, output, key) }}
	switch {
	case held != nil:
		s.Views = held.views(s.Views)
	case !remote.Is(output): // there it is sent when the record is complete
		s.Views = Views(a, output, file)
		s.StageOutput = func(in engine.ViewInput) []runs.LeftOutput { return stageLeftOutput(in, file) }
	}
	return s
}

// Aside are the sinks of runs that nobody follows, and that leave their records only.
func Aside(a *program.App, eng *engine.Engine) (engine.Sinks, error) {
	key, err := a.SignKey(eng.Config)
	return Sinks(a, "", nil, nil, key, engine.Observer{Files: Written(a, &Follower{})}), err
}

// AnnounceFolder says on the first line of a run outside a repository that there is no worktree.
func AnnounceFolder(a *program.App, o *Options) {
	if o.Req.Repository == "" && o.Req.Folder != "" && o.Level() <= slog.LevelWarn {
		a.Tell("markmill: no Git repository: steps change the files of %s itself\n", plain.Escape(o.Req.Folder))
	}
}

// announce says before a run what it does not hold or have.
func announce(a *program.App, plan *engine.Plan, o *Options) {
	if leaky := plan.NotConfined(); len(leaky) > 0 && len(plan.Gates()) == 0 {
		a.Tell("markmill: the sandbox does not hold %s\n", strings.Join(leaky, "; "))
	}
	if words := plan.NotReused(); words != "" {
		a.Tell("markmill: no step is carried from an earlier run: %s\n", plain.Escape(words))
	} else if f := plan.Fork(); f != nil && f.Reuse != "" {
		fmt.Fprintln(a.Stderr, "markmill: "+plain.Line([]byte(GoOnWords(plan.Request().Resume, plan))))
	}
	if left := plan.LeftBehind(); len(left) > 0 {
		a.Tell("markmill: uncommitted, and so not in the run: %s; --dirty include takes it along\n",
			plain.Some(left, 3))
	}
	if empty, err := plan.Submodules(); err == nil { // else the run itself meets it
		for _, sub := range empty {
			a.Tell("markmill: the submodule %s %s\n", plain.Escape(sub.Path), sub.Lack)
		}
	}
	if option := o.savesMeanwhile(); option != "" {
		a.Tell("markmill: %s: OUTPUT is written once, at the end; meanwhile the record has each step, and what it "+
			"prints as it comes\n", option)
	}
}

// endedRun is a run whose record is complete.
type endedRun struct {
	*engine.Result
	output string
	watch  *Follower
	held   *frozen // with --frozen

	undelivered error // why OUTPUT could not be sent to its address
}

// ended delivers what a run made and reports how it ended.
func ended(a *program.App, r *endedRun, eng *engine.Engine, o *Options) error {
	if r.held != nil {
		if err := r.held.show(a, o); err != nil {
			return err
		}
	} else if remote.Is(r.output) {
		r.undelivered = deliver(a, r.Result, r.output)
	}
	var uncommitted error
	if o.Req.Branch != "" && !o.NoOutput && r.held == nil {
		uncommitted = BranchOutput(a, eng.Source, o.Req.Branch, r.Dir, r.Run)
	}
	if o.Level() <= slog.LevelInfo {
		summarize(a, r, o)
	}
	if o.JSON {
		if err := runview.PrintRun(a, r.Run, r.Dir); err != nil {
			return err
		}
	}
	Retain(a, eng, eng.Source, r.Run.ID)
	if r.undelivered != nil {
		a.Line(r.undelivered.Error())
		a.Tell("markmill: the run is recorded, and what OUTPUT was to be is %s\n",
			files.Short(runs.At(r.Dir).File(askedFile(r.Run))))
		return program.Exit(max(r.Run.ExitCode(), program.ExitFail))
	}
	if uncommitted != nil {
		return fmt.Errorf("the branch %s has the change, and not the output notebook: %w", o.Req.Branch, uncommitted)
	}
	return program.EndWith(r.Run.ExitCode())
}

// summarize says on standard error how a run ended.
func summarize(a *program.App, r *endedRun, o *Options) {
	if d := r.Run.Diff; d != nil {
		for _, words := range []string{d.Unread, d.PatchOmits} {
			if words != "" {
				a.Line(words)
			}
		}
	}
	for _, s := range r.Run.Steps {
		for _, file := range r.Run.Endings(s.Planned.ID) {
			const most = 500
			if text, err := runs.At(r.Dir).ReadFile(file); err == nil {
				a.Line(fmt.Sprintf("printed as the interpreter of step %s was closed: %s", s.Planned.ID,
					bytes.TrimSpace(text[max(0, len(text)-most):])))
			}
		}
	}
	runview.TellCauses(a, r.Run)
	r.watch.Progress.Done(terminal.Summary(r.Run, files.Short(r.Dir), a.Colour(a.Stderr)))
	if !o.JSON {
		shown := r.output
		if r.held != nil || r.undelivered != nil {
			shown = ""
		}
		fmt.Fprintln(a.Stderr, terminal.End(r.Run, ending(a, r.Run, o.Req, shown), a.Colour(a.Stderr)))
	}
	if r.Left != nil {
		a.Tell("markmill: the run's private folder is not removed yet: %s\n", r.Left)
	}
	if r.Worktree != "" {
		a.Tell("worktree kept at %s\n", r.Worktree)
	}
}

// ending is what the end of a run offers: OUTPUT, the branch that was made, or the change to be applied.
func ending(a *program.App, run *runs.Run, req engine.Request, output string) terminal.Ending {
	e := terminal.Ending{Repo: a.RepoWords(req.Repository)}
	if output != "-" && !isDevice(output) {
		if e.Output = files.Short(output); remote.Is(output) {
			e.Output = program.Name(output) // without user, password and query
		}
	}
	if req.Repository == "" || run.Status() != runs.Pass || run.Diff == nil || len(run.Diff.Files) == 0 {
		return e
	}
	if e.Accept = engine.NeedsAcceptance(run); e.Accept {
		e.Apply, e.Branch = req.Branch == "", req.Branch
		return e
	}
	if req.Branch == "" {
		e.Apply = run.Contract.MutationMode == runs.MutationWorktree
		return e
	}
	src, err := worktree.Open(req.Repository) // one that knows the branch
	if err != nil {
		return e
	}
	if commit, err := src.Resolve("refs/heads/" + req.Branch); err == nil {
		e.Branch, e.Commit = req.Branch, string(commit)
	}
	return e
}

// Retain removes the runs that are neither young nor among the newest, and tells the index of them and of the runs
// that ended. A failure is only a message: the next run tries again.
func Retain(a *program.App, eng *engine.Engine, repo *worktree.Source, ran ...runs.RunID) {
	keep, age := eng.Config.Retention.Bounds()
	store := a.StoreAt(engines.RootOf(repo))
	jobqueue.StartCourier(a, eng, store)
	removed, err := store.PruneSometimes(keep, age, a.Now())
	a.Reindex(store, append(removed, ran...)...)
	if err == nil {
		err = RetainData(a, store, eng.Config.Retention)
	}
	if err != nil {
		a.Tell("markmill: old runs were not removed: %s\n", err)
	}
}

// RetainData removes data that is kept beside records until it is no more than the retention says, and tells of which
// runs.
func RetainData(a *program.App, store runs.Store, r engine.Retention) error {
	words, err := records.PruneData(store, r)
	if words != "" {
		a.Tell("markmill: %s\n", words)
	}
	return err
}

// deliver writes the output notebook of a run with a complete record to its address, after its pictures. It delivers
// the output of an interrupted run as well; a second signal ends it.
func deliver(a *program.App, result *engine.Result, to string) error {
	client, file := a.Remote(), askedFile(result.Run)
	put := func(from, to string) error {
		data, err := runs.At(result.Dir).ReadFile(from)
		if err != nil {
			return err
		}
		return client.Write(context.Background(), to, data)
	}
	if file == runs.OutputFile { // a Jupyter notebook contains its pictures
		for _, asset := range render.Assets(result.Run) {
			if err := put(asset.From, remote.Beside(to, asset.To)); err != nil {
				return fmt.Errorf("%w; an OUTPUT that ends in .ipynb holds its pictures", err)
			}
		}
	}
	return put(file, to)
}

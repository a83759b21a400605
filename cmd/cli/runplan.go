package cli

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/outfile"
)

// runPlan runs a plan, shows its progress and reports how it ended.
func (a *app) runPlan(ctx context.Context, eng *engine.Engine, plan *engine.Plan, output string, o *runOptions) error {
	process.SealDescriptors()
	ctx, stop := a.interruptible(ctx)
	defer stop()
	if remote.Is(output) && !o.frozen { // before the steps, so that their results can be written
		if err := a.remote().Check(ctx, output); err != nil {
			return err
		}
	}
	var held *frozen
	if o.frozen {
		var err error
		if held, err = a.freeze(output, o); err != nil {
			return err
		}
	}
	var file *outfile.File
	if held == nil {
		var err error
		if file, err = a.openOutput("OUTPUT", output); err != nil {
			return err
		}
		defer file.Close()
	}
	watch, err := a.follower(o, a.storeAt(plan.Request().Repository).Path(plan.Request().ID))
	if err != nil {
		return err
	}
	if o.level() <= slog.LevelInfo {
		a.announce(plan, o)
	}
	key, err := a.signKey(eng.Config)
	if err != nil {
		return err
	}
	sinks := a.sinks(output, file, held, key, engine.Observer{Event: watch.event, Output: watch.output,
		Unfinished: watch.progress.Unfinished, Files: a.written(watch)})
	result, err := eng.Run(ctx, plan, sinks)
	if err == nil {
		err = a.signRecord(result.Dir, key)
	}
	if cerr := watch.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return a.ended(&endedRun{Result: result, output: output, watch: watch, held: held}, eng, o)
}

// sinks are the files that a run leaves for readers, signed with a key if there is one, and who follows it. held is
// set with --frozen.
func (a *app) sinks(output string, file *outfile.File, held *frozen, key string, observer engine.Observer,
) engine.Sinks {
	s := engine.Sinks{Views: a.views("", nil), Sign: a.signWith(key), Observers: []engine.Observer{observer}}
	switch {
	case held != nil:
		s.Views = held.views(s.Views)
	case !remote.Is(output): // there it is sent when the record is complete
		s.Views = a.views(output, file)
		s.StageOutput = func(in engine.ViewInput) []runs.LeftOutput { return stageLeftOutput(in, file) }
		if file != nil {
			s.CommitOutput = func(id runs.RunID, complete bool) error {
				return commitOutput(file, output, id, complete)
			}
		}
	}
	return s
}

// announceFolder says on the first line of a run outside a repository that there is no worktree.
func (a *app) announceFolder(o *runOptions) {
	if o.req.Repository == "" && o.req.Folder != "" && o.level() <= slog.LevelWarn {
		a.tell("markmill: no Git repository: steps change the files of %s itself\n", plain.Escape(o.req.Folder))
	}
}

// announce says before a run what it does not hold or have.
func (a *app) announce(plan *engine.Plan, o *runOptions) {
	if leaky := plan.NotConfined(); len(leaky) > 0 && len(plan.Gates()) == 0 {
		a.tell("markmill: the sandbox does not hold %s\n", strings.Join(leaky, "; "))
	}
	if words := plan.NotReused(); words != "" {
		a.tell("markmill: no step is carried from an earlier run: %s\n", plain.Escape(words))
	} else if f := plan.Fork(); f != nil && f.Reuse != "" {
		fmt.Fprintln(a.stderr, "markmill: "+plain.Line([]byte(goOnWords(plan.Request().Resume, plan))))
	}
	if left := plan.LeftBehind(); len(left) > 0 {
		a.tell("markmill: uncommitted, and so not in the run: %s; --dirty include takes it along\n",
			plain.Some(left, 3))
	}
	if empty, err := plan.Submodules(); err == nil { // else the run itself meets it
		for _, sub := range empty {
			a.tell("markmill: the submodule %s %s\n", plain.Escape(sub.Path), sub.Lack)
		}
	}
	if option := o.savesMeanwhile(); option != "" {
		a.tell("markmill: %s: OUTPUT is written once, at the end; meanwhile the record has each step, and what it "+
			"prints as it comes\n", option)
	}
}

// endedRun is a run whose record is complete.
type endedRun struct {
	*engine.Result
	output string
	watch  *follower
	held   *frozen // with --frozen

	undelivered error // why OUTPUT could not be sent to its address
}

// ended delivers what a run made and reports how it ended.
func (a *app) ended(r *endedRun, eng *engine.Engine, o *runOptions) error {
	if r.held != nil {
		if err := r.held.show(a, o); err != nil {
			return err
		}
	} else if remote.Is(r.output) {
		r.undelivered = a.deliver(r.Result, r.output)
	}
	var uncommitted error
	if o.req.Branch != "" && !o.noOutput && r.held == nil {
		uncommitted = a.branchOutput(eng.Source, o.req.Branch, r.Dir, r.Run)
	}
	if o.level() <= slog.LevelInfo {
		a.summarize(r, o)
	}
	if o.json {
		if err := a.printRun(r.Run, r.Dir); err != nil {
			return err
		}
	}
	a.retain(eng, eng.Source, r.Run.ID)
	if r.undelivered != nil {
		a.line(r.undelivered.Error())
		a.tell("markmill: the run is recorded, and what OUTPUT was to be is %s\n",
			files.Short(runs.At(r.Dir).File(askedFile(r.Run))))
		return exit(max(r.Run.ExitCode(), exitFail))
	}
	if uncommitted != nil {
		return fmt.Errorf("the branch %s has the change, and not the output notebook: %w", o.req.Branch, uncommitted)
	}
	return endWith(r.Run.ExitCode())
}

// summarize says on standard error how a run ended.
func (a *app) summarize(r *endedRun, o *runOptions) {
	if d := r.Run.Diff; d != nil {
		for _, words := range []string{d.Unread, d.PatchOmits} {
			if words != "" {
				a.line(words)
			}
		}
	}
	for _, s := range r.Run.Steps {
		for _, file := range r.Run.Endings(s.Planned.ID) {
			const most = 500
			if text, err := runs.At(r.Dir).ReadFile(file); err == nil {
				a.line(fmt.Sprintf("printed as the interpreter of step %s was closed: %s", s.Planned.ID,
					bytes.TrimSpace(text[max(0, len(text)-most):])))
			}
		}
	}
	for _, c := range r.Run.Causes() {
		a.line(r.Run.Located(c.Blocker).Line())
	}
	r.watch.progress.Done(terminal.Summary(r.Run, files.Short(r.Dir), a.colour(a.stderr)))
	if !o.json {
		shown := r.output
		if r.held != nil || r.undelivered != nil {
			shown = ""
		}
		fmt.Fprintln(a.stderr, terminal.End(r.Run, ending(r.Run, o.req, shown), a.colour(a.stderr)))
	}
	if r.Left != nil {
		a.tell("markmill: the run's private folder is not removed yet: %s\n", r.Left)
	}
	if r.Worktree != "" {
		a.tell("worktree kept at %s\n", r.Worktree)
	}
}

// line prints text of a run on standard error, with control characters made visible.
func (a *app) line(text string) { fmt.Fprintln(a.stderr, "markmill: "+plain.Line([]byte(text))) }

// ending is what the end of a run offers: OUTPUT, the branch that was made, or the change to be applied.
func ending(run *runs.Run, req engine.Request, output string) terminal.Ending {
	var e terminal.Ending
	if output != "-" && !isDevice(output) {
		if e.Output = files.Short(output); remote.Is(output) {
			e.Output = name(output) // without user, password and query
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

// retain removes the runs that are neither young nor among the newest, and tells the index of them and of the runs
// that ended. A failure is only a message: the next run tries again.
func (a *app) retain(eng *engine.Engine, repo *worktree.Source, ran ...runs.RunID) {
	keep, age := eng.Config.Retention.Bounds()
	store := a.storeAt(api.RootOf(repo))
	a.startCourier(eng, store)
	removed, err := store.PruneSometimes(keep, age, a.now())
	a.reindex(store, append(removed, ran...)...)
	if err == nil {
		err = a.retainData(store, eng.Config.Retention)
	}
	if err != nil {
		a.tell("markmill: old runs were not removed: %s\n", err)
	}
}

// retainData removes data that is kept beside records until it is no more than the retention says, and tells of which
// runs.
func (a *app) retainData(store runs.Store, r engine.Retention) error {
	words, err := api.PruneData(store, r)
	if words != "" {
		a.tell("markmill: %s\n", words)
	}
	return err
}

// deliver writes the output notebook of a run with a complete record to its address, after its pictures. It delivers
// the output of an interrupted run as well; a second signal ends it.
func (a *app) deliver(result *engine.Result, to string) error {
	client, file := a.remote(), askedFile(result.Run)
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

package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

func (a *app) runsFork() *cobra.Command {
	o := defaultRunOptions()
	var at, notebook string
	var stdin bool
	c := &cobra.Command{
		Use: "fork RUN [OUTPUT]", Short: "Make a run that carries over the first steps of RUN and continues from there",
		Long: `Makes a new run that carries over the steps before STEP from RUN, with their results and proof, and runs STEP and the
steps after it. RUN may have any status. Its notebook, parameters, options and base commit are reused, unless
--notebook and -p give others. Without --at the fork begins at the first step that did not pass.

The fork begins earlier, and says so, if an earlier step differs from that of RUN, did not pass, or uses a parameter
whose value has changed. Carried steps whose interpreter a later step needs run again, only to rebuild its state.
Secrets are in no record and must be given again.

Exit codes: as of run; 2 also when RUN cannot be forked.`,
		Example: "  markmill runs fork last --at train -p rate=0.1\n" +
			"  markmill runs fork last --notebook task.md fixed.out.md",
		Args: args(1, 2),
		RunE: func(c *cobra.Command, words []string) error {
			if c.Flags().Changed("at") && at == "" {
				return usagef("--at names no step; give an id, or leave the option out")
			}
			output := ""
			if len(words) == 2 {
				output = words[1]
			}
			return a.fork(c.Context(), words[0], at, notebook, &output, o)
		},
	}
	f := c.Flags()
	a.paramFlags(f, &o.req.Given, &stdin)
	f.StringVar(&at, "at", "", "the first step that runs, by its `STEP` id (default: the first that did not pass)")
	f.StringVar(&notebook, "notebook", "", "run `EDITED`, the notebook as it is now (default: as RUN has it)")
	f.StringVar(&o.req.Branch, "branch", "",
		"commit the change on a new branch `NAME` when the run passes (default: that of RUN, if RUN did not pass)")
	repoFlag(f, &o.repo)
	o.viewFlags(f)
	return c
}

// continueRun is run --continue: a fork of a run at its first step that did not pass, with the notebook as it is now.
func (a *app) continueRun(ctx context.Context, paths []string, o *runOptions) error {
	var output *string
	if len(paths) == 2 {
		output = &paths[1]
	}
	return a.fork(ctx, o.goOn, "", paths[0], output, o)
}

// fork makes a fork of a run. notebook "" is the one that the run has; output nil is where the run left its own.
func (a *app) fork(ctx context.Context, word, at, notebook string, output *string, o *runOptions) error {
	of := "" // the notebook whose run it must be
	if o.goOn != "" {
		of = notebook
	}
	was, err := a.runBefore(word, of, o.repo, (*engine.Engine).Forked)
	if err != nil {
		return err
	}
	given, asked := o.req.Given, o.req
	out := was.Run.Started.Output
	if output != nil {
		out = *output
	}
	if err := o.check(a.world, out); err != nil {
		return err
	}
	if o.req, err = was.Request(given); err != nil {
		return err
	}
	o.req.Repository, o.req.KeepTree, o.req.At = was.root, asked.KeepTree, notebooks.StepID(at)
	o.req.Branch = cmp.Or(asked.Branch, o.req.Branch)
	if notebook != "" {
		values := len(o.req.Given) > 0
		src, madeOf, err := a.readRunnable(notebook, o.dropDamaged, values)
		if err != nil {
			return err
		}
		o.req.Path, o.req.Source, o.req.MadeOf = name(notebook), src, madeOf
	}
	return a.goOnFrom(ctx, was, out, o)
}

// before is a run that another is to go on from, and where it was found.
type before struct {
	*engine.InterruptedRun
	eng  *engine.Engine
	root string
}

// runBefore finds a run to go on from and completes its record. last is the last run of the notebook, if one is given.
func (a *app) runBefore(word, notebook, repository string,
	read func(*engine.Engine, string) (*engine.InterruptedRun, error)) (*before, error) {
	around := "-"
	if notebook != "" {
		around = notebook
	}
	eng, repo, err := a.engineFor(around, repository)
	if err != nil {
		return nil, err
	}
	b := &before{eng: eng, root: api.RootOf(repo)}
	store, err := a.store(repo)
	if err != nil {
		return nil, err
	}
	if notebook != "" && (word == "last" || word == "latest") {
		if word, err = lastOf(store, notebook); err != nil {
			return nil, err
		}
	}
	id, dir, err := store.Find(word)
	if err != nil {
		if _, statErr := os.Stat(word); statErr == nil {
			err = usagef("%s is a path, and RUN is the id of a run that is kept here: unpack an archive, or copy a "+
				"record, to %s", word, filepath.Join(files.Short(store.Path("")), "ID"))
		}
		return nil, err
	}
	if _, err := runs.At(dir).Reconcile(a.now, api.Rebuild); err != nil {
		return nil, err
	}
	if b.InterruptedRun, err = read(eng, dir); err != nil {
		return nil, err
	}
	if was := b.Run.Started.Repository; was != b.root && (b.root == "" || was == "" || !files.Same(was, b.root)) {
		return nil, usagef("run %s worked on the repository %s, which is not the one here", id, was)
	}
	if base := b.Run.Contract.BaseCommit; repo != nil && base != "" {
		if _, err := repo.Resolve(base); err != nil {
			return nil, usagef("run %s cannot be gone on with: its base commit %s is not in the repository any more; "+
				"run the notebook again", id, base)
		}
	}
	return b, nil
}

// lastOf is the newest run of a notebook.
func lastOf(store runs.Store, notebook string) (string, error) {
	entries, err := store.List()
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Notebook == name(notebook) || files.Same(e.Notebook, notebook) {
			return string(e.ID), nil
		}
	}
	return "", usagef("no run of %s is kept; markmill runs list shows the runs there are", name(notebook))
}

// goOnFrom plans and runs the request of o, which goes on from a run.
func (a *app) goOnFrom(ctx context.Context, was *before, output string, o *runOptions) (err error) {
	if o.req.ID, err = was.eng.NewID(o.req.Path); err != nil {
		return err
	}
	if err := o.setOutput(output); err != nil {
		return a.outputHint(err, output)
	}
	o.req.Observed = true
	plan, err := was.eng.Plan(ctx, o.req)
	if err != nil {
		return err
	}
	if err := a.checkViews(plan, output); err != nil {
		return err
	}
	if o.level() <= slog.LevelInfo {
		words := goOnWords(was.Run.ID, plan)
		if was.eng.Continues(plan) != "" {
			words += "; the agent goes on in its session"
		}
		fmt.Fprintln(a.stderr, "markmill: "+plain.Line([]byte(words)))
		if names := was.Secrets(); len(names) > 0 {
			a.tell("markmill: no record holds a secret, so whether %s is as it was cannot be checked\n",
				strings.Join(names, ", "))
		}
	}
	return a.runPlan(ctx, was.eng, plan, output, o)
}

// goOnWords say where a run begins that goes on from another, why there, and which carried steps run again.
func goOnWords(id runs.RunID, plan *engine.Plan) string {
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

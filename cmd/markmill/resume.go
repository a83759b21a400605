package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// decided are the options of run that a resumed run has from the record of the run that was cut.
var decided = []string{
	"parameters-raw", "parameters-file", "parameters-yaml", "parameters-base64", "allow-unknown-parameters",
	"allow-errors",
	"report-mode", "inject-paths", "inject-input-path", "inject-output-path", "prepare-only", "help-notebook", "kernel",
	"language", "cwd",
	"execution-timeout", "run-timeout", "start-timeout", "only", "from", "until", "skip-tag", "base", "dirty", "in-place",
	"branch", "copy",
}

func (a *app) runsResume() *cobra.Command {
	o := defaultRunOptions()
	c := &cobra.Command{
		Use: "resume RUN [NOTEBOOK [OUTPUT]]", Short: "Go on with a run that was cut (the same as run --resume)",
		Long: `Makes a new run that goes on from the first step which had not finished in RUN, in the worktree of that moment.
RUN must have been cut: killed, ended by a signal, or stopped by a full disk. Notebook, parameters and options are those of
RUN; secrets, which no record holds, are given again. Steps that had finished are carried over with their results. Those
whose interpreter a later step needs run again, for its state only.

Exit codes: as of run; 2 also when RUN cannot be resumed.`,
		Example: "  markmill runs resume last\n  markmill runs resume last -p token=SECRET",
		Args:    args(1, 3),
		RunE: func(c *cobra.Command, words []string) error {
			o.resume = words[0]
			return a.resume(c.Context(), words[1:], o)
		},
	}
	f := c.Flags()
	parameterFlag(f, &o.req.Given)
	f.StringVar(&o.repo, "repo", "",
		"folder of the Git repository that RUN worked on (default: the one around the working directory)")
	o.viewFlags(f)
	return c
}

// resumeArgs checks the arguments of run. With --resume the record says what runs.
func (a *app) resumeArgs(o *runOptions) cobra.PositionalArgs {
	return func(c *cobra.Command, words []string) error {
		if o.version {
			return nil
		}
		if o.resume == "" && !c.Flags().Changed("resume") {
			if err := args(1, 2)(c, words); err != nil {
				return pipeHint(a.paramHint(err, words), len(words))
			}
			return nil
		}
		for _, name := range decided {
			if c.Flags().Changed(name) {
				return usagef("--resume: a resumed run has the options of the run that was cut; leave --%s out", name)
			}
		}
		return args(0, 2)(c, words)
	}
}

// resume resumes an interrupted run.
func (a *app) resume(ctx context.Context, paths []string, o *runOptions) error {
	eng, repo, err := a.engineFor("-", o.repo)
	if err != nil {
		return err
	}
	root := rootOf(repo)
	id, dir, err := a.store(root).Find(o.resume)
	if err != nil {
		return err
	}
	if _, err := runs.At(dir).Reconcile(a.now, api.Rebuild); err != nil {
		return err
	}
	cut, err := eng.Interrupted(dir)
	if err != nil {
		return err
	}
	if was := cut.Run.Started.Repository; was != root && (root == "" || was == "" || !files.Same(was, root)) {
		return usagef("run %s worked on the repository %s, which is not the one here", id, was)
	}
	if base := cut.Run.Contract.BaseCommit; repo != nil && base != "" {
		if _, err := repo.Resolve(base); err != nil {
			return usagef("run %s cannot be resumed: its base commit %s is not in the repository any more; run the notebook "+
				"again", id, base)
		}
	}
	if len(paths) > 0 {
		src, err := a.readSource(paths[0], o.dropDamaged, len(cut.Run.Started.Options.Given) > 0)
		if err != nil {
			return err
		}
		if src, err = a.runnable(paths[0], src, len(cut.Run.Started.Options.Given) > 0); err != nil {
			return err
		}
		if !bytes.Equal(src, cut.Source) {
			return usagef("%s is not the notebook that run %s ran: it has changed since; run it anew, or leave NOTEBOOK out "+
				"to go on with the one that is recorded", paths[0], id)
		}
	}
	output := cut.Run.Started.Output
	if len(paths) > 1 {
		output = paths[1]
	}
	given, asked := o.req.Given, o.req
	if err := o.check(output); err != nil {
		return err
	}
	if o.req, err = cut.Request(given); err != nil {
		return err
	}
	o.req.Repository, o.req.KeepTree = root, asked.KeepTree
	if o.req.ID, err = eng.NewID(o.req.Path); err != nil {
		return err
	}
	if err := o.setOutput(output); err != nil {
		return a.outputHint(err, output)
	}
	plan, err := eng.Plan(ctx, o.req)
	if err != nil {
		return err
	}
	if err := a.checkViews(plan, output); err != nil {
		return err
	}
	if o.level() <= slog.LevelInfo {
		fmt.Fprintln(a.stderr, "markmill: "+plain.Line([]byte(resumeWords(id, plan))))
		if names := cut.Secrets(); len(names) > 0 {
			a.tell("markmill: no record holds a secret, so whether %s is as it was cannot be checked\n",
				strings.Join(names, ", "))
		}
	}
	return a.runPlan(ctx, eng, plan, output, o)
}

// resumeWords say where a resumed run begins, and which reused steps run again.
func resumeWords(id runs.RunID, plan *engine.Plan) string {
	carried, replayed, next := plan.Reused()
	list := func(ids []notebooks.StepID) string {
		var words []string
		for _, id := range ids {
			words = append(words, string(id))
		}
		return some(words)
	}
	words := fmt.Sprintf("going on from run %s at %s", id, next)
	if next == "" {
		words = fmt.Sprintf("going on from run %s after its last step", id)
	}
	if len(carried) > 0 {
		words += "; carried over: " + list(carried)
	}
	if len(replayed) > 0 {
		words += "; run again for their state only: " + list(replayed)
	}
	return words
}

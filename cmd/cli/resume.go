package cli

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"markmill/engine"
)

// decided are the options of run that a resumed run takes from the record of the interrupted run.
var decided = []string{
	"parameters-raw", "parameters-file", "parameters-yaml", "parameters-base64", "allow-unknown-parameters",
	"allow-errors",
	"report-mode", "timings", "inject-paths", "inject-input-path", "inject-output-path", "prepare-only",
	"help-notebook", "kernel",
	"language", "cwd",
	"execution-timeout", "run-timeout", "start-timeout", "only", "from", "until", "skip-tag", "base",
	"dirty", "in-place",
	"branch", "copy", "matrix", "params-table", "include", "exclude", "max-runs",
	"attempts", "pick", "judge-once",
}

func (a *app) runsResume() *cobra.Command {
	o := defaultRunOptions()
	c := &cobra.Command{
		Use: "resume RUN|SWEEP [NOTEBOOK [OUTPUT]]", Short: "Resume an interrupted run (the same as run --resume)",
		Long: `Makes a new run that continues at the first unfinished step of RUN, in the worktree as it was then. RUN must have been
interrupted: killed, ended by a signal, or stopped by a full disk. The notebook, parameters and options of RUN are
reused; secrets are in no record and must be given again. Finished steps are carried over with their results. Those
whose interpreter a later step needs run again, only to rebuild its state.

Of a sweep it runs the rows that are missing: those whose run was interrupted (it is resumed if possible), or that have
none.

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
	repoFlag(f, &o.repo)
	o.viewFlags(f)
	return c
}

// resumeArgs checks the arguments of run. With --resume the record says what runs.
func (a *app) resumeArgs(o *runOptions) cobra.PositionalArgs {
	return func(c *cobra.Command, words []string) error {
		if o.version {
			return nil
		}
		if o.outdated {
			return checkOutdated(c)
		}
		if c.Flags().Changed("continue") {
			if err := o.continues(c); err != nil {
				return err
			}
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

// continues returns an error for an option that --continue cannot be combined with.
func (o *runOptions) continues(c *cobra.Command) error {
	for _, name := range append([]string{"resume", "frozen"}, decided...) {
		if c.Flags().Changed(name) && !strings.HasPrefix(name, "parameters-") && name != "branch" {
			return usagef("--continue: a fork has the options of the run that it goes on from; leave --%s out", name)
		}
	}
	if o.goOn == "" {
		return usagef("--continue names no run; give an id, or last")
	}
	return nil
}

// resume resumes an interrupted run.
func (a *app) resume(ctx context.Context, paths []string, o *runOptions) error {
	_, repo, err := a.engineFor("-", o.repo)
	if err != nil {
		return err
	}
	store, err := a.store(repo)
	if err != nil {
		return err
	}
	if dir, err := store.FindSweep(o.resume); err != nil {
		return err
	} else if dir != "" {
		return a.resumeSweep(ctx, dir, paths, o)
	}
	cut, err := a.runBefore(o.resume, "", o.repo, (*engine.Engine).Interrupted)
	if err != nil {
		return err
	}
	if len(paths) > 0 {
		src, _, err := a.readRunnable(paths[0], o.dropDamaged, len(cut.Run.Started.Options.Given) > 0)
		if err != nil {
			return err
		}
		if !bytes.Equal(src, cut.Source) {
			return usagef("%s is not the notebook that run %s ran: it has changed since; run it anew, or leave "+
				"NOTEBOOK out to go on with the one that is recorded", paths[0], cut.Run.ID)
		}
	}
	output := cut.Run.Started.Output
	if len(paths) > 1 {
		output = paths[1]
	}
	given, asked := o.req.Given, o.req
	if err := o.check(a.world, output); err != nil {
		return err
	}
	if o.req, err = cut.Request(given); err != nil {
		return err
	}
	o.req.Repository, o.req.KeepTree = cut.root, asked.KeepTree
	return a.goOnFrom(ctx, cut, output, o)
}

package submit

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/markmill/run"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
)

// submitOptions are the options of submit.
type submitOptions struct {
	jobqueue.Options
	run *launch.Options
	jobqueue.JobOptions
	queue string
	key   string
	after []string
	ends  queue.SubmitOptions
}

func Command(a *program.App) *cobra.Command {
	o := &submitOptions{run: launch.Defaults()}
	c := &cobra.Command{
		Use: "submit NOTEBOOK [OUTPUT]", Short: "Submit a run of a notebook to a queue, for a worker",
		Args: program.Args(1, 2),
		Long: `Plans the run of a notebook as run does, and submits it to a queue as a job: the notebook's bytes, the values and
options, and the base commit. It prints the id of the job. A worker (markmill queue worker) runs it, on this machine or, with
--nats, on another one, which gets the commit's files through the queue. Uncommitted changes are not included. Secrets
are never sent: the worker reads them from its own environment.

With --wait the command waits until the job ends, fetches the record into .markmill/runs as if the notebook had run here,
writes OUTPUT and exits as run would. Without it, markmill queue fetch JOB does that. Jobs with the same --key are
submitted once.

With --matrix or --table each run of a sweep is a job. The command waits for the workers, prints the table, and keeps
the record of the sweep here, as markmill run does; markmill resume SWEEP --queue NAME waits again.

Exit codes: 0 submitted, or with --wait the run passed, 1 fail, 2 usage (nothing was submitted), 3 blocked, or the queue
cannot be reached.`,
		Example: `  markmill queue submit report.md -p region=eu
  markmill queue submit report.md out.md --wait
  markmill queue submit train.md --queue gpu --key train-2026-11 --nats tls://queue.example:4222`,
		RunE: func(c *cobra.Command, words []string) error {
			output := ""
			if len(words) == 2 {
				output = words[1]
			}
			if err := o.run.CheckSweep(c, output); err != nil {
				return err
			}
			if o.run.Sweep.Asked() {
				return submitSweep(a, c, words[0], output, o)
			}
			return submit(c.Context(), a, words[0], output, o)
		},
	}
	f, r := c.Flags(), o.run
	a.ParamFlags(f, &r.Req.Given, &r.StdinParams)
	r.StepFlags(f, &r.Req)
	f.StringVar(&r.Req.Base, "base", "", "revision `REV` that the worktree is made of (default HEAD)")
	f.StringVarP(&r.Req.Language, "language", "l", "", "`LANGUAGE` of steps that name none")
	f.StringVar(&r.RunTimeout, "run-timeout", "",
		"limit of the whole run, instead of the notebook's, a `TIME` in seconds, or 90s, 10m, 1h")
	f.StringSliceVar(&r.Only, "only", nil, "run only the steps `ID,…` (and setup and finally steps)")
	f.StringVar(&r.From, "from", "", "begin at the step `ID`")
	f.StringVar(&r.Until, "until", "", "end after the step `ID`")
	f.StringSliceVar(&r.SkipTags, "skip-tag", nil, "leave out steps with a `TAG`")
	f.StringVar(&o.queue, "queue", queue.DefaultQueue, "`NAME` of the queue")
	f.StringVar(&o.key, "key", "", "`ID` of the job; a job whose id exists is not submitted again")
	f.StringSliceVar(&o.after, "after", nil,
		"start the job when the jobs `ID,…` have completed; cancel it when one of them fails; repeatable")
	r.Sweep.Flags(f)
	o.JobOptions.Flags(f)
	f.BoolVar(&o.ends.Wait, "wait", false, "wait until the job ends, and fetch the record")
	f.BoolVar(&o.ends.Follow, "follow", false, "as --wait, and print each step as it begins")
	program.JSONFlag(c, &o.ends.JSON, "job")
	o.Options.Flags(f)
	return c
}

// submitSweep makes each run of a sweep a job, and waits for them.
func submitSweep(a *program.App, c *cobra.Command, path, output string, o *submitOptions) error {
	for _, name := range []string{"key", "after", "follow"} {
		if c.Flags().Changed(name) {
			return program.Usagef("--%s is for one job, and a sweep makes several; leave it out", name)
		}
	}
	if err := CheckJobsAtOnce(c); err != nil {
		return err
	}
	r := o.run
	r.LogLevel, r.Progress, r.JSON = "INFO", true, o.ends.JSON
	r.Sweep.Queue = launch.RowOptions{Options: o.Options, JobOptions: o.JobOptions, Name: o.queue}
	return run.RunNotebook(c.Context(), a, path, output, r)
}

// CheckJobsAtOnce returns an error for -j of a sweep whose rows are jobs.
func CheckJobsAtOnce(c *cobra.Command) error {
	if c.Flags().Changed("jobs") {
		return program.Usagef("-j: how many jobs run at once is said to the workers (markmill queue worker -j); " +
			"leave it out")
	}
	return nil
}

// submit plans a run and submits it.
func submit(ctx context.Context, a *program.App, path, output string, o *submitOptions) error {
	if output == "-" || remote.Is(output) {
		return program.Usagef("OUTPUT %s: the output notebook of a job is written to a file", output)
	}
	r := o.run
	r.LogLevel = "INFO"
	if err := r.Check(a.World, output); err != nil {
		return err
	}
	for option, name := range map[string]string{"--queue": o.queue, "--key": cmp.Or(o.key, "none")} {
		if err := queue.CheckName(option, name); err != nil {
			return err
		}
	}
	for _, id := range o.after {
		if err := queue.CheckName("--after", id); err != nil {
			return err
		}
	}
	if len(o.after) > 100 {
		return program.Usagef("--after names %d jobs; give at most 100, or a job that comes after some of them",
			len(o.after))
	}
	o.after = slices.Compact(slices.Sorted(slices.Values(o.after)))
	if err := o.JobOptions.Check(); err != nil {
		return err
	}
	given := len(r.Req.Given) > 0
	src, madeOf, err := a.ReadRun(path, false, given)
	if err != nil {
		return err
	}
	eng, repo, err := a.EngineFor(path, r.Repo)
	if err != nil {
		return err
	}
	if repo == nil {
		return program.Usagef("a job needs a Git repository: a worker starts from a commit, and another one " +
			"continues from what the first has changed; submit from a repository, or name it with --repo")
	}
	r.Req.MadeOf, r.Req.Path, r.Req.Repository = madeOf, program.Name(path), repo.Root()
	if r.Req.Source, err = a.Runnable(path, src, given); err != nil {
		return err
	}
	if err := r.ChooseFolder(); err != nil {
		return err
	}
	if several, err := r.Attempts(eng); err != nil || several {
		return errors.Join(err, program.Usagef("a job is one run, and %s asks for several attempts; markmill run "+
			"--attempts compares them", path))
	}
	plan, output, err := launch.Plan(ctx, a, eng, path, output, r)
	if err == nil {
		err = queue.CheckNotebook(plan.Notebook())
	}
	if err != nil {
		return err
	}
	spec, err := spec(a, plan, eng, repo, o)
	if err != nil {
		return err
	}
	if spec.Output, err = jobqueue.OutputIn(repo.Root(), output); err != nil {
		return err
	}
	if dirty, err := repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		a.Tell("markmill: uncommitted changes are not included (%s); the job starts from commit %s\n",
			plain.Counted(len(dirty), "file"), spec.Base)
	}
	if plan.Contract().ApprovalRequired {
		a.Tell("markmill: job %s needs an approval: when a worker requests it, grant it with "+
			"markmill approve %[1]s\n", spec.ID)
	}
	store, err := a.Store(repo)
	if err != nil {
		return err
	}
	return jobqueue.UseQueue(a, "submit", jobqueue.ConnectionOf(a, &o.Options, store, repo), true,
		func(ctx context.Context, q program.Queue) (int, error) { return q.Submit(ctx, spec, o.ends) })
}

// spec makes the job of a plan. It returns an error for a value that is secret.
func spec(a *program.App, plan *engine.Plan, eng *engine.Engine, repo *worktree.Source, o *submitOptions) (
	*queue.Spec, error) {
	key, err := a.SignKey(eng.Config)
	if err != nil {
		return nil, err
	}
	req, keeps := plan.Request(), plan.Options().Given
	for _, g := range req.Given { // a secret of the environment is not among them
		if !slices.ContainsFunc(keeps, func(k runs.GivenData) bool { return k.Name == g.Name }) {
			return nil, program.Usagef("parameter %s is a secret, or contains one, and secrets are not sent: declare "+
				"its env:, and set that variable where the worker runs", g.Name)
		}
	}
	base, err := repo.Resolve(cmp.Or(req.Base, "HEAD"))
	if err != nil {
		return nil, err
	}
	id := cmp.Or(o.key, queue.IDOf(string(req.ID)))
	if req.Given, err = engine.GivenOf(keeps); err != nil {
		return nil, err
	}
	req.ID, req.Repository, req.Output, req.Base = "", "", "", ""
	req.MadeOf = req.SourcePath(repo.Root()) // a worker elsewhere cannot compute it
	series := ""
	if rules := plan.Notebook().Front.Alerts; rules != nil {
		series = queue.SeriesBy(rules, plan.Parameters())
	}
	if eng.Config.Repository != "" {
		if err := queue.CheckRepository(eng.Config.Repository); err != nil {
			return nil, err
		}
	}
	single, err := jobqueue.Singleton(plan.Notebook(), eng, plan.Request(), plan.Given())
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &queue.Spec{ID: id, Queue: o.queue, Priority: queue.Priority(o.Priority), Labels: o.Labels, After: o.after,
		Singleton: single, Signed: key != "", Request: req, Base: string(base), Retries: o.Retries,
		Project: filepath.Base(repo.Root()), Series: series,
		Repository: eng.Config.Repository,
		By:         a.UserName(), Email: repo.Email(), Host: host}, nil
}

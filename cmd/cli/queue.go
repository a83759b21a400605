package cli

import (
	"cmp"
	"context"
	"errors"
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
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// queueOptions are the options of all commands of the queue.
type queueOptions struct {
	queue.Server
	repo string
}

func (o *queueOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.URL, "nats", "",
		"`URL` of a NATS server with JetStream, or several with commas (default: $MARKMILL_NATS, else .markmill/queue)")
	f.StringVar(&o.Credentials, "nats-creds", "", "`FILE` with the credentials for the server (JWT and key)")
	f.StringVar(&o.CA, "nats-ca", "", "`FILE` with the certificates that sign the server's")
	f.StringVar(&o.Cert, "nats-cert", "", "`FILE` with the certificate for a server that asks for one")
	f.StringVar(&o.Key, "nats-key", "", "`FILE` with the key of --nats-cert")
	f.StringVar(&o.Files, "files", "", "`PLACE` for files above 512 KB, the same for all users of the queue: "+
		"/mnt/shared or s3://BUCKET/PREFIX (default: $MARKMILL_FILES, else in the queue)")
	f.IntVar(&o.Replicas, "replicas", 1,
		"keep `N` replicas of the streams in a cluster; used when the first command creates them")
}

// connection is the one to the queue of the repository around the working directory or --repo.
func (a *app) connection(o *queueOptions) (queue.Connection, error) {
	store, src, err := a.hereOr(o.repo)
	return a.connectionOf(o, store, src), err
}

func (a *app) connectionOf(o *queueOptions, store runs.Store, src *worktree.Source) queue.Connection {
	server := o.Server
	server.URL = cmp.Or(server.URL, a.env("MARKMILL_NATS"))
	server.Files = absolutePlace(cmp.Or(server.Files, a.env("MARKMILL_FILES")))
	return queue.Connection{Version: version().Version, Root: api.RootOf(src), Store: store.Dir, User: a.userName(),
		Server: server}
}

// absolutePlace is a file or folder as a command elsewhere can name it; "" and an address stay.
func absolutePlace(at string) string {
	if at == "" || strings.Contains(at, "://") {
		return at
	}
	return files.Absolute(at)
}

// jobOptions are the options of a job that the rows of a sweep have, too.
type jobOptions struct {
	priority string
	labels   []string
	retries  int
}

func (o *jobOptions) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.labels, "label", nil, "only workers that offer `LABEL,…` take the job; repeatable")
	f.StringVar(&o.priority, "priority", string(queue.Normal), "`PRIORITY` in the queue: high, normal, low")
	f.IntVar(&o.retries, "retries", 0, "retry a run that does not pass up to `N` times, with growing pauses")
}

func (o *jobOptions) check() (err error) {
	if o.labels, err = queue.CheckLabels(o.labels); err != nil {
		return err
	}
	if !slices.Contains(queue.Priorities, queue.Priority(o.priority)) {
		return usagef("--priority %s is not known; known: high, normal, low", o.priority)
	}
	if o.retries < 0 {
		return usagef("--retries %d; give 0 or more", o.retries)
	}
	return nil
}

// submitOptions are the options of submit.
type submitOptions struct {
	queueOptions
	run *runOptions
	jobOptions
	queue string
	key   string
	after []string
	ends  queue.SubmitOptions
}

func (a *app) submitCommand() *cobra.Command {
	o := &submitOptions{run: defaultRunOptions()}
	c := &cobra.Command{
		Use: "submit NOTEBOOK [OUTPUT]", Short: "Submit a run of a notebook to a queue, for a worker", Args: args(1, 2),
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
			if err := o.run.checkSweep(c, output); err != nil {
				return err
			}
			if o.run.sweep.asked() {
				return a.submitSweep(c, words[0], output, o)
			}
			return a.submit(c.Context(), words[0], output, o)
		},
	}
	f, r := c.Flags(), o.run
	a.paramFlags(f, &r.req.Given, &r.stdinParams)
	r.stepFlags(f, &r.req)
	f.StringVar(&r.req.Base, "base", "", "revision `REV` that the worktree is made of (default HEAD)")
	f.StringVarP(&r.req.Language, "language", "l", "", "`LANGUAGE` of steps that name none")
	f.StringVar(&r.runTimeout, "run-timeout", "",
		"limit of the whole run, instead of the notebook's, a `TIME` in seconds, or 90s, 10m, 1h")
	f.StringSliceVar(&r.only, "only", nil, "run only the steps `ID,…` (and setup and finally steps)")
	f.StringVar(&r.from, "from", "", "begin at the step `ID`")
	f.StringVar(&r.until, "until", "", "end after the step `ID`")
	f.StringSliceVar(&r.skipTags, "skip-tag", nil, "leave out steps with a `TAG`")
	f.StringVar(&o.queue, "queue", queue.DefaultQueue, "`NAME` of the queue")
	f.StringVar(&o.key, "key", "", "`ID` of the job; a job whose id exists is not submitted again")
	f.StringSliceVar(&o.after, "after", nil,
		"start the job when the jobs `ID,…` have completed; cancel it when one of them fails; repeatable")
	r.sweep.flags(f)
	o.jobOptions.flags(f)
	f.BoolVar(&o.ends.Wait, "wait", false, "wait until the job ends, and fetch the record")
	f.BoolVar(&o.ends.Follow, "follow", false, "as --wait, and print each step as it begins")
	jsonFlag(c, &o.ends.JSON, "job")
	o.queueOptions.flags(f)
	return c
}

// submitSweep makes each run of a sweep a job, and waits for them.
func (a *app) submitSweep(c *cobra.Command, path, output string, o *submitOptions) error {
	for _, name := range []string{"key", "after", "follow"} {
		if c.Flags().Changed(name) {
			return usagef("--%s is for one job, and a sweep makes several; leave it out", name)
		}
	}
	if err := checkJobsAtOnce(c); err != nil {
		return err
	}
	r := o.run
	r.logLevel, r.progress, r.json = "INFO", true, o.ends.JSON
	r.sweep.queue = rowOptions{queueOptions: o.queueOptions, jobOptions: o.jobOptions, name: o.queue}
	return a.runNotebook(c.Context(), path, output, r)
}

// checkJobsAtOnce returns an error for -j of a sweep whose rows are jobs.
func checkJobsAtOnce(c *cobra.Command) error {
	if c.Flags().Changed("jobs") {
		return usagef("-j: how many jobs run at once is said to the workers (markmill queue worker -j); leave it out")
	}
	return nil
}

// submit plans a run and submits it.
func (a *app) submit(ctx context.Context, path, output string, o *submitOptions) error {
	if output == "-" || remote.Is(output) {
		return usagef("OUTPUT %s: the output notebook of a job is written to a file", output)
	}
	r := o.run
	r.logLevel = "INFO"
	if err := r.check(a.world, output); err != nil {
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
		return usagef("--after names %d jobs; give at most 100, or a job that comes after some of them", len(o.after))
	}
	o.after = slices.Compact(slices.Sorted(slices.Values(o.after)))
	if err := o.jobOptions.check(); err != nil {
		return err
	}
	given := len(r.req.Given) > 0
	src, madeOf, err := a.readRun(path, false, given)
	if err != nil {
		return err
	}
	eng, repo, err := a.engineFor(path, r.repo)
	if err != nil {
		return err
	}
	if repo == nil {
		return usagef("a job needs a Git repository: a worker starts from a commit, and another one continues from " +
			"what the first has changed; submit from a repository, or name it with --repo")
	}
	r.req.MadeOf, r.req.Path, r.req.Repository = madeOf, name(path), repo.Root()
	if r.req.Source, err = a.runnable(path, src, given); err != nil {
		return err
	}
	if err := r.chooseFolder(); err != nil {
		return err
	}
	if several, err := r.attempts(eng); err != nil || several {
		return errors.Join(err, usagef("a job is one run, and %s asks for several attempts; markmill run --attempts "+
			"compares them", path))
	}
	plan, output, err := a.plan(ctx, eng, path, output, r)
	if err == nil {
		err = queue.CheckNotebook(plan.Notebook())
	}
	if err != nil {
		return err
	}
	spec, err := a.spec(plan, eng, repo, o)
	if err != nil {
		return err
	}
	if spec.Output, err = outputIn(repo.Root(), output); err != nil {
		return err
	}
	if dirty, err := repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		a.tell("markmill: uncommitted changes are not included (%s); the job starts from commit %s\n",
			plain.Counted(len(dirty), "file"), spec.Base)
	}
	if plan.Contract().ApprovalRequired {
		a.tell("markmill: job %s needs an approval: when a worker requests it, grant it with "+
			"markmill approve %[1]s\n", spec.ID)
	}
	store, err := a.store(repo)
	if err != nil {
		return err
	}
	return a.useQueue("submit", a.connectionOf(&o.queueOptions, store, repo), true,
		func(ctx context.Context, q Queue) (int, error) { return q.Submit(ctx, spec, o.ends) })
}

// outputIn returns the OUTPUT of a job as a path in the repository.
func outputIn(root, output string) (string, error) {
	path, err := outputName(output)
	if err != nil || path == "" {
		return path, err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // as root is
		path = filepath.Join(real, filepath.Base(path))
	}
	if rel, err := filepath.Rel(root, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	return path, queue.CheckOutput(path)
}

// spec makes the job of a plan. It returns an error for a value that is secret.
func (a *app) spec(plan *engine.Plan, eng *engine.Engine, repo *worktree.Source, o *submitOptions) (
	*queue.Spec, error) {
	key, err := a.signKey(eng.Config)
	if err != nil {
		return nil, err
	}
	req, keeps := plan.Request(), plan.Options().Given
	for _, g := range req.Given { // a secret of the environment is not among them
		if !slices.ContainsFunc(keeps, func(k runs.GivenData) bool { return k.Name == g.Name }) {
			return nil, usagef("parameter %s is a secret, or contains one, and secrets are not sent: declare its "+
				"env:, and set that variable where the worker runs", g.Name)
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
	single, err := singleton(plan.Notebook(), eng, plan.Request(), plan.Given())
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &queue.Spec{ID: id, Queue: o.queue, Priority: queue.Priority(o.priority), Labels: o.labels, After: o.after,
		Singleton: single, Signed: key != "", Request: req, Base: string(base), Retries: o.retries,
		Project: filepath.Base(repo.Root()), Series: series,
		Repository: eng.Config.Repository,
		By:         a.userName(), Email: repo.Email(), Host: host}, nil
}

// singleton returns the front matter's rule for jobs with the same key; nil if it has none. given are the parameters
// that a running agent is told.
func singleton(nb *notebooks.Notebook, eng *engine.Engine, req engine.Request, given []notebooks.Bound) (
	*queue.Singleton, error) {
	front := nb.Front.Singleton
	if front.Key == "" || front.Overlap == notebooks.OverlapAllow {
		return nil, nil
	}
	key, err := api.Expand(front.Key, eng, req)
	if err != nil {
		return nil, err
	}
	s := &queue.Singleton{Key: key, Overlap: front.Overlap}
	if s.Overlap == queue.OverlapSteer {
		s.Say = "This run was requested again, and no second one is started. Continue with these parameters:\n"
		for _, b := range given {
			s.Say += b.Param.Name + " = " + b.Value.String() + "\n"
		}
	}
	return s, nil
}

func (a *app) workerCommand() *cobra.Command {
	var o queueOptions
	var launched launchOptions
	var w queue.WorkerOptions
	lease := ""
	c := &cobra.Command{
		Use: "worker [-- ARG...]", Short: "Run the jobs of queues, on this machine", Args: args(0, -1),
		Long: `Takes jobs from queues and runs each as run does, with the same worktree, sandbox, gates and record. It uses the
repository around the working directory if that has the job's base commit, or else a copy of the commit that came with
the job. A job works in a worktree and, unless --sandbox says otherwise, in the sandbox, whatever its notebook asks for.
It publishes the events and files of a run as they are made, and keeps nothing itself.

A worker that is killed, or sends no heartbeat for the time of its lease, loses its jobs: another one continues at the
first unfinished step, and what the first still sends is refused. On the first Ctrl-C a worker returns its jobs to the
queue; on the second it ends at once.

With --launch slurm or kubernetes it submits workers, which drain the queues and end: as an sbatch array, or a
Kubernetes Job. Arguments after -- are passed to sbatch or kubectl create.

Exit codes: 0 no job is left (--drain), or it was stopped, 1 the queue is gone, 2 usage, 3 the queue cannot be
reached.`,
		Example: `  markmill queue worker
  markmill queue worker -j 4 --drain
  markmill queue worker --queue gpu,default --nats tls://queue.example:4222 --nats-creds worker.creds
  markmill queue worker --launch slurm --launch-count 20 -j 4 -- --partition=gpu --time=8:00:00`,
		RunE: func(c *cobra.Command, words []string) error {
			if len(words) > 0 && (launched.where == "" || c.ArgsLenAtDash() != 0) {
				return usagef("worker takes no arguments: %s; with --launch, options of sbatch or kubectl follow --",
					words[0])
			}
			if err := launched.idle(c.Flags()); err != nil {
				return err
			}
			for _, name := range w.Queues {
				if err := queue.CheckName("--queue", name); err != nil {
					return err
				}
			}
			var err error
			if w.Labels, err = queue.CheckLabels(w.Labels); err != nil {
				return err
			}
			if w.Jobs < 1 || w.Jobs > 256 {
				return usagef("-j %d: a worker runs from 1 to 256 jobs at once", w.Jobs)
			}
			if !slices.Contains(engine.Sandboxes(), w.Sandbox) {
				return usagef("--sandbox %s is not known; known: %s", w.Sandbox,
					strings.Join(engine.Sandboxes(), ", "))
			}
			if w.Lease, err = limit("--lease", lease); err != nil {
				return err
			}
			if w.Lease < time.Second {
				return usagef("--lease %s is too short; give at least one second", lease)
			}
			if launched.where != "" {
				launched.rest = words
				args, err := workerArgs(c.Flags(), launched.where == "slurm")
				if err != nil {
					return err
				}
				return a.launch(c.Context(), &launched, o.Server, args)
			}
			at, err := a.connection(&o)
			if err != nil {
				return err
			}
			if w.Schedule && at.Root == "" {
				return usagef("--schedule needs a Git repository, and there is none here; change " +
					"into one, or name it with --repo")
			}
			return a.useQueue("worker", at, true,
				only(func(ctx context.Context, q Queue) error { return q.Work(ctx, w) }))
		},
	}
	f := c.Flags()
	f.StringSliceVar(&w.Queues, "queue", []string{queue.DefaultQueue}, "`NAME,…` of the queues")
	f.StringSliceVar(&w.Labels, "label", nil,
		"`LABEL,…` that the worker offers: it also takes jobs that require them; repeatable")
	f.IntVarP(&w.Jobs, "jobs", "j", 1, "run `N` jobs at once")
	f.StringVar(&w.Sandbox, "sandbox", "required",
		"least sandbox of the jobs: `MODE` strict, required, on or off; a notebook can only ask for more")
	f.BoolVar(&w.Warm, "warm", false, "keep an interpreter started for the next job like the last one")
	f.BoolVar(&w.Drain, "drain", false, "end when no job of the queues is waiting or running")
	f.BoolVar(&w.Schedule, "schedule", false,
		"also submit scheduled notebooks that are due, as markmill schedule serve does")
	f.StringVar(&lease, "lease", "30s",
		"`TIME` without a heartbeat after which another worker takes the jobs; the same for all workers of a queue")
	repoFlag(f, &o.repo)
	o.flags(f)
	launched.flags(f)
	return c
}

// jobCall is what a command says about a job or a queue.
type jobCall struct {
	name, text, reason string
	json               bool
}

func (a *app) queueCommand() *cobra.Command {
	var o queueOptions
	c := groupOf("queue", "submit runs to a queue; workers; list, follow, cancel and retry jobs",
		`Submits runs of notebooks as jobs, runs them on workers, and manages them. docs/queue.md describes queues.
markmill approve and deny answer the requests of jobs.`,
		a.submitCommand(), a.workerCommand())
	jobs := &cobra.Command{}
	o.flags(jobs.Flags())
	repoFlag(jobs.Flags(), &o.repo)
	add := func(sub *cobra.Command) {
		sub.Flags().AddFlagSet(jobs.Flags())
		c.AddCommand(sub)
	}
	for _, sub := range []*cobra.Command{a.jobsList(&o), a.jobsDead(&o), a.jobsVerify(&o), a.jobsPrune(&o)} {
		add(sub)
	}
	for _, d := range []struct {
		do, short, long, codes string
		reason, json           bool
		call                   func(ctx context.Context, q Queue, c jobCall) (int, error)
	}{
		{"show", "Show what happened to a job", "Prints the events of a job: who submitted it, which workers took " +
			"it, each step, how it ended.",
			"0 shown, 2 there is no such job, 3 the queue cannot be reached.", false, true,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.Show(ctx, c.name, c.json)
			}},
		{"follow", "Follow a job until it ends", "Prints the events of a job as they happen, until it ends.",
			"0 the job has ended, 2 there is no such job, 3 the queue cannot be reached.", false, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) { return exitPass, q.Follow(ctx, c.name) }},
		{"fetch", "Fetch the record of a job that has ended", "Copies the record into .markmill/runs, byte " +
			"for byte as the worker made it, verifies it, and writes the\nOUTPUT that was given to submit.",
			"0 the run passed, 1 it failed, or the job has not ended, 2 there is no such job, 3 it was blocked, or " +
				"the queue cannot\nbe reached.", false, true,
			func(ctx context.Context, q Queue, c jobCall) (int, error) { return q.Fetch(ctx, c.name, c.json) }},
		{"cancel", "Cancel a job", "Cancels a waiting job. If it is running, its worker ends the run, whose record " +
			"says who canceled it and why.", "0 it is canceled, or its worker was asked to, 2 there is no such " +
			"job, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.Cancel(ctx, c.name, c.reason)
			}},
		{"steer", "Send a message to the agent that is working on a job", "Sends TEXT to the agent " +
			"that is working on a step of a job, as markmill runs steer does for a run.\n" +
			"The record says who sent it.", "0 it was handed over, " +
			"2 no worker has the job, or no agent is working in it, 3 the queue cannot be reached.", false, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.Steer(ctx, c.name, c.text)
			}},
		{"pause", "Pause a queue", "Keeps workers from taking jobs of a queue. Running jobs continue. markmill queue " +
			"list " +
			"shows who paused it and why.", "0 it is paused, 2 usage, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.Pause(ctx, c.name, c.reason)
			}},
		{"unpause", "Let workers take jobs of a paused queue again", "Ends the pause of a queue.",
			"0 workers take jobs again, 2 it was not paused, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) { return exitPass, q.Resume(ctx, c.name) }},
		{"retry", "Put a job back into its queue", "Puts a failed, canceled or dead job back into " +
			"its queue. It resumes its run if that was interrupted,\nor else starts a new one.", "0 it is queued " +
			"again, 2 there is no such job, or it passed or is running, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.Retry(ctx, c.name, c.reason)
			}},
		{"pause-schedule", "", "", "", true, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.ChangeSchedule(ctx, c.name, true, c.reason)
			}},
		{"resume-schedule", "", "", "", true, false,
			func(ctx context.Context, q Queue, c jobCall) (int, error) {
				return exitPass, q.ChangeSchedule(ctx, c.name, false, c.reason)
			}},
	} {
		call := &jobCall{}
		what, like := "JOB", "train-2026-11"
		if d.do == "pause" || d.do == "unpause" {
			what, like = "QUEUE", "gpu"
		}
		count := 1
		use := d.do + " " + what
		if d.do == "steer" {
			count, use, like = 2, use+" TEXT", like+" 'leave the tests alone'"
		}
		sub := &cobra.Command{
			Use: use, Short: d.short, Args: args(count, count), Hidden: d.short == "", // markmill schedule starts it
			Long: d.long + "\n\nExit codes: " + d.codes, Example: "  markmill queue " + d.do + " " + like,
			RunE: func(_ *cobra.Command, words []string) error {
				if d.reason && d.short != "" {
					if err := checkReason(call.reason); err != nil {
						return err
					}
				}
				if err := queue.CheckName(what, words[0]); err != nil && d.short != "" {
					return err
				}
				if call.text = strings.Join(words[1:], ""); d.do == "steer" && strings.TrimSpace(call.text) == "" {
					return usagef("steer needs a job and a text; the text is empty")
				}
				call.name = words[0]
				return a.inQueue("queue "+d.do, &o,
					func(ctx context.Context, q Queue) (int, error) { return d.call(ctx, q, *call) })
			},
		}
		if d.reason {
			reasonFlag(sub, &call.reason)
			sub.Example += " --reason 'wrong data'"
		}
		if d.json {
			jsonFlag(sub, &call.json, "job")
		}
		add(sub)
	}
	return c
}

func (a *app) jobsList(o *queueOptions) *cobra.Command {
	var states []string
	filter, asJSON := queue.Filter{Limit: 50}, false
	c := &cobra.Command{
		Use: "list", Short: "List jobs, the newest first", Args: args(0, 0),
		Long: `Lists jobs with their state: held (waits for the jobs of --after), enqueued, unapproved (its run needs an approval),
leased (a worker has taken it), running (and which step), completed, failed, canceled, dead (given up). The job that
was submitted, taken, released or ended last comes first.

Messages in the queue that no program of Markmill wrote are skipped, and named; markmill queue verify removes them.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill queue list\n  markmill queue list --state running,enqueued --json\n" +
			"  markmill queue list --queue gpu --notebook 'reports/*.md'",
		RunE: func(*cobra.Command, []string) error {
			if filter.Limit < 1 || filter.Limit > 500 {
				return usagef("--limit %d is not from 1 to 500", filter.Limit)
			}
			if filter.Queue != "" {
				if err := queue.CheckName("--queue", filter.Queue); err != nil {
					return err
				}
			}
			for _, s := range states {
				if !slices.Contains(queue.States, queue.State(s)) {
					return usagef("--state %s is not known; known: held, enqueued, unapproved, leased, running, "+
						"completed, failed, canceled, dead", s)
				}
				filter.States = append(filter.States, queue.State(s))
			}
			return a.inQueue("queue list", o,
				only(func(ctx context.Context, q Queue) error { return q.List(ctx, filter, asJSON) }))
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "only jobs in a `STATE,…`")
	c.Flags().StringVar(&filter.Queue, "queue", "", "only jobs of this queue `NAME`")
	c.Flags().StringVar(&filter.Notebook, "notebook", "",
		"only jobs whose notebook matches `PATTERN`, such as 'reports/*.md', of the newest 5,000")
	c.Flags().IntVar(&filter.Limit, "limit", filter.Limit, "list at most `N` jobs, from 1 to 500")
	jsonFlag(c, &asJSON, "jobs")
	return c
}

func (a *app) jobsDead(o *queueOptions) *cobra.Command {
	return &cobra.Command{
		Use: "dead", Short: "List the jobs that were given up", Args: args(0, 0),
		Long: `Lists the dead jobs: their retries are used up, or ten workers in a row took them without finishing a step. markmill
queue retry puts one back into its queue.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill queue dead",
		RunE: func(*cobra.Command, []string) error {
			dead := queue.Filter{States: []queue.State{queue.StateDead}, Limit: 500}
			return a.inQueue("queue dead", o,
				only(func(ctx context.Context, q Queue) error { return q.List(ctx, dead, false) }))
		},
	}
}

func (a *app) jobsVerify(o *queueOptions) *cobra.Command {
	mend := false
	c := &cobra.Command{
		Use: "verify", Short: "Look for messages in the queue that no program of Markmill wrote", Args: args(0, 0),
		Long: `Reads the queue and names each message that no program of Markmill wrote. They are skipped everywhere else. --mend
removes them.

Exit codes: 0 there are none, or they are removed; 1 there are some; 2 usage; 3 the queue cannot be reached.`,
		Example: "  markmill queue verify\n  markmill queue verify --mend",
		RunE: func(*cobra.Command, []string) error {
			return a.inQueue("queue verify", o,
				func(ctx context.Context, q Queue) (int, error) { return q.Verify(ctx, mend) })
		},
	}
	c.Flags().BoolVar(&mend, "mend", false, "remove them")
	return c
}

func (a *app) jobsPrune(o *queueOptions) *cobra.Command {
	age, keep := "", 0
	c := &cobra.Command{
		Use: "prune", Short: "Remove old jobs and their records from the queue", Args: args(0, 0),
		Long: `Removes jobs that ended longer ago than --older-than from the queue, with their records and the base commits that no
other job needs. Jobs that have not ended are kept, and so are the jobs they wait for. Records in .markmill/runs are not
touched.

Exit codes: 0 removed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill queue prune --older-than 30d\n  markmill queue prune --older-than 1d --keep 1000",
		RunE: func(*cobra.Command, []string) error {
			days, isDays := strings.CutSuffix(age, "d")
			n, err := strconv.Atoi(days)
			d := time.Duration(n) * 24 * time.Hour
			if !isDays {
				d, err = time.ParseDuration(age)
			}
			if err != nil || d < 0 || n < 0 || n > 36500 {
				return usagef("--older-than %q is not a time; write 30d, 12h or 0d", age)
			}
			if keep < 0 {
				return usagef("--keep %d; give 0 or more", keep)
			}
			return a.inQueue("queue prune", o,
				only(func(ctx context.Context, q Queue) error { return q.Prune(ctx, d, keep) }))
		},
	}
	c.Flags().StringVar(&age, "older-than", "30d", "remove jobs that ended longer ago than `TIME`, such as 30d or 12h")
	c.Flags().IntVar(&keep, "keep", 0, "keep the newest `N` ended jobs, however old")
	return c
}

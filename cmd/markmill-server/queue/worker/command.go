package worker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/queue"
)

func Command(a *program.App) *cobra.Command {
	var o jobqueue.Options
	var launched launchOptions
	var w queue.WorkerOptions
	lease := ""
	c := &cobra.Command{
		Use: "worker [-- ARG...]", Short: "Run the jobs of queues, on this machine", Args: program.Args(0, -1),
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
				return program.Usagef("worker takes no arguments: %s; with --launch, options of sbatch or kubectl "+
					"follow --",
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
				return program.Usagef("-j %d: a worker runs from 1 to 256 jobs at once", w.Jobs)
			}
			if !slices.Contains(engine.Sandboxes(), w.Sandbox) {
				return program.Usagef("--sandbox %s is not known; known: %s", w.Sandbox,
					strings.Join(engine.Sandboxes(), ", "))
			}
			if w.Lease, err = program.Limit("--lease", lease); err != nil {
				return err
			}
			if w.Lease < time.Second {
				return program.Usagef("--lease %s is too short; give at least one second", lease)
			}
			if launched.where != "" {
				launched.rest = words
				args, err := workerArgs(c.Flags(), launched.where == "slurm")
				if err != nil {
					return err
				}
				return launch(c.Context(), a, &launched, o.Server, args)
			}
			at, err := jobqueue.Connection(a, &o)
			if err != nil {
				return err
			}
			if w.Schedule && at.Root == "" {
				return program.Usagef("--schedule needs a Git repository, and there is none here; change " +
					"into one, or name it with --repo")
			}
			return jobqueue.UseQueue(a, "worker", at, true,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.Work(ctx, w) }))
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
	a.RepoFlag(f)
	o.Flags(f)
	launched.flags(f)
	return c
}

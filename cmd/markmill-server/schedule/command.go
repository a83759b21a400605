package schedule

import (
	"context"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/engine/queue"
)

func Command(a *program.App) *cobra.Command {
	var o jobqueue.Options
	to := queue.DefaultQueue
	c := &cobra.Command{
		Use: "serve", Short: "Submit the scheduled notebooks of a repository when they are due",
		Args: program.Args(0, 0),
		Long: `Submits every notebook of the repository whose front matter has schedule: when it is due, for a worker to run
(markmill queue worker --schedule does both). When a job ends, its record is fetched into .markmill/runs, and its output is
written. Of several schedulers of a queue only one is active; another takes over when it has been silent for 30 s. The
id of a job is made of the notebook and the due time, so each due time is submitted once, whoever submits it.

Exit codes: 0 it was stopped, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill schedule serve\n" +
			"  markmill schedule serve --nats tls://queue.example:4222 --nats-creds scheduler.creds",
		RunE: func(*cobra.Command, []string) error {
			if err := queue.CheckName("--queue", to); err != nil {
				return err
			}
			at, err := jobqueue.Connection(a, &o)
			if err != nil {
				return err
			}
			if at.Root == "" {
				return program.Usagef("a scheduler is for the notebooks of a Git repository, and there is none here; " +
					"change into one")
			}
			return jobqueue.UseQueue(a, "scheduler", at, true,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.Schedule(ctx, to) }))
		},
	}
	c.Flags().StringVar(&to, "queue", to, "`NAME` of the queue that the jobs go to")
	a.RepoFlag(c.Flags())
	o.Flags(c.Flags())
	return c
}

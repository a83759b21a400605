package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/queue/submit"
	"markmill/cmd/markmill-server/queue/worker"
	"markmill/engine/queue"
)

// jobCall is what a command says about a job or a queue.
type jobCall struct {
	name, text, reason string
	json               bool
}

func Command(a *program.App) *cobra.Command {
	var o jobqueue.Options
	c := help.GroupOf("queue", "submit runs to a queue; workers; list, follow, cancel and retry jobs",
		`Submits runs of notebooks as jobs, runs them on workers, and manages them. docs/queue.md describes queues.
markmill approve and deny answer the requests of jobs.`,
		submit.Command(a), worker.Command(a))
	jobs := &cobra.Command{}
	o.Flags(jobs.Flags())
	a.RepoFlag(jobs.Flags())
	add := func(sub *cobra.Command) {
		sub.Flags().AddFlagSet(jobs.Flags())
		c.AddCommand(sub)
	}
	for _, sub := range []*cobra.Command{jobsList(a, &o), jobsDead(a, &o), jobsVerify(a, &o), jobsPrune(a, &o)} {
		add(sub)
	}
	for _, d := range []struct {
		do, short, long, codes string
		reason, json           bool
		call                   func(ctx context.Context, q program.Queue, c jobCall) (int, error)
	}{
		{"show", "Show what happened to a job", "Prints the events of a job: who submitted it, which workers took " +
			"it, each step, how it ended.",
			"0 shown, 2 there is no such job, 3 the queue cannot be reached.", false, true,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Show(ctx, c.name, c.json)
			}},
		{"follow", "Follow a job until it ends", "Prints the events of a job as they happen, until it ends.",
			"0 the job has ended, 2 there is no such job, 3 the queue cannot be reached.", false, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Follow(ctx, c.name)
			}},
		{"fetch", "Fetch the record of a job that has ended", "Copies the record into .markmill/runs, byte " +
			"for byte as the worker made it, verifies it, and writes the\nOUTPUT that was given to submit.",
			"0 the run passed, 1 it failed, or the job has not ended, 2 there is no such job, 3 it was blocked, or " +
				"the queue cannot\nbe reached.", false, true,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return q.Fetch(ctx, c.name, c.json)
			}},
		{"cancel", "Cancel a job", "Cancels a waiting job. If it is running, its worker ends the run, whose record " +
			"says who canceled it and why.", "0 it is canceled, or its worker was asked to, 2 there is no such " +
			"job, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Cancel(ctx, c.name, c.reason)
			}},
		{"steer", "Send a message to the agent that is working on a job", "Sends TEXT to the agent " +
			"that is working on a step of a job, as markmill runs steer does for a run.\n" +
			"The record says who sent it.", "0 it was handed over, 2 no worker has the job, or no agent is working " +
			"in it, 3 the queue cannot be reached.", false, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Steer(ctx, c.name, c.text)
			}},
		{"pause", "Pause a queue", "Keeps workers from taking jobs of a queue. Running jobs continue. markmill queue " +
			"list shows who paused it and why.", "0 it is paused, 2 usage, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Pause(ctx, c.name, c.reason)
			}},
		{"unpause", "Let workers take jobs of a paused queue again", "Ends the pause of a queue.",
			"0 workers take jobs again, 2 it was not paused, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Resume(ctx, c.name)
			}},
		{"retry", "Put a job back into its queue", "Puts a failed, canceled or dead job back into " +
			"its queue. It resumes its run if that was interrupted,\nor else starts a new one.", "0 it is queued " +
			"again, 2 there is no such job, or it passed or is running, 3 the queue cannot be reached.", true, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.Retry(ctx, c.name, c.reason)
			}},
		{"pause-schedule", "", "", "", true, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.ChangeSchedule(ctx, c.name, true, c.reason)
			}},
		{"resume-schedule", "", "", "", true, false,
			func(ctx context.Context, q program.Queue, c jobCall) (int, error) {
				return program.ExitPass, q.ChangeSchedule(ctx, c.name, false, c.reason)
			}},
	} {
		call := &jobCall{}
		what, like := "JOB", "last"
		if d.do == "pause" || d.do == "unpause" {
			what, like = "QUEUE", "gpu"
		}
		count := 1
		use := d.do + " " + what
		if d.do == "steer" {
			count, use, like = 2, use+" TEXT", like+" 'leave the tests alone'"
		}
		sub := &cobra.Command{
			// markmill schedule starts it
			Use: use, Short: d.short, Args: program.Args(count, count), Hidden: d.short == "",
			Long: d.long + "\n\nExit codes: " + d.codes, Example: "  markmill queue " + d.do + " " + like,
			RunE: func(_ *cobra.Command, words []string) error {
				if d.reason && d.short != "" {
					if err := program.CheckReason(call.reason); err != nil {
						return err
					}
				}
				if err := queue.CheckName(what, words[0]); err != nil && d.short != "" {
					return err
				}
				if call.text = strings.Join(words[1:], ""); d.do == "steer" && strings.TrimSpace(call.text) == "" {
					return program.Usagef("steer needs a job and a text; the text is empty")
				}
				call.name = words[0]
				return jobqueue.InQueue(a, "queue "+d.do, &o,
					func(ctx context.Context, q program.Queue) (_ int, err error) {
						if what == "JOB" && call.name == "last" {
							if call.name, err = q.Last(ctx); err != nil {
								return 0, err
							}
						}
						return d.call(ctx, q, *call)
					})
			},
		}
		if d.reason {
			program.ReasonFlag(sub, &call.reason)
			sub.Example += " --reason 'wrong data'"
		}
		if d.json {
			program.JSONFlag(sub, &call.json, "job")
		}
		add(sub)
	}
	return c
}

func jobsList(a *program.App, o *jobqueue.Options) *cobra.Command {
	var states []string
	filter, asJSON := queue.Filter{Limit: 50}, false
	c := &cobra.Command{
		Use: "list", Short: "List jobs, the newest first", Args: program.Args(0, 0),
		Long: `Lists jobs with their state: held (waits for the jobs of --after), enqueued, unapproved (its run needs an approval),
leased (a worker has taken it), running (and which step), completed, failed, canceled, dead (given up). The job that
was submitted, taken, released or ended last comes first.

Messages in the queue that no program of Markmill wrote are skipped, and named; markmill queue verify removes them.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill queue list\n  markmill queue list --state running,enqueued --json\n" +
			"  markmill queue list --queue gpu --notebook 'reports/*.md'",
		RunE: func(*cobra.Command, []string) error {
			if filter.Limit < 1 || filter.Limit > 500 {
				return program.Usagef("--limit %d is not from 1 to 500", filter.Limit)
			}
			if filter.Queue != "" {
				if err := queue.CheckName("--queue", filter.Queue); err != nil {
					return err
				}
			}
			for _, s := range states {
				if !slices.Contains(queue.States, queue.State(s)) {
					return program.Usagef("--state %s is not known; known: held, enqueued, unapproved, leased, "+
						"running, completed, failed, canceled, dead", s)
				}
				filter.States = append(filter.States, queue.State(s))
			}
			return jobqueue.InQueue(a, "queue list", o,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.List(ctx, filter, asJSON) }))
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "only jobs in a `STATE,…`")
	c.Flags().StringVar(&filter.Queue, "queue", "", "only jobs of this queue `NAME`")
	c.Flags().StringVar(&filter.Notebook, "notebook", "",
		"only jobs whose notebook matches `PATTERN`, such as 'reports/*.md', of the newest 5,000")
	c.Flags().IntVar(&filter.Limit, "limit", filter.Limit, "list at most `N` jobs, from 1 to 500")
	program.JSONFlag(c, &asJSON, "jobs")
	return c
}

func jobsDead(a *program.App, o *jobqueue.Options) *cobra.Command {
	return &cobra.Command{
		Use: "dead", Short: "List the jobs that were given up", Args: program.Args(0, 0),
		Long: `Lists the dead jobs: their retries are used up, or ten workers in a row took them without finishing a step. markmill
queue retry puts one back into its queue.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill queue dead",
		RunE: func(*cobra.Command, []string) error {
			dead := queue.Filter{States: []queue.State{queue.StateDead}, Limit: 500}
			return jobqueue.InQueue(a, "queue dead", o,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.List(ctx, dead, false) }))
		},
	}
}

func jobsVerify(a *program.App, o *jobqueue.Options) *cobra.Command {
	mend := false
	c := &cobra.Command{
		Use: "verify", Short: "Look for messages in the queue that no program of Markmill wrote",
		Args: program.Args(0, 0),
		Long: `Reads the queue and names each message that no program of Markmill wrote. They are skipped everywhere else. --mend
removes them.

Exit codes: 0 there are none, or they are removed; 1 there are some; 2 usage; 3 the queue cannot be reached.`,
		Example: "  markmill queue verify\n  markmill queue verify --mend",
		RunE: func(*cobra.Command, []string) error {
			return jobqueue.InQueue(a, "queue verify", o,
				func(ctx context.Context, q program.Queue) (int, error) { return q.Verify(ctx, mend) })
		},
	}
	c.Flags().BoolVar(&mend, "mend", false, "remove them")
	return c
}

func jobsPrune(a *program.App, o *jobqueue.Options) *cobra.Command {
	age, keep := "", 0
	c := &cobra.Command{
		Use: "prune", Short: "Remove old jobs and their records from the queue", Args: program.Args(0, 0),
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
				return program.Usagef("--older-than %q is not a time; write 30d, 12h or 0d", age)
			}
			if keep < 0 {
				return program.Usagef("--keep %d; give 0 or more", keep)
			}
			return jobqueue.InQueue(a, "queue prune", o,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.Prune(ctx, d, keep) }))
		},
	}
	c.Flags().StringVar(&age, "older-than", "30d", "remove jobs that ended longer ago than `TIME`, such as 30d or 12h")
	c.Flags().IntVar(&keep, "keep", 0, "keep the newest `N` ended jobs, however old")
	return c
}

package approve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/render/terminal"
	"markmill/runs"
)

func Command(a *program.App) *cobra.Command {
	var key, expires, comment string
	var o jobqueue.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "approve RUN|JOB", Short: "Approve the contract of a blocked run, or of an unapproved job",
		Long: `Approves the contract of a run that was blocked with approval_required: this notebook, these parameters, this
base commit, these limits. The approval is good for one run, the next one with the same contract.

Of a job it approves what the worker's run requests. Any worker can then continue the job. The approval is valid for
this job until its run ends, also if that run is interrupted and another worker resumes it; a retry needs a new one. A
word that could be either is first looked for among the runs by its whole id, then among the jobs of the queue (--nats,
MARKMILL_NATS, or .markmill/queue), then as a part of a run's id.

With --key it is signed with an SSH key, as ssh-keygen -Y sign -n markmill-approval does; the policy of the repository
can list the keys that count. A step of a run cannot approve.

Exit codes: 0 approved, 1 the record of the run is damaged, 2 there is nothing to approve, or the approval would not
count, 3 the queue cannot be reached.`,
		Example: "  markmill approve last\n  markmill approve train-2026-11\n" +
			"  markmill approve last --key ~/.ssh/id_ed25519 --expires 2h --comment 'seen'",
		Args: program.Args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			reply := engine.Reply{Comment: comment}
			var err error
			if reply.Expires, err = program.Limit("--expires", expires); err != nil {
				return err
			}
			if key != "" {
				reply.Sign = func(text []byte) ([]byte, error) { return a.Sign(key, runs.ApprovalNamespace, text) }
			}
			return answer(a, words[0], &o, reply, asJSON)
		},
	}
	c.Flags().StringVar(&key, "key", "", "SSH private key to sign with (or the .pub of one in the agent)")
	c.Flags().StringVar(&expires, "expires", "",
		"how long it is valid: seconds, or 90s, 10m, 1h (default 24h, or what the policy allows)")
	c.Flags().StringVar(&comment, "comment", "", "a comment for the record")
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "approval")
	o.Flags(c.Flags())
	return c
}

func DenyCommand(a *program.App) *cobra.Command {
	var reason string
	var o jobqueue.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "deny RUN|JOB", Short: "Deny the contract of a blocked run, or of an unapproved job",
		Long: `Denies the contract of a run that was blocked with approval_required. Its runs are blocked with
approval_denied until somebody approves it; an earlier approval that was not used becomes void. Of a job a worker records
the denial, and the job fails.

Exit codes: 0 denied, 1 the record of the run is damaged, 2 there is nothing to deny, 3 the queue cannot be reached.`,
		Example: "  markmill deny last --reason 'not on a Friday'\n  markmill deny train-2026-11 --reason 'not now'",
		Args:    program.Args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			return answer(a, words[0], &o, engine.Reply{Deny: true, Comment: reason}, asJSON)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, for the record and for those who run it")
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "approval")
	o.Flags(c.Flags())
	return c
}

// answer answers the request of a run, or of a job. A job is answered by markmill-server, which knows the queue.
func answer(a *program.App, word string, o *jobqueue.Options, reply engine.Reply, asJSON bool) error {
	store, _, err := a.Here()
	if err != nil {
		return err
	}
	if a.Server == nil && !surelyRun(a, store, word) && HasQueue(a, store, o) {
		return a.BecomeServer(os.Args[1:])
	}
	if a.Server == nil || surelyRun(a, store, word) {
		return answerRun(a, word, reply, asJSON)
	}
	err = answerJob(a, o, word, reply, asJSON)
	if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	if _, _, none := store.Find(word); none != nil {
		return program.Usagef("there is neither a job nor a run %s; markmill queue list and markmill list show what "+
			"there is", word)
	}
	return answerRun(a, word, reply, asJSON)
}

// answerJob answers the request of a job. The error is queue.ErrNoJob if there is none of this id.
func answerJob(a *program.App, o *jobqueue.Options, job string, reply engine.Reply, asJSON bool) error {
	if len(reply.Comment) > 2000 {
		return program.Usagef("the comment has %d bytes; give at most 2000", len(reply.Comment))
	}
	if queue.CheckName("JOB", job) != nil {
		return queue.ErrNoJob
	}
	return jobqueue.InQueue(a, "approve", o,
		jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.Answer(ctx, job, reply, asJSON) }))
}

// surelyRun reports whether a word is the whole name of a run.
func surelyRun(a *program.App, store runs.Store, word string) bool {
	return word == "last" || word == "latest" || runs.At(store.Path(runs.RunID(word))).Has(runs.JournalFile)
}

// HasQueue reports whether there is a queue to look for jobs in.
func HasQueue(a *program.App, store runs.Store, o *jobqueue.Options) bool {
	_, none := os.Stat(filepath.Join(store.Dir, "queue", "nats"))
	return o.URL != "" || a.Env("MARKMILL_NATS") != "" || none == nil
}

// answerRun answers the request of one run and prints the answer.
func answerRun(a *program.App, word string, reply engine.Reply, asJSON bool) error {
	run, dir, err := a.Find(word)
	if err != nil {
		return err
	}
	// The policy is that of the run's repository, which need not be that of the working directory.
	root := run.Started.Repository
	var src *worktree.Source
	if root != "" {
		if src, err = worktree.Open(root); err != nil {
			return err
		}
	}
	eng, err := a.Engine(root)
	if err != nil {
		return err
	}
	got, err := eng.Answer(run, dir, src, reply)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON("approval", got)
	}
	fmt.Fprint(a.Stderr, terminal.Answer(got, run.Started.Notebook))
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/render/terminal"
	"markmill/runs"
)

func (a *app) approveCommand() *cobra.Command {
	var key, expires, comment string
	var o queueOptions
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
		Args: args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			reply := engine.Reply{Comment: comment}
			var err error
			if reply.Expires, err = limit("--expires", expires); err != nil {
				return err
			}
			if key != "" {
				reply.Sign = func(text []byte) ([]byte, error) { return a.sign(key, runs.ApprovalNamespace, text) }
			}
			return a.answer(words[0], &o, reply, asJSON)
		},
	}
	c.Flags().StringVar(&key, "key", "", "SSH private key to sign with (or the .pub of one in the agent)")
	c.Flags().StringVar(&expires, "expires", "",
		"how long it is valid: seconds, or 90s, 10m, 1h (default 24h, or what the policy allows)")
	c.Flags().StringVar(&comment, "comment", "", "a comment for the record")
	jsonFlag(c, &asJSON, "approval")
	o.flags(c.Flags())
	return c
}

func (a *app) denyCommand() *cobra.Command {
	var reason string
	var o queueOptions
	var asJSON bool
	c := &cobra.Command{
		Use: "deny RUN|JOB", Short: "Deny the contract of a blocked run, or of an unapproved job",
		Long: `Denies the contract of a run that was blocked with approval_required. Its runs are blocked with
approval_denied until somebody approves it; an earlier approval that was not used becomes void. Of a job a worker records
the denial, and the job fails.

Exit codes: 0 denied, 1 the record of the run is damaged, 2 there is nothing to deny, 3 the queue cannot be reached.`,
		Example: "  markmill deny last --reason 'not on a Friday'\n  markmill deny train-2026-11 --reason 'not now'",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			return a.answer(words[0], &o, engine.Reply{Deny: true, Comment: reason}, asJSON)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, for the record and for those who run it")
	jsonFlag(c, &asJSON, "approval")
	o.flags(c.Flags())
	return c
}

// answer answers the request of a run, or of a job. A job is answered by markmill-server, which knows the queue.
func (a *app) answer(word string, o *queueOptions, reply engine.Reply, asJSON bool) error {
	store, _, err := a.here()
	if err != nil {
		return err
	}
	if a.server == nil && !a.surelyRun(store, word) && a.hasQueue(store, o) {
		return a.becomeServer(os.Args[1:])
	}
	if a.server == nil || a.surelyRun(store, word) {
		return a.answerRun(word, reply, asJSON)
	}
	err = a.answerJob(o, word, reply, asJSON)
	if !errors.Is(err, queue.ErrNoJob) {
		return err
	}
	if _, _, none := store.Find(word); none != nil {
		return usagef("there is neither a job nor a run %s; markmill queue list and markmill list show what there "+
			"is", word)
	}
	return a.answerRun(word, reply, asJSON)
}

// answerJob answers the request of a job. The error is queue.ErrNoJob if there is none of this id.
func (a *app) answerJob(o *queueOptions, job string, reply engine.Reply, asJSON bool) error {
	if len(reply.Comment) > 2000 {
		return usagef("the comment has %d bytes; give at most 2000", len(reply.Comment))
	}
	if queue.CheckName("JOB", job) != nil {
		return queue.ErrNoJob
	}
	return a.inQueue("approve", o,
		only(func(ctx context.Context, q Queue) error { return q.Answer(ctx, job, reply, asJSON) }))
}

// surelyRun reports whether a word is the whole name of a run.
func (a *app) surelyRun(store runs.Store, word string) bool {
	return word == "last" || word == "latest" || runs.At(store.Path(runs.RunID(word))).Has(runs.JournalFile)
}

// hasQueue reports whether there is a queue to look for jobs in.
func (a *app) hasQueue(store runs.Store, o *queueOptions) bool {
	_, none := os.Stat(filepath.Join(store.Dir, "queue", "nats"))
	return o.URL != "" || a.env("MARKMILL_NATS") != "" || none == nil
}

// answerRun answers the request of one run and prints the answer.
func (a *app) answerRun(word string, reply engine.Reply, asJSON bool) error {
	run, dir, err := a.find(word)
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
	eng, err := a.engine(root)
	if err != nil {
		return err
	}
	got, err := eng.Answer(run, dir, src, reply)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON("approval", got)
	}
	fmt.Fprint(a.stderr, terminal.Answer(got, run.Started.Notebook))
	return nil
}

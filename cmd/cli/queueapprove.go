package cli

import (
	"context"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/runs"
)

func (a *app) jobsApprove(o *queueOptions) *cobra.Command {
	var reply engine.Reply
	key, expires, asJSON := "", "", false
	c := &cobra.Command{
		Use: "approve JOB", Short: "Approve the contract of an unapproved job", Args: args(1, 1),
		Long: `Approves the contract of an unapproved job: this notebook, these parameters, this base commit, these limits, as the
worker's run requests them. Any worker can then continue the job. The approval is valid for this job until its run ends,
also if that run is interrupted and another worker resumes it; a retry needs a new one. With --key it is signed, as by
markmill approve; the policy of the repository can list the keys that count.

A step of a run cannot approve.

Exit codes: 0 approved, 1 the record of the requesting run is damaged, 2 there is nothing to approve, or the approval
would not count, 3 the queue cannot be reached.`,
		Example: "  markmill jobs list --state unapproved\n  markmill jobs show train-2026-11 --json\n" +
			"  markmill jobs approve train-2026-11 --key ~/.ssh/id_ed25519 --comment 'seen'",
		RunE: func(_ *cobra.Command, words []string) (err error) {
			if reply.Expires, err = limit("--expires", expires); err != nil {
				return err
			}
			if key != "" {
				reply.Sign = func(text []byte) ([]byte, error) { return a.sign(key, runs.ApprovalNamespace, text) }
			}
			return a.answerJob(o, words[0], reply, asJSON)
		},
	}
	c.Flags().StringVar(&key, "key", "", "SSH private key to sign with (or the .pub of one in the agent)")
	c.Flags().StringVar(&expires, "expires", "",
		"how long it is valid: seconds, or 90s, 10m, 1h (default 24h, or what the policy allows)")
	c.Flags().StringVar(&reply.Comment, "comment", "", "a comment for the record")
	jsonFlag(c, &asJSON, "approval")
	return c
}

func (a *app) jobsDeny(o *queueOptions) *cobra.Command {
	reply, asJSON := engine.Reply{Deny: true}, false
	c := &cobra.Command{
		Use: "deny JOB", Short: "Deny the contract of an unapproved job", Args: args(1, 1),
		Long: `Denies the contract of an unapproved job. A worker records the denial, and the job fails.

Exit codes: 0 denied, 1 the record of the requesting run is damaged, 2 there is nothing to deny, 3 the queue cannot be
reached.`,
		Example: "  markmill jobs deny train-2026-11 --reason 'not on a Friday'",
		RunE:    func(_ *cobra.Command, words []string) error { return a.answerJob(o, words[0], reply, asJSON) },
	}
	c.Flags().StringVar(&reply.Comment, "reason", "", "the reason, for the record and for those who run it")
	jsonFlag(c, &asJSON, "approval")
	return c
}

func (a *app) answerJob(o *queueOptions, job string, reply engine.Reply, asJSON bool) error {
	if len(reply.Comment) > 2000 {
		return usagef("the comment has %d bytes; give at most 2000", len(reply.Comment))
	}
	if err := queue.CheckName("JOB", job); err != nil {
		return err
	}
	return a.inQueue("jobs approve", o,
		only(func(ctx context.Context, q Queue) error { return q.Answer(ctx, job, reply, asJSON) }))
}

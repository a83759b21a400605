package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/terminal"
	"markmill/runs"
)

func (a *app) approveCommand() *cobra.Command {
	var key, expires, comment string
	var asJSON bool
	c := &cobra.Command{
		Use: "approve RUN", Short: "Approve the contract of a blocked run",
		Long: `Approves the contract of a run that was blocked with approval_required: this notebook, these parameters, this
base commit, these limits. The approval is good for one run, the next one with the same contract. With --key
it is signed with an SSH key, as ssh-keygen -Y sign -n markmill-approval does; the policy of the repository
can list the keys that count.

A step of a run cannot approve.

Exit codes: 0 approved, 1 the record of the run is damaged, 2 there is nothing to approve, or the approval
would not count.`,
		Example: "  markmill approve last\n" +
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
			return a.answer(words[0], reply, asJSON)
		},
	}
	c.Flags().StringVar(&key, "key", "", "SSH private key to sign with (or the .pub of one in the agent)")
	c.Flags().StringVar(&expires, "expires", "",
		"how long it is valid: seconds, or 90s, 10m, 1h (default 24h, or what the policy allows)")
	c.Flags().StringVar(&comment, "comment", "", "a comment for the record")
	jsonFlag(c, &asJSON, "approval")
	return c
}

func (a *app) denyCommand() *cobra.Command {
	var reason string
	var asJSON bool
	c := &cobra.Command{
		Use: "deny RUN", Short: "Deny the contract of a blocked run",
		Long: `Denies the contract of a run that was blocked with approval_required. Its runs are blocked with
approval_denied until somebody approves it; an earlier approval that was not used becomes void.

Exit codes: 0 denied, 1 the record of the run is damaged, 2 there is nothing to deny.`,
		Example: "  markmill deny last --reason 'not on a Friday'",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			return a.answer(words[0], engine.Reply{Deny: true, Comment: reason}, asJSON)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, for the record and for those who run it")
	jsonFlag(c, &asJSON, "approval")
	return c
}

// answer answers the request of one run and prints the answer.
func (a *app) answer(word string, reply engine.Reply, asJSON bool) error {
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

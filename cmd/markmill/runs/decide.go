package runs

import (
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/runview"
	"markmill/engine"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
)

// RunDecision is what runs accept --json and runs reject --json print.
type RunDecision struct {
	RunID    runs.RunID           `json:"run_id"`
	Record   runs.Digest          `json:"record"` // of SHA256SUMS: what was decided on
	Status   runs.Status          `json:"status"` // of the run
	Decision runs.DecisionSummary `json:"decision"`
}

func runsAccept(a *program.App) *cobra.Command {
	var key string
	var asJSON bool
	var verdict engine.Verdict
	c := &cobra.Command{
		Use: "accept RUN", Short: "Record that an operator accepts a run that has ended",
		Long: `Verifies the record of RUN and adds the operator's acceptance to it: signed with an SSH key, as
ssh-keygen -Y sign -n markmill-decision does, and chained to the digest of the record and to the decision before it.
Where the policy of the repository says acceptance: required, the change of a run reaches the checkout (markmill apply)
and a branch only after it; the keys that count are those of its allowed_signers.

A run that did not pass is refused, unless --force is given. A step of a run cannot accept. The decisions are in the
folder decisions of the record, which SHA256SUMS does not list, and travel with it.

Exit codes: 0 accepted, 1 the record does not hold, 2 there is no such run, it did not pass, or the acceptance would not
count.`,
		Example: "  markmill runs accept last --key ~/.ssh/id_ed25519\n" +
			"  markmill runs accept last --key ~/.ssh/id_ed25519 --reason 'read the patch'",
		Args: program.Args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			if key == "" {
				return program.Usagef("--key is needed: an acceptance is signed")
			}
			return decide(a, words[0], key, verdict, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&key, "key", "", "SSH private key to sign with (or the .pub of one in the agent)")
	f.StringVar(&verdict.Reason, "reason", "", "why, for the record")
	f.BoolVar(&verdict.Force, "force", false, "also accept a run that did not pass; the decision says so")
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "runs-decision")
	return c
}

func runsReject(a *program.App) *cobra.Command {
	var key string
	var asJSON bool
	verdict := engine.Verdict{Reject: true}
	c := &cobra.Command{
		Use: "reject RUN", Short: "Record that an operator rejects a run that has ended, and why",
		Long: `Adds the operator's rejection to the record of RUN, chained to its digest and to the decision before
it. It revokes an earlier acceptance. The change of a rejected run is not applied, until somebody accepts the run. A
rejection counts without a signature; with --key it has one.

A record that does not hold can be rejected, too. A step of a run cannot reject.

Exit codes: 0 rejected, 1 the record cannot be read, 2 there is no such run, or no reason is given.`,
		Example: "  markmill runs reject last --reason 'drops the index'\n" +
			"  markmill runs reject last --reason 'drops the index' --key ~/.ssh/id_ed25519",
		Args: program.Args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			if err := program.CheckReason(verdict.Reason); err != nil {
				return err
			}
			return decide(a, words[0], key, verdict, asJSON)
		},
	}
	c.Flags().StringVar(&verdict.Reason, "reason", "", "why, for the record")
	c.Flags().StringVar(&key, "key", "", "SSH private key to sign with (or the .pub of one in the agent)")
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "runs-decision")
	return c
}

// decide adds a decision to the record of a run and prints it.
func decide(a *program.App, word, key string, verdict engine.Verdict, asJSON bool) error {
	store, src, err := a.Here()
	if err != nil {
		return err
	}
	id, _, err := store.Find(word)
	if err != nil {
		return err
	}
	eng, err := a.Engine(engines.RootOf(src))
	if err != nil {
		return err
	}
	eng.Source = src
	if key != "" {
		verdict.Sign = func(text []byte) ([]byte, error) { return a.Sign(key, runs.DecisionNamespace, text) }
	}
	made, v, err := records.Decide(eng, src, store.Record(id), verdict)
	if err != nil {
		return err
	}
	a.Reindex(store, id)
	for _, f := range v.Findings { // of a rejected record
		a.Tell("markmill: %s\n", plain.OneLine(f.String()))
	}
	signers, err := a.Signers("", engines.RootOf(src))
	if err != nil {
		return err
	}
	if o := v.Run.Started.Options; !verdict.Reject && o != nil && o.Branch != "" && engine.NeedsAcceptance(v.Run) {
		a.Tell("its branch %s is made with: markmill apply %s --branch NAME\n", o.Branch, made.Run)
	}
	if verdict.Reject && v.Run.Diff != nil && len(v.Run.Diff.Files) > 0 {
		a.Tell("where its change was applied, markmill revert %s takes it back\n", made.Run)
	}
	out := RunDecision{made.Run, made.Sums, made.Status, made.Summary(signers)}
	if asJSON {
		return a.PrintJSON("runs-decision", out)
	}
	return program.Say(a.Stdout, "%s: %s\n", made.Run, out.Decision.Words())
}

func runsAbort(a *program.App) *cobra.Command {
	var reason string
	var asJSON bool
	c := &cobra.Command{
		Use: "abort RUN", Short: "Abort a run that is going on in another terminal",
		Long: `Asks the process of RUN to stop, and waits until the record is complete. The processes that its steps started are ended,
and finally steps run, as after an interrupt. The status of the run is interrupted, with the blocker aborted, which holds
the reason and the user who gave it. The incomplete record of a run that was killed is completed in the same way.

Ctrl-C stops only the waiting.

Exit codes: 0 the run was aborted, 2 there is no such run, or it has ended.`,
		Example: "  markmill runs abort last --reason 'wrong data set'",
		Args:    program.Args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			if err := program.CheckReason(reason); err != nil {
				return err
			}
			store, src, err := a.Here()
			if err != nil {
				return err
			}
			_, dir, err := store.Find(words[0])
			if err != nil {
				return err
			}
			eng, err := a.Engine(engines.RootOf(src))
			if err != nil {
				return err
			}
			run, err := records.Abort(c.Context(), dir, runs.AbortData{Reason: reason, Actor: eng.User,
				Time: a.Now().UTC()}, a.Now)
			if err != nil {
				return err
			}
			if err := eng.Tidy(engines.RootOf(src)); err != nil { // what a killed run left elsewhere
				return err
			}
			if asJSON {
				return runview.PrintRun(a, run, dir)
			}
			return program.Say(a.Stdout, "%s\n", terminal.Summary(run, "", false))
		},
	}
	program.ReasonFlag(c, &reason)
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "run")
	return c
}

func runsSteer(a *program.App) *cobra.Command {
	var followUp, collecting bool
	c := &cobra.Command{
		Use: "steer RUN [TEXT]", Short: "Send a message to the agent that is working on a step of a run",
		Long: `Sends TEXT to the agent that is working on a step of RUN, which runs in another terminal. claude reads it at once; the
others, and with --follow-up claude too, get it as the next prompt in the same session when their turn ends. The record
holds the text, the time and the sender. --collect prints what the agent has said and done so far.

Exit codes: 0 it was handed over, 2 there is no such run, or no agent is working in it.`,
		Example: `  markmill runs steer last 'leave the tests alone'
  markmill runs steer last --follow-up 'now write the changelog'
  markmill runs steer last --collect`,
		Args: program.Args(1, 2),
		RunE: func(_ *cobra.Command, words []string) error {
			store, src, err := a.Here()
			if err != nil {
				return err
			}
			_, dir, err := store.Find(words[0])
			if err != nil {
				return err
			}
			if collecting {
				return collect(a, dir)
			}
			if len(words) < 2 || strings.TrimSpace(words[1]) == "" {
				return program.Usagef("steer needs a run and a text; the text is empty")
			}
			eng, err := a.Engine(engines.RootOf(src))
			if err != nil {
				return err
			}
			return runs.At(dir).Steer(runs.SteerData{Text: words[1], Actor: eng.User, Time: a.Now().UTC(),
				FollowUp: followUp})
		},
	}
	c.Flags().BoolVar(&followUp, "follow-up", false, "deliver it when the current turn ends")
	c.Flags().BoolVar(&collecting, "collect", false, "print the conversation so far")
	return c
}

// collect prints the last turn of a run's agents.
func collect(a *program.App, dir string) error {
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, s := range run.Steps {
		if len(s.Turn) > 0 {
			text.Reset()
		}
		for _, e := range s.Turn {
			text.WriteString(runs.Transcript(e))
		}
	}
	return program.Say(a.Stdout, "%s", plain.Escape(text.String()))
}

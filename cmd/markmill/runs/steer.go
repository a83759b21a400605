package runs

import (
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/render/plain"
	"markmill/runs"
)

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

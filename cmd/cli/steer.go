package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/render/plain"
	"markmill/runs"
)

func (a *app) runsSteer() *cobra.Command {
	var followUp, collect bool
	c := &cobra.Command{
		Use: "steer RUN [TEXT]", Short: "Send a message to the agent that is working on a step of a run",
		Long: `Sends TEXT to the agent that is working on a step of RUN, which runs in another terminal. claude reads it at once; the
others, and with --follow-up claude too, get it as the next prompt in the same session when their turn ends. The record
holds the text, the time and the sender. --collect prints what the agent has said and done so far.

Exit codes: 0 it was handed over, 2 there is no such run, or no agent is working in it.`,
		Example: `  markmill runs steer last 'leave the tests alone'
  markmill runs steer last --follow-up 'now write the changelog'
  markmill runs steer last --collect`,
		Args: args(1, 2),
		RunE: func(_ *cobra.Command, words []string) error {
			store, src, err := a.here()
			if err != nil {
				return err
			}
			_, dir, err := store.Find(words[0])
			if err != nil {
				return err
			}
			if collect {
				return a.collect(dir)
			}
			if len(words) < 2 || strings.TrimSpace(words[1]) == "" {
				return usagef("steer needs a run and a text; the text is empty")
			}
			eng, err := a.engine(api.RootOf(src))
			if err != nil {
				return err
			}
			return runs.At(dir).Steer(runs.SteerData{Text: words[1], Actor: eng.User, Time: a.now().UTC(),
				FollowUp: followUp})
		},
	}
	c.Flags().BoolVar(&followUp, "follow-up", false, "deliver it when the current turn ends")
	c.Flags().BoolVar(&collect, "collect", false, "print the conversation so far")
	return c
}

// collect prints the last turn of a run's agents.
func (a *app) collect(dir string) error {
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
	return say(a.stdout, "%s", plain.Escape(text.String()))
}

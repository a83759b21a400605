package cli

import (
	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/render/terminal"
	"markmill/runs"
)

func (a *app) runsAbort() *cobra.Command {
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
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			store, src, err := a.here()
			if err != nil {
				return err
			}
			_, dir, err := store.Find(words[0])
			if err != nil {
				return err
			}
			eng, err := a.engine(api.RootOf(src))
			if err != nil {
				return err
			}
			run, err := api.Abort(c.Context(), dir, runs.AbortData{Reason: reason, Actor: eng.User,
				Time: a.now().UTC()}, a.now)
			if err != nil {
				return err
			}
			if err := eng.Tidy(api.RootOf(src)); err != nil { // what a killed run left elsewhere
				return err
			}
			if asJSON {
				return a.printRun(run, dir)
			}
			return say(a.stdout, "%s\n", terminal.Summary(run, "", false))
		},
	}
	reasonFlag(c, &reason)
	jsonFlag(c, &asJSON, "run")
	return c
}

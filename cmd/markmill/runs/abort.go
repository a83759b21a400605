package runs

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/runview"
	"markmill/render/terminal"
	"markmill/runs"
)

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

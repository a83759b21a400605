package main

import (
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/render/terminal"
	"markmill/runs"
)

func (a *app) runsAbort() *cobra.Command {
	var reason string
	var asJSON bool
	c := &cobra.Command{
		Use: "abort RUN", Short: "End a run that another terminal runs, and record why",
		Long: `Asks the process of RUN to end it, and waits until its record is complete. What its steps started is ended, and
finally steps run, as after an interrupt. The run ends as interrupted, with the blocker aborted, which has the reason and
who gave it. A run that was killed, and whose record is not complete, is completed so.

Ctrl-C ends the waiting only.

Exit codes: 0 the run was aborted, 2 there is no such run, or it has ended.`,
		Example: "  markmill runs abort last --reason 'wrong data set'",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("--reason is needed: it goes into the record")
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
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	jsonFlag(c, &asJSON, "run")
	return c
}

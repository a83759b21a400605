package health

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/render/digest"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// sloCommand is markmill health slo.
func sloCommand(a *program.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "slo [NOTEBOOK…]", Short: "Show whether notebooks and their checks reach their objectives",
		Args: program.Args(0,
			-1),
		Long: `Computes how the runs and checks of notebooks with objectives: did in the window of each objective: the uptime, the 95th
percentile of the duration, and the error budget that is left. NOTEBOOK is a path as it was given to markmill run.
docs/alerts.md has the formulas.

Exit codes: 0 all objectives are met, or there are no data, 1 one is missed, 2 usage.`,
		Example: "  markmill health slo\n  markmill health slo observatory.md --json",
		RunE: func(c *cobra.Command, names []string) error {
			var doc *digest.Levels
			err := a.WithIndex(c, func(_ context.Context, store runs.Store, x *index.Index) (err error) {
				doc, err = digest.LevelsOf(store, x, names, a.Now())
				return err
			})
			if err != nil {
				return err
			}
			for _, name := range names {
				if !slices.ContainsFunc(doc.Levels, func(l *index.Level) bool { return l.Notebook == name }) {
					return program.Usagef("no run of %s in its window is kept; markmill list shows the notebooks "+
						"that ran", name)
				}
			}
			if asJSON {
				err = a.PrintJSON("slo", doc)
			} else {
				err = printLevels(a, doc)
			}
			if err != nil {
				return err
			}
			return program.PassIf(!slices.ContainsFunc(doc.Levels, func(l *index.Level) bool {
				return l.Met != nil &&
					!*l.Met
			}))
		},
	}
	program.JSONFlag(c, &asJSON, "slo")
	return c
}

func printLevels(a *program.App, doc *digest.Levels) error {
	if len(doc.Levels) == 0 {
		return program.Say(a.Stdout, "No notebook with objectives: has run.\n")
	}
	t := program.NewGrid("notebook", "check", "state", "uptime", "objective", "p95", "objective ", "budget left",
		"known",
		"met")
	for _, l := range doc.Levels {
		met := "–"
		if l.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*l.Met]
		}
		known := 100 * l.Known / l.Window
		t.Add(plain.OneLine(l.Notebook), digest.Name(l.Check), l.State, digest.Percent(l.Uptime),
			digest.Percent(l.UptimeObjective),
			digest.Millis(l.P95), digest.Millis(l.P95Objective), digest.Left(l), digest.Percent(&known), met)
	}
	return t.Write(a.Stdout, "table")
}

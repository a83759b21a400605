package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"markmill/render/digest"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// sloCommand is markmill health slo.
func (a *app) sloCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "slo [NOTEBOOK…]", Short: "Show whether notebooks and their checks reach their objectives", Args: args(0,
			-1),
		Long: `Computes how the runs and checks of notebooks with objectives: did in the window of each objective: the uptime, the 95th
percentile of the duration, and the error budget that is left. NOTEBOOK is a path as it was given to markmill run.
docs/alerts.md has the formulas.

Exit codes: 0 all objectives are met, or there are no data, 1 one is missed, 2 usage.`,
		Example: "  markmill health slo\n  markmill health slo observatory.md --json",
		RunE: func(c *cobra.Command, names []string) error {
			var doc *digest.Levels
			err := a.withIndex(c, func(_ context.Context, store runs.Store, x *index.Index) (err error) {
				doc, err = digest.LevelsOf(store, x, names, a.now())
				return err
			})
			if err != nil {
				return err
			}
			for _, name := range names {
				if !slices.ContainsFunc(doc.Levels, func(l *index.Level) bool { return l.Notebook == name }) {
					return usagef("no run of %s in its window is kept; "+
						"markmill list shows the notebooks that ran", name)
				}
			}
			if asJSON {
				err = a.printJSON("slo", doc)
			} else {
				err = a.printLevels(doc)
			}
			if err != nil {
				return err
			}
			return passIf(!slices.ContainsFunc(doc.Levels, func(l *index.Level) bool {
				return l.Met != nil &&
					!*l.Met
			}))
		},
	}
	jsonFlag(c, &asJSON, "slo")
	return c
}

func (a *app) printLevels(doc *digest.Levels) error {
	if len(doc.Levels) == 0 {
		return say(a.stdout, "No notebook with objectives: has run.\n")
	}
	t := newGrid("notebook", "check", "state", "uptime", "objective", "p95", "objective ", "budget left", "known",
		"met")
	for _, l := range doc.Levels {
		met := "–"
		if l.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*l.Met]
		}
		known := 100 * l.Known / l.Window
		t.add(plain.OneLine(l.Notebook), digest.Name(l.Check), l.State, digest.Percent(l.Uptime),
			digest.Percent(l.UptimeObjective),
			digest.Millis(l.P95), digest.Millis(l.P95Objective), digest.Left(l), digest.Percent(&known), met)
	}
	return t.Write(a.stdout, "table")
}

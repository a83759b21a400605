package health

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/render/digest"
	"markmill/runs"
	"markmill/runs/index"
)

func healthStatus(a *program.App) *cobra.Command {
	since, asJSON := "30d", false
	c := &cobra.Command{
		Use: "status [NOTEBOOK…]", Short: "Show the latest state of notebooks and their checks, the worst first",
		Args: program.Args(0, -1),
		Long: `Shows the latest state of each notebook that ran in the period, and of each of its checks. NOTEBOOK is a path as it was
given to markmill run. markmill health digest also shows the history.

Exit codes: 0 all are ok, 1 something is not, or the records cannot be read, 2 usage, or a NOTEBOOK has no run.`,
		Example: "  markmill health status\n  markmill health status observatory.md",
		RunE: func(c *cobra.Command, names []string) error {
			from, err := program.TimeOption("--since", since, a.Now())
			if err != nil {
				return err
			}
			var d *digest.Digest
			err = a.WithIndex(c, func(_ context.Context, store runs.Store, x *index.Index) (err error) {
				d, err = digest.Make(store, x, from, a.Now())
				return err
			})
			if err != nil {
				return err
			}
			return printHealth(a, d, names, asJSON)
		},
	}
	c.Flags().StringVar(&since, "since", since, "from this time on: 2026-01-31, 12h, 7d")
	program.JSONFlag(c, &asJSON, "digest")
	return c
}

// printHealth prints the latest states, and returns an error unless all are ok.
func printHealth(a *program.App, d *digest.Digest, names []string, asJSON bool) error {
	for _, name := range names {
		if !slices.ContainsFunc(d.Notebooks, func(n digest.Notebook) bool { return n.Notebook == name }) {
			return program.Usagef("no run of %s in the period is kept; markmill list shows the notebooks that ran",
				name)
		}
	}
	if len(names) > 0 {
		d.Notebooks = slices.DeleteFunc(d.Notebooks, func(n digest.Notebook) bool {
			return !slices.Contains(names, n.Notebook)
		})
	}
	t, well := program.NewGrid("notebook", "check", "state", "says"), true
	for _, n := range d.Notebooks {
		slices.SortStableFunc(n.Rows, func(x, y digest.Row) int {
			return digest.Severity(y.State) - digest.Severity(x.State)
		})
		for _, row := range n.Rows {
			well = well && digest.Severity(row.State) <= digest.Severity("ok")
			t.Add(n.Notebook, digest.Name(row.Check), cmp.Or(row.State, "not known"),
				strings.Join(strings.Fields(row.Says), " "))
		}
	}
	err := program.PassIf(well)
	switch {
	case asJSON:
		return cmp.Or(a.PrintJSON("digest", d), err)
	case len(d.Notebooks) == 0:
		return program.Say(a.Stdout, "No notebook ran in the period.\n")
	}
	return cmp.Or(t.Write(a.Stdout, "table"), err)
}

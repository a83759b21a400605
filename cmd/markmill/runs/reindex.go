package runs

import (
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/render/plain"
	"markmill/runs/index"
)

// Reindexed is what runs maintain reindex --json prints.
type Reindexed struct {
	Index   string  `json:"index"`   // path of the database
	Runs    int     `json:"runs"`    // how many runs it has
	Seconds float64 `json:"seconds"` // that it took
}

func runsReindex(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "reindex", Short: "Rebuild the index of the runs from their records", Args: program.Args(0, 0),
		Long: `Reads every journal and makes .markmill/index.db again. Nothing needs this in daily use: the commands that
read the index bring it up to date, and make a damaged one again by themselves. It is for a journal that was
changed after its run, and for a machine that lost its power. The records are only read.

Exit codes: 0 made, 1 it cannot be written, 2 usage, 130 interrupted.`,
		Example: "  markmill runs maintain reindex\n  markmill runs maintain reindex --json",
		RunE: func(c *cobra.Command, _ []string) error {
			store, _, err := a.Here()
			if err != nil {
				return err
			}
			ctx, stop := program.UntilInterrupted(c.Context())
			defer stop()
			o, began := a.IndexOptions(), time.Now()
			count, err := index.Rebuild(ctx, store, o)
			if err = a.IndexRead(ctx, o, err); err != nil {
				return err
			}
			a.Tell("indexed %s\n", plain.Counted(count, "run"))
			if !asJSON {
				return nil
			}
			return a.PrintJSON("runs-reindex", Reindexed{store.IndexFile(), count, time.Since(began).Seconds()})
		},
	}
	program.JSONFlag(c, &asJSON, "runs-reindex")
	return c
}

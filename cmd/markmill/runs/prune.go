package runs

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/worktree/pool"
	"markmill/render/plain"
	"markmill/runs"
)

// ChangedRuns is what runs maintain reconcile --json and runs prune --json print: the runs that were completed, or
// removed.
type ChangedRuns struct {
	Runs []runs.RunID `json:"runs"`
}

func runsPrune(a *program.App) *cobra.Command {
	var keep, days int
	var dry, quiet, asJSON bool
	c := &cobra.Command{
		Use: "prune", Short: "Remove old runs", Args: program.Args(0, 0),
		Long: `Removes runs that are older than --days and not among the newest --keep, and the worktrees kept for reuse
that no run has used for --days. A run that is still going is not removed. The record of a sweep goes with the last
of its runs. The repository is not changed: refs that runs fetch made stay until markmill runs maintain
reconcile --remove-refs. Each run prunes at its end;
markmill runs sizes shows what would be removed, and runs maintain install has the system prune every day.`,
		Example: "  markmill runs prune --keep 50 --days 7",
		RunE: func(c *cobra.Command, _ []string) error {
			store, src, err := a.Here()
			if err != nil {
				return err
			}
			cfg, err := engine.LoadConfig(engines.RootOf(src))
			if err != nil {
				return err
			}
			least, age := cfg.Retention.Bounds()
			if c.Flags().Changed("keep") {
				least = keep
			}
			if c.Flags().Changed("days") {
				age = time.Duration(days) * 24 * time.Hour
			}
			pruned := func(done string, list []runs.RunID) error {
				if !quiet {
					a.Tell("%s %s\n", done, plain.Counted(len(list), "run"))
				}
				if !asJSON {
					return nil
				}
				return a.PrintJSON("runs-prune", ChangedRuns{append([]runs.RunID{}, list...)})
			}
			all := c.Flags().Changed("days")
			if dry {
				due, err := store.Prunable(least, age, a.Now(), all)
				if err != nil {
					return err
				}
				for _, id := range due.Runs {
					a.Tell("would remove %s\n", id)
				}
				return pruned("would remove", due.Runs)
			}
			prune := store.Prune
			if all {
				prune = store.PruneAll
			}
			removed, err := prune(least, age, a.Now())
			a.Reindex(store, removed...)
			trees, perr := pool.New(filepath.Join(a.Cache(), "pool")).Remove(a.Now().Add(-age))
			if err = errors.Join(err, perr); err == nil {
				err = launch.RetainData(a, store, cfg.Retention)
			}
			if trees > 0 && !quiet {
				a.Tell("removed %d worktrees that were kept for reuse\n", trees)
			}
			asJSON = asJSON && err == nil
			return errors.Join(err, pruned("removed", removed))
		},
	}
	program.JSONFlag(c, &asJSON, "runs-prune")
	a.RepoFlag(c.Flags())
	c.Flags().BoolVar(&dry, "dry-run", false, "list the runs that would be removed, and remove nothing")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "say nothing but errors")
	c.Flags().IntVar(&keep, "keep", engine.DefaultRuns,
		"how many of the newest runs to keep at least (default: retention in markmill.yaml)")
	c.Flags().IntVar(&days, "days", engine.DefaultDays,
		"keep runs that are younger than this, in days (default: retention in markmill.yaml)")
	return c
}

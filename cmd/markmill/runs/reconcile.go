package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/engine/worktree"
	"markmill/engine/worktree/apply"
	"markmill/render/plain"
	"markmill/runs"
)

func runsReconcile(a *program.App) *cobra.Command {
	var removeRefs, asJSON bool
	c := &cobra.Command{
		Use: "reconcile", Short: "Complete the records of interrupted runs", Args: program.Args(0, 0),
		Long: `Completes the record of every run that was interrupted without a verdict (by a crash or a kill): its status
becomes interrupted, and markmill resume can continue it. A run that had its verdict, but not all its
files, keeps the verdict, and its files are written again. What a run left elsewhere is removed: its private
folder, an output notebook that was not moved into place. A run that was interrupted before its first event
is removed: nothing of it ran.

It counts the refs that markmill runs fetch made, under refs/markmill/runs/. --remove-refs removes them; the
commits stay in the records.`,
		Example: "  markmill runs maintain reconcile\n  markmill runs maintain reconcile --remove-refs",
		RunE: func(c *cobra.Command, _ []string) error {
			store, src, err := a.Here()
			if err != nil {
				return err
			}
			eng, err := a.Engine(engines.RootOf(src))
			if err != nil {
				return err
			}
			if err := store.Survey(); err != nil {
				return err
			}
			if err := eng.Tidy(engines.RootOf(src)); err != nil {
				return err
			}
			done, err := records.Reconcile(store, a.Now)
			completed := ChangedRuns{[]runs.RunID{}}
			for _, e := range done {
				words := "completed as interrupted"
				if !e.FinishedAt.IsZero() {
					words = fmt.Sprintf("completed: its files were written again; its status stays %s", e.Status)
				}
				a.Tell("%s: %s\n", e.ID, words)
				completed.Runs = append(completed.Runs, e.ID)
			}
			a.Reindex(store, completed.Runs...)
			if err != nil {
				return err
			}
			if err := halfApplied(a, src); err != nil {
				return err
			}
			if err := oldRefs(c.Context(), a, src, store, removeRefs); err != nil || !asJSON {
				return err
			}
			return a.PrintJSON("runs-reconcile", completed)
		},
	}
	program.JSONFlag(c, &asJSON, "runs-reconcile")
	c.Flags().BoolVar(&removeRefs, "remove-refs", false, "remove refs/markmill/runs/* from the repository")
	return c
}

// halfApplied lists the changes that a killed apply left half applied to the checkout. It does not finish them: they
// are the user's files.
func halfApplied(a *program.App, src *worktree.Source) error {
	if src == nil {
		return nil
	}
	ids, err := apply.HalfApplied(src.Root())
	for _, id := range ids {
		command := "apply"
		if run, back := strings.CutSuffix(id, apply.RevertedSuffix); back {
			id, command = run, "revert"
		}
		a.Tell("%s: its change is half applied to the checkout; markmill runs %s %s finishes it\n", id, command, id)
	}
	return err
}

// oldRefs counts the refs of runs in the repository, or removes them.
func oldRefs(ctx context.Context, a *program.App, src *worktree.Source, store runs.Store, remove bool) error {
	if src == nil {
		return nil
	}
	ids, err := src.RunRefs()
	if err != nil || len(ids) == 0 {
		return err
	}
	if remove {
		if err := src.DeleteRefs(ctx, ids); err != nil {
			return err
		}
		a.Tell("removed %s below refs/markmill/runs\n", plain.Counted(len(ids), "ref"))
		return nil
	}
	only := 0
	for _, id := range ids {
		if !runs.At(store.Path(runs.RunID(id))).Has(runs.BundleFile) {
			only++
		}
	}
	a.Tell("the repository has %s below refs/markmill/runs, from runs fetch; the commits of %d are in no record.\n"+
		"markmill runs maintain reconcile --remove-refs removes all of them\n", plain.Counted(len(ids), "ref"), only)
	return nil
}

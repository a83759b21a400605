package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render"
	"markmill/runs"
)

func (a *app) runsReconcile() *cobra.Command {
	var removeRefs, asJSON bool
	c := &cobra.Command{
		Use: "reconcile", Short: "Complete the records of runs that were cut", Args: args(0, 0),
		Long: `Finishes the record of every run that ended without saying so (a crash, a kill): its status becomes interrupted, and
markmill runs resume can go on with it. A run that had its verdict, and was cut before all its files stood, keeps the verdict: its
files are made again. What a run left half-done elsewhere is taken away: its private folder, an output notebook
that did not reach its place. A run that was cut before its first event is removed: nothing of it ran.

Earlier versions put the commits of every run into the repository, under refs/markmill/runs/. This one keeps them in the record, and
says how many such refs there are. --remove-refs removes them, and those that markmill runs fetch made. Where a record of an
earlier version has no bundle, the commits of its run then go with the next git gc; the record itself stays and still verifies.`,
		Example: "  markmill runs reconcile\n  markmill runs reconcile --remove-refs",
		RunE: func(c *cobra.Command, _ []string) error {
			store, src, err := a.here()
			if err != nil {
				return err
			}
			if err := a.tidy(src); err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			completed := changedRuns{[]runs.RunID{}}
			for _, e := range entries {
				done, err := a.reconcile(e)
				if err != nil {
					return err
				}
				if done {
					completed.Runs = append(completed.Runs, e.ID)
				}
			}
			if err := a.halfApplied(src); err != nil {
				return err
			}
			if err := a.oldRefs(c.Context(), src, entries, removeRefs); err != nil || !asJSON {
				return err
			}
			return a.printJSON("runs-reconcile", completed)
		},
	}
	jsonFlag(c, &asJSON, "runs-reconcile")
	c.Flags().BoolVar(&removeRefs, "remove-refs", false, "remove refs/markmill/runs/* from the repository")
	return c
}

// reconcile completes the record of one run, and says what it did.
func (a *app) reconcile(e runs.Entry) (bool, error) {
	if e.Status == runs.Damaged || e.Status == runs.Running {
		return false, nil
	}
	done, err := runs.At(e.Dir).Reconcile(a.now, a.rebuild)
	if _, gone := os.Stat(e.Dir); errors.Is(gone, fs.ErrNotExist) {
		return false, nil // somebody has removed it meanwhile
	}
	if err != nil || !done {
		return false, err
	}
	words := "completed as interrupted"
	if !e.FinishedAt.IsZero() {
		words = fmt.Sprintf("completed: its files were made again; its status stays %s", e.Status)
	}
	a.tell("%s: %s\n", e.ID, words)
	return true, nil
}

// halfApplied tells of changes of runs that a kill has left half applied to the checkout. They are the user's files:
// only the user finishes them.
func (a *app) halfApplied(src *worktree.Source) error {
	if src == nil {
		return nil
	}
	ids, err := worktree.HalfApplied(src.Root())
	for _, id := range ids {
		a.tell("%s: its change is half applied to the checkout; markmill runs apply %s finishes it\n", id, id)
	}
	return err
}

// oldRefs tells of the refs of runs in the repository, or removes them.
func (a *app) oldRefs(ctx context.Context, src *worktree.Source, entries []runs.Entry, remove bool) error {
	if src == nil {
		return nil
	}
	ids, err := worktree.RunRefs(src)
	if err != nil || len(ids) == 0 {
		return err
	}
	if remove {
		if err := worktree.DeleteRefs(ctx, src, ids); err != nil {
			return err
		}
		a.tell("removed %s below refs/markmill/runs\n", refsWord(len(ids)))
		return nil
	}
	kept := map[string]bool{}
	for _, e := range entries {
		if _, err := runs.At(e.Dir).Stat(runs.BundleFile); err == nil {
			kept[string(e.ID)] = true
		}
	}
	only := 0
	for _, id := range ids {
		if !kept[id] {
			only++
		}
	}
	a.tell("the repository has %s below refs/markmill/runs, of earlier versions or of runs fetch; the commits of %d are in no record.\n"+
		"markmill runs reconcile --remove-refs removes all of them\n", refsWord(len(ids)), only)
	return nil
}

func refsWord(n int) string {
	if n == 1 {
		return "1 ref"
	}
	return fmt.Sprintf("%d refs", n)
}

// tidy takes away what runs that were cut left outside their records.
func (a *app) tidy(src *worktree.Source) error {
	eng, err := a.engine(rootOf(src))
	if err != nil {
		return err
	}
	return eng.Tidy(rootOf(src))
}

// rebuild writes the views of a run directory anew.
func (a *app) rebuild(record *runs.Record, run *runs.Run) error {
	source, err := record.ReadFile(run.Started.SourceFile)
	if err != nil {
		return err
	}
	nb, err := render.Recorded(run, source)
	if err != nil {
		return err
	}
	for _, v := range a.views("") {
		if err := v.Write(engine.ViewInput{Dir: record.Path(), Notebook: nb, Run: run}); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

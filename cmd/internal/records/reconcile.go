package records

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/render"
	"markmill/runs"
)

// Reconcile completes the records of the runs in a store that were interrupted, and returns those that it completed, as
// they were listed before. A run that had its verdict keeps it, and its views are written again. A record that cannot
// be completed does not keep others from being completed.
func Reconcile(store runs.Store, now func() time.Time) ([]runs.Entry, error) {
	entries, err := store.List()
	if err != nil {
		return nil, err
	}
	var completed []runs.Entry
	var failed error
	for _, e := range entries {
		if e.Status == runs.Damaged || e.Status == runs.Running {
			continue
		}
		done, err := runs.At(e.Dir).Reconcile(now, Rebuild)
		if _, gone := os.Stat(e.Dir); errors.Is(gone, fs.ErrNotExist) {
			continue // another process has removed it
		}
		failed = errors.Join(failed, err)
		if done {
			completed = append(completed, e)
		}
	}
	return completed, failed
}

// Rebuild writes the views of a record again.
func Rebuild(record *runs.Record, run *runs.Run) error {
	source, err := record.ReadFile(run.Started.SourceFile)
	if err != nil {
		return err
	}
	nb, err := render.Recorded(run, source)
	if err != nil {
		return err
	}
	for _, v := range views.Views() {
		if err := v.Write(engine.ViewInput{Dir: record.Path(), Notebook: nb, Run: run}); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

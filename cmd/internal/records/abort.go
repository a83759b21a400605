package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render"
	"markmill/runs"
)

// Abort ends the run in a run directory, which another process may be running, and returns it when its record is
// complete: interrupted, with the reason. A run that was killed is completed so. It returns an error for a run that has
// ended, or that ended by itself meanwhile. When ctx ends, Abort returns its cause, and the run ends all the same.
func Abort(ctx context.Context, dir string, asked runs.AbortData, now func() time.Time) (*runs.Run, error) {
	record := runs.At(dir)
	if err := record.Abort(asked); err != nil {
		return nil, err
	}
	follower := record.Follow(0)
	defer follower.Close()
	for {
		if _, err := follower.Next(ctx); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	if err := waitWhole(ctx, record); err != nil {
		return nil, err
	}
	if _, err := record.Reconcile(now, Rebuild); err != nil {
		return nil, err
	}
	run, _, err := record.Load()
	if err != nil {
		return nil, err
	}
	if run.Completed == nil || run.Completed.Aborted == nil {
		return nil, errors.Join(&notebooks.Error{Kind: notebooks.KindOption,
			Msg: fmt.Sprintf("run %s came to its end by itself, as %s", run.ID, run.Status())}, record.RetractAbort())
	}
	return run, record.RetractAbort()
}

// waitWhole waits until the process of a run has let go of its record.
func waitWhole(ctx context.Context, record *runs.Record) error {
	for record.Alive() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

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

package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"markmill/notebooks"
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

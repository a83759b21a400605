package sweep

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/runs"
)

// Arrival waits for a run on another machine. It returns the run when its record is in the store, or why there is none.
type Arrival func(ctx context.Context) (run runs.RunID, why string, err error)

// elsewhere has the runs of all rows made on other machines, begun in their order, and records each as it ends.
func (r *runner) elsewhere(ctx context.Context, group *sync.WaitGroup) error {
	for row := r.take(ctx); row != nil; row = r.take(ctx) {
		req, err := r.travelling(row)
		if err != nil {
			return err
		}
		wait, err := r.Work.Elsewhere(row.number, req)
		if err != nil {
			return fmt.Errorf("row %d: %w", row.number, err)
		}
		group.Go(func() {
			ended, err := r.arrived(ctx, row, wait)
			if err != nil {
				r.fail(err)
			} else if ended != nil {
				r.ended(row, ended)
			}
		})
	}
	return nil
}

// arrived records the run of a row when it has ended. It returns nil for one that goes on.
func (r *runner) arrived(ctx context.Context, row *row, wait Arrival) (*runs.SweepRunEndedData, error) {
	id, why, err := wait(ctx)
	if ctx.Err() != nil { // it goes on there, and a resumed sweep gets it
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("row %d: %w", row.number, err)
	}
	ended := &runs.SweepRunEndedData{Row: row.number, Run: id, Status: runs.Fail, Reason: why}
	if id == "" {
		if ended.Run, err = r.Engine.NewID(r.request.Path); err != nil {
			return nil, err
		}
	} else {
		record := r.store.Record(id)
		run, _, err := record.Load()
		if err == nil {
			err = ended.Set(record, run)
		}
		if err != nil {
			return nil, err
		}
		ended.Millis = run.FinishedAt.Sub(run.StartedAt).Milliseconds()
	}
	begun := runs.SweepRunStartedData{Row: row.number, Run: ended.Run}
	if err := r.recorder.Append(runs.SweepRunStarted, begun); err != nil {
		return nil, err
	}
	return ended, r.recorder.Append(runs.SweepRunEnded, *ended)
}

// travelling is the request of a row without what does not leave this machine.
func (r *runner) travelling(row *row) (engine.Request, error) {
	req, err := r.requestOf(row)
	if err != nil {
		return req, err
	}
	data := slices.Concat(r.started.Options.Given, r.started.Rows[row.number-1].Given)
	for _, g := range req.Given { // a secret of the environment is not among them
		if !slices.ContainsFunc(data, func(k runs.GivenData) bool { return k.Name == g.Name }) {
			return req, bad(notebooks.KindParameter, "declare its env:, and set that variable where the worker runs",
				"parameter %s is a secret, or contains one, and secrets are not sent", g.Name)
		}
	}
	req.Given, err = engine.GivenOf(data)
	req.Sweep = &runs.SweepData{ID: r.id, Row: row.number}
	return req, err
}

package client

import (
	"context"
	"sync"
	"time"

	"markmill/engine"
)

// prepared holds the interpreter that a worker keeps ready for the next run.
type prepared struct {
	mu    sync.Mutex
	ready *engine.Warm
	busy  bool // one is being made
	group sync.WaitGroup
	over  bool
}

// warmAfter is the pause after a job before the next interpreter starts, so that the record can be fetched first.
const warmAfter = 200 * time.Millisecond

// take returns the prepared interpreter if the run of a plan can use it, to one caller only; nil if there is none.
func (w *prepared) take(plan *engine.Plan, eng *engine.Engine) *engine.Warm {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready == nil || !w.ready.Fits(plan, eng) {
		return nil
	}
	ready := w.ready
	w.ready = nil
	return ready
}

// make prepares, while the worker waits, an interpreter for a run like the last one.
func (w *prepared) make(ctx context.Context, plan func() (*engine.Engine, *engine.Plan, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy || w.over {
		return
	}
	w.busy = true
	w.group.Go(func() {
		time.Sleep(warmAfter)
		eng, p, err := plan()
		var made *engine.Warm
		w.mu.Lock()
		old := w.ready
		if err != nil || old != nil && old.Fits(p, eng) {
			w.busy = false
			w.mu.Unlock()
			return // a run that begins cold says what is wrong
		}
		w.ready = nil
		w.mu.Unlock()
		closeWarm(old)
		made, _ = eng.NewWarm(ctx, p)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy = false; w.over {
			closeWarm(made)
			return
		}
		w.ready = made
	})
}

// close ends the prepared interpreter.
func (w *prepared) close() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.group.Wait()
	closeWarm(w.ready)
}

func closeWarm(w *engine.Warm) {
	if w != nil {
		_ = w.Close() // the next run removes what is left
	}
}

package queue

import (
	"context"
	"sync"
	"time"

	"markmill/engine"
)

// warmth is the interpreter that a worker has ready for the next run.
type warmth struct {
	mu    sync.Mutex
	ready *engine.Warm
	busy  bool // one is being made
	group sync.WaitGroup
	over  bool
}

// warmAfter is how long after a job the next interpreter starts: whoever waits for that job fetches its record first.
const warmAfter = 200 * time.Millisecond

// take returns what the run of a plan can begin with, to one caller alone; nil if there is nothing.
func (w *warmth) take(plan *engine.Plan, eng *engine.Engine) *engine.Warm {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready == nil || !w.ready.Fits(plan, eng) {
		return nil
	}
	ready := w.ready
	w.ready = nil
	return ready
}

// make makes ready, while the worker waits, what a run like the one before can begin with.
func (w *warmth) make(ctx context.Context, plan func() (*engine.Engine, *engine.Plan, error)) {
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

// close frees what is ready.
func (w *warmth) close() {
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

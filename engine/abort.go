package engine

import (
	"context"
	"time"

	"markmill/runs"
)

// abortEvery is how often a run looks whether somebody asked it to end.
const abortEvery = 200 * time.Millisecond

// sigterm is the signal that an abort counts as.
const sigterm = 15

// abortable is a context that ends when somebody asks the run to end (runs.Record.Abort). stop takes back a request
// that came too late.
func abortable(ctx context.Context, record *runs.Record) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(abortEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			// A request that cannot be read asks for nothing; who made it sees that the run goes on.
			if asked, err := record.AbortAsked(); err == nil && asked != nil {
				cancel(Interrupt{Signal: sigterm, Abort: asked})
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
		_ = record.RetractAbort() // who asked waits for the end, and removes what comes even later
	}
}

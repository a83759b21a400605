package program

import (
	"context"
	"sync"
	"time"

	"markmill/cmd/internal/remote/otlp"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// exports are the traces of runs that have ended, on their way to the collector. After one failure no more are sent: a
// sweep does not wait for a collector that is away.
type exports struct {
	sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// exportLimit is how long a command waits at most for the trace of its last run to be sent.
const exportLimit = time.Second

// exporter sends the trace of each run of an engine; nil where there is no collector.
func (p *Places) exporter() func(dir string) {
	collector, err := otlp.FromEnv(p.Getenv)
	e := p.exports
	switch {
	case err != nil:
		return func(string) { e.fail(err) }
	case collector == nil:
		return nil
	}
	return func(dir string) {
		if e.why() != nil {
			return
		}
		e.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), exportLimit)
			defer cancel()
			trace, err := runs.At(dir).Trace()
			if err != nil {
				e.fail(err)
				return
			}
			text, err := codec.Marshal(trace)
			if err == nil {
				err = collector.Send(ctx, text)
			}
			e.fail(err)
		})
	}
}

func (e *exports) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = err
	}
}

func (e *exports) why() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// Exported waits for the traces that are being sent, and tells of the first one that was not.
func (a *App) Exported() {
	a.exports.Wait()
	if err := a.exports.why(); err != nil {
		a.Tell("markmill: the trace was not sent: %s\n", plain.OneLine(err.Error()))
	}
}

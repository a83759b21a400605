package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"markmill/runs"
)

// finallyBound is how long a finally step may take after the run has ended, by its time limit or by an interrupt.
const finallyBound = 30 * time.Second

var (
	errTimeout    = errors.New("the step passed its time limit")
	errRunTimeout = errors.New("the run passed its time limit")
	errFinally    = fmt.Errorf("a finally step has %s when the run is over", finallyBound)
)

// isLimit reports whether a context ended because of a time limit.
func isLimit(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errTimeout) || cause == errRunTimeout || cause == errFinally
}

// hurry is how long an interrupted run reads, hashes and writes on: a large file would keep it for minutes.
const hurry = 1500 * time.Millisecond

var errHurry = errors.New("the run was interrupted, and did not wait until the rest was read")

// hurried is a context that ends a while after a signal has ended ctx.
func hurried(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if signal := (Interrupt{}); errors.As(context.Cause(ctx), &signal) && signal.Abort == nil {
			time.AfterFunc(hurry, func() { cancel(errHurry) })
		}
	})
	return out, func() { stop(); cancel(nil) }
}

// hurriedReader is a file that is read until such a context ends; nil never does.
type hurriedReader struct {
	io.ReadSeeker
	hurried context.Context
}

func (r hurriedReader) Read(p []byte) (int, error) {
	if r.hurried != nil && r.hurried.Err() != nil {
		return 0, context.Cause(r.hurried)
	}
	return r.ReadSeeker.Read(p)
}

// bound is the context of the steps: it ends with the run's time limit, which starts with the call.
func (r *run) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	r.whole = ctx
	if r.plan.runTimeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, r.plan.runTimeout, errRunTimeout)
}

// finally is the context of a finally step. After the run has ended, the step has a time limit of its own. (The clock
// is the system's, as for every limit.)
func (r *run) finally(ctx context.Context) (context.Context, context.CancelFunc) {
	over, limited := ctx.Deadline()
	switch now := time.Now(); {
	case r.whole.Err() != nil: // interrupted
		return context.WithTimeoutCause(context.WithoutCancel(ctx), finallyBound, errFinally)
	case !limited:
		return context.WithCancel(ctx)
	case over.Before(now):
		over = now
	}
	return context.WithDeadlineCause(r.whole, over.Add(finallyBound), errFinally)
}

// limit is the context that limits one attempt of a step.
func (r *run) limit(ctx context.Context, s *PlannedStep) (context.Context, context.CancelFunc) {
	d := s.Timeout
	if d == 0 {
		d = time.Duration(r.plan.request.StepTimeoutNS)
	}
	if d == 0 {
		d = r.plan.notebook.Front.Timeout
	}
	d = smaller(d, r.plan.stepTimeoutMax)
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w of %s", errTimeout, d))
}

// cut says why no further step starts; "" when the run goes on. A run that reaches its time limit is blocked, with one
// blocker that says so.
func (r *run) cut(ctx context.Context) string {
	switch {
	case ctx.Err() == nil:
		return ""
	case !isLimit(ctx):
		return interruptedWords
	}
	words := r.limitWords(ctx)
	if !r.verdict.late {
		r.verdict.late, r.verdict.blocked = true, true
		r.verdict.block(runs.Blocker{Code: runs.CodeTimeout, Message: words})
	}
	return words
}

// limitWords say which time limit ended a context.
func (r *run) limitWords(ctx context.Context) string {
	cause := context.Cause(ctx)
	if cause == errRunTimeout {
		return fmt.Sprintf("%v of %s", cause, r.plan.runTimeout)
	}
	return cause.Error()
}

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

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"markmill/runs"
)

// finallyBound is how long a finally step may take once the run itself is over: its time limit has
// passed, or it was interrupted.
const finallyBound = 30 * time.Second

var (
	errTimeout    = errors.New("the step passed its time limit")
	errRunTimeout = errors.New("the run passed its time limit")
	errFinally    = fmt.Errorf("a finally step has %s when the run is over", finallyBound)
)

// isLimit says whether a context ended because of a time limit.
func isLimit(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errTimeout) || cause == errRunTimeout || cause == errFinally
}

// bound is the context of the steps: it ends with the run's time limit, which counts from the call.
func (r *run) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	r.whole = ctx
	if r.plan.RunTimeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, r.plan.RunTimeout, errRunTimeout)
}

// finally is the context of a step that runs whatever happened: when the run is over it has a
// time of its own. (The clock is the system's, as that of every limit.)
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

// limit is the context that bounds one attempt of a step.
func (r *run) limit(ctx context.Context, s *PlannedStep) (context.Context, context.CancelFunc) {
	d := s.Timeout
	if d == 0 {
		d = r.plan.Request.StepTimeout
	}
	if d == 0 {
		d = r.plan.Notebook.Front.Timeout
	}
	d = smaller(d, r.plan.StepTimeoutMax)
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w of %s", errTimeout, d))
}

// cut says why nothing more of the run is started, "" when it goes on. A run that is cut by its time
// limit is blocked, and says so once.
func (r *run) cut(ctx context.Context) string {
	switch {
	case ctx.Err() == nil:
		return ""
	case !isLimit(ctx):
		return interruptedWords
	}
	words := r.limitWords(ctx)
	if !r.late {
		r.late, r.blocked = true, true
		r.blockers = append(r.blockers, runs.Blocker{Code: runs.CodeTimeout, Message: words})
	}
	return words
}

// limitWords say which time limit ended a context.
func (r *run) limitWords(ctx context.Context) string {
	cause := context.Cause(ctx)
	if cause == errRunTimeout {
		return fmt.Sprintf("%v of %s", cause, r.plan.RunTimeout)
	}
	return cause.Error()
}

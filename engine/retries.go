package engine

import (
	"context"
	"fmt"
	"os"

	"markmill/engine/worktree"
	"markmill/runs"
)

// retries lets each further attempt of a step begin with the worktree before the step.
type retries struct {
	run  *run
	step *PlannedStep
	mark *worktree.Mark // nil: the step is not repeated, or the worktree is the user's own
	at   string         // where the interpreter was before the step; "" is not known

	dir  string          // where the attempt runs (kernel.Request.Dir)
	data *runs.RetryData // of the attempt; nil for the first one
}

// retries prepares for the attempts of a step.
func (r *run) retries(s *PlannedStep) (*retries, error) {
	a := &retries{run: r, step: s, dir: r.ws.stepDir(s)}
	if s.Retries == 0 {
		return a, nil
	}
	if live := r.sessions.get(s); live != nil {
		if own, _ := live.Running(); len(own) > 0 {
			a.at, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", own[0])) // Linux alone says it
		}
	}
	if !r.ws.tree.CanRewind() {
		return a, nil
	}
	var err error
	a.mark, err = r.ws.tree.Mark()
	return a, err
}

// rewind prepares for the next attempt. ended is how the failed one ended, in words.
func (a *retries) rewind(ctx context.Context, ended string) error {
	a.data = &runs.RetryData{Worktree: runs.RetryKept, Interpreter: runs.RetryNew, Ended: ended}
	if live := a.run.sessions.get(a.step); live != nil {
		live.EndStarted() // a server that it started would hinder the next attempt
		a.data.Interpreter = runs.RetryKept
	}
	if a.mark == nil {
		return nil
	}
	left, err := a.run.ws.tree.Rewind(ctx, a.mark)
	if err != nil {
		return fmt.Errorf("step %s cannot be tried again: %w", a.step.ID, err)
	}
	a.data.Worktree = runs.RetryRestored
	for _, path := range left {
		a.data.Left = append(a.data.Left, a.run.rec.conceal(path))
	}
	// The attempt may have entered a folder that is gone now.
	if a.dir == "" && a.data.Interpreter == runs.RetryKept && a.at != "" {
		if info, err := os.Stat(a.at); err == nil && info.IsDir() {
			a.dir = a.at
		}
	}
	return nil
}

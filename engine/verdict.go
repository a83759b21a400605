package engine

import (
	"slices"

	"markmill/notebooks"
	"markmill/runs"
)

// verdict collects what decides how a run ends.
type verdict struct {
	blockers []runs.Blocker
	failed   notebooks.StepID // the first step that did not pass; later steps are skipped
	gated    bool             // a gate was not met: nothing was started
	blocked  bool             // a blocker found during the run gives the status blocked
	late     bool             // the run's time limit has passed, and a blocker says so
	tested   tested
	mutated  bool // the user's checkout changed
}

// status derives the run's status. partial says that the command line left steps out.
func (v *verdict) status(partial bool) runs.Status {
	switch {
	case v.blocked:
		return runs.Blocked
	case len(v.blockers) > 0:
		return runs.Fail
	case partial:
		return runs.Partial
	}
	return runs.Pass
}

func (v *verdict) block(b runs.Blocker) { v.blockers = append(v.blockers, b) }

// fail adds a blocker for a step. Only finally steps run after it.
func (v *verdict) fail(step notebooks.StepID, code, words string) {
	v.block(runs.Blocker{Code: code, Step: step, Message: words})
	if v.failed == "" {
		v.failed = step
	}
}

// last is the blocker that was added last, if it is about the step.
func (v *verdict) last(step notebooks.StepID) *runs.Blocker {
	if n := len(v.blockers); n > 0 && v.blockers[n-1].Step == step {
		return &v.blockers[n-1]
	}
	return nil
}

// leak records that the value of a secret would have been written; where must not show the value.
func (v *verdict) leak(step notebooks.StepID, where string) {
	b := runs.Blocker{Code: runs.CodeSecretLeaked, Step: step, Message: "the value of a secret would stand in " + where}
	if !slices.ContainsFunc(v.blockers, func(o runs.Blocker) bool {
		return o.Code == b.Code && o.Step == b.Step && o.Message == b.Message
	}) {
		v.block(b)
	}
}

// leaked describes the leak of a step; "" without one.
func (v *verdict) leaked(step notebooks.StepID) string {
	for _, b := range v.blockers {
		if b.Code == runs.CodeSecretLeaked && b.Step == step {
			return b.Message
		}
	}
	return ""
}

// leaks reports whether the run would have written a secret anywhere. Nothing of such a run goes into the repository.
func (v *verdict) leaks() bool {
	return slices.ContainsFunc(v.blockers, func(b runs.Blocker) bool { return b.Code == runs.CodeSecretLeaked })
}

package runs

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
)

// OrderError is an event that is missing or out of order.
type OrderError struct {
	Missing EventType // what is missing; "" when an event is only out of place
	Message string
}

func (e *OrderError) Error() string { return CodeMissingRequiredEvent + ": " + e.Message }

// Blocker is the error as a run's record has it.
func (e *OrderError) Blocker() Blocker {
	return Blocker{Code: CodeMissingRequiredEvent, Message: e.Message}
}

// CheckOrder checks that the events of a run are all there, in the order in which a run passes through them. It returns
// an *OrderError for the first that is not.
//
// A journal that only lacks its end is an error that misses run.completed: an engine that checks before it writes
// run.completed takes that for success.
//
// A run that a gate blocked, that was interrupted, or that ended as blocked in the middle, may go to run.completed from
// anywhere after run.started.
func CheckOrder(events []Event) error {
	o := order{run: NewRun()}
	for i, event := range events {
		if i > 0 && event.Time.Before(events[i-1].Time) {
			return &OrderError{Message: fmt.Sprintf("event %d (%s) is older than the one before it", i,
				event.Type)}
		}
		if err := o.before(i, event); err != nil {
			return err
		}
		if err := o.run.Add(event); err != nil {
			return err
		}
		if err := o.after(i, event); err != nil {
			return err
		}
	}
	if o.stage != len(stages) {
		return o.missing(RunCompleted, "at the end")
	}
	return nil
}

// stages are the events that bring a run from one stage to the next.
var stages = []EventType{
	RunStarted, ContractCreated, PlanUpdated, GitDiffChecked, VerificationCompleted, RunCompleted,
}

const (
	stagePlanned  = 3 // the stage after plan.updated
	stageVerified = 5 // the stage after verification.completed
)

// order follows one run through its events.
type order struct {
	run     *Run             // the fold of the events so far
	stage   int              // how many of the stages the run has passed
	open    notebooks.StepID // the step that was started and has not finished
	patched bool             // the open step has its patch
}

func (o *order) blocked() bool { return len(o.run.blocked) > 0 }

func (o *order) approved() bool { return o.run.Granted != nil || o.run.Denied != nil }

// before checks an event by those before it.
func (o *order) before(seq int, event Event) error {
	switch event.Type {
	case RunStarted, ContractCreated, PlanUpdated, GitDiffChecked, VerificationCompleted:
		return o.advance(seq, event)
	case ApprovalRequested, ApprovalGranted, ApprovalDenied:
		return o.approval(seq, event)
	case StepStarted, ScrapRecorded, PatchApplied, StepReplayed, StepFinished:
		return o.step(seq, event)
	case AgentEligibility:
		return o.eligibility(seq, event)
	case TreeOpened:
		switch {
		case o.stage < stagePlanned:
			return o.tooEarly(event)
		case o.blocked() || o.stage > stagePlanned || o.run.Tree != nil ||
			slices.ContainsFunc(o.run.Steps, func(s StepRecord) bool { return s.Step != nil }):
			return o.misplaced(seq, event)
		}
		return nil
	case InputsRecorded:
		switch {
		case o.stage < stagePlanned:
			return o.tooEarly(event)
		case o.open != "":
			return o.unfinished()
		case o.blocked() || o.stage > stagePlanned || o.run.Inputs != nil:
			return o.misplaced(seq, event)
		}
		return nil
	case DataKept:
		switch {
		case o.stage < stagePlanned:
			return o.tooEarly(event)
		case o.stage == len(stages) || o.run.Data != nil:
			return o.misplaced(seq, event)
		}
		return nil
	case GateBlocked, RunCompleted:
		switch {
		case o.stage == 0 && event.Type == RunCompleted:
			return o.tooEarly(event)
		case o.stage == 0 || o.stage == len(stages):
			return o.misplaced(seq, event)
		}
		return nil
	default:
		if IsTurn(event.Type) {
			return o.step(seq, event)
		}
		return &OrderError{Message: fmt.Sprintf("event %d is of the unknown type %q", seq, event.Type)}
	}
}

// eligibility checks that a backend was decided on before anything ran, and once.
func (o *order) eligibility(seq int, event Event) error {
	at, known := o.run.at[event.Step]
	switch {
	case o.stage < stagePlanned:
		return o.tooEarly(event)
	case !known:
		return &OrderError{Message: fmt.Sprintf("event %d (%s) is of step %q, which the plan does not have",
			seq, event.Type, event.Step)}
	case o.stage > stagePlanned || o.open != "" || o.run.Steps[at].Eligibility != nil || o.blocked() ||
		o.run.Requested != nil || slices.ContainsFunc(o.run.Steps, begun):
		return o.misplaced(seq, event)
	}
	return nil
}

// begun reports whether a step was started, or has its end without that.
func begun(s StepRecord) bool { return s.Step != nil || s.Finished != nil }

// selected checks that a step that was started for an agent is that of the backend which was selected.
func (o *order) selected(seq int, event Event) error {
	s := &o.run.Steps[o.run.at[event.Step]]
	name, isAgent := strings.CutPrefix(s.Step.Kernel, AgentKernelPrefix)
	switch e := s.Eligibility; {
	case !isAgent:
		return nil
	case e == nil:
		return o.missing(AgentEligibility, ofStepBefore(event))
	case s.Step.Carried == nil && (e.SelectedBackend != name || e.SelectedBackend == ""):
		return &OrderError{Message: fmt.Sprintf("event %d starts step %q with the backend %q, and %q was "+
			"selected", seq, event.Step, name, e.SelectedBackend)}
	}
	return nil
}

// turnEnded checks that a step of an agent that passed has the end of its turn.
func (o *order) turnEnded(s *StepRecord) error {
	done := s.Finished
	if s.Step == nil || !strings.HasPrefix(s.Step.Kernel, AgentKernelPrefix) || done.Carried != nil ||
		done.Status != StepPassed {
		return nil
	}
	if n := len(s.Turn); n == 0 || s.Turn[n-1].Kind != AgentEnd {
		return o.missing(AgentEventPrefix+EventType(AgentEnd), fmt.Sprintf("of step %q, which passed",
			s.Planned.ID))
	}
	return nil
}

// advance goes from one stage to the next; if an event skips a stage, the error says what is missing.
func (o *order) advance(seq int, event Event) error {
	from := slices.Index(stages, event.Type)
	switch {
	case event.Type == GitDiffChecked && o.open != "":
		return o.unfinished()
	case o.stage < from:
		return o.tooEarly(event)
	case o.blocked():
		return &OrderError{Message: fmt.Sprintf("event %d (%s) stands after %s, which only %s may follow",
			seq, event.Type, GateBlocked, RunCompleted)}
	case o.stage > from:
		return o.misplaced(seq, event)
	}
	o.stage = from + 1
	return nil
}

func (o *order) approval(seq int, event Event) error {
	first := event.Type == ApprovalRequested
	finished := func(s StepRecord) bool { return s.Finished != nil }
	switch {
	case o.stage < stagePlanned:
		return o.tooEarly(event)
	case o.stage > stagePlanned || o.open != "" || slices.ContainsFunc(o.run.Steps, finished):
		return o.misplaced(seq, event)
	case !first && o.run.Requested == nil:
		return o.missing(ApprovalRequested, "before "+string(event.Type))
	case first && o.run.Requested != nil, !first && o.approved():
		return o.misplaced(seq, event)
	}
	return nil
}

func (o *order) step(seq int, event Event) error {
	_, known := o.run.at[event.Step]
	inside := event.Type != StepStarted && event.Type != StepFinished
	switch {
	case o.stage < stagePlanned:
		return o.tooEarly(event)
	case o.blocked() || o.stage > stagePlanned:
		return o.misplaced(seq, event)
	case o.run.Requested != nil && !o.approved():
		return o.missing(ApprovalGranted, ofStepBefore(event))
	case !known:
		return &OrderError{Message: fmt.Sprintf("event %d (%s) is of step %q, which the plan does not have",
			seq, event.Type, event.Step)}
	case o.open != "" && o.open != event.Step:
		return o.missing(StepFinished, fmt.Sprintf("for step %q before %s of step %q", o.open, event.Type,
			event.Step))
	case inside && o.open == "":
		return o.missing(StepStarted, ofStepBefore(event))
	case event.Type == StepReplayed && o.run.Started.ResumedFrom == nil,
		(event.Type == ScrapRecorded || event.Type == PatchApplied || IsTurn(event.Type)) && o.patched:
		return o.misplaced(seq, event)
	}
	return nil
}

// after checks an event by its own data, which the fold has.
func (o *order) after(seq int, event Event) error {
	switch event.Type {
	case StepStarted: // of the open step: a further attempt
		o.open, o.patched = event.Step, false
		return o.selected(seq, event)
	case PatchApplied:
		o.patched = true
	case StepFinished: // also of a step that never started, if its status says so
		status := o.run.Steps[o.run.at[event.Step]].Finished.Status
		if o.open == "" && status != StepSkipped && status != StepPending {
			return o.missing(StepStarted, ofStepBefore(event))
		}
		o.open = ""
		return o.turnEnded(&o.run.Steps[o.run.at[event.Step]])
	case RunCompleted:
		return o.completed(event)
	}
	return nil
}

func (o *order) completed(event Event) error {
	status := o.run.Completed.Status
	early := status == Interrupted || status == Blocked || o.blocked() && !status.Passed()
	switch {
	case !early && o.open != "":
		return o.unfinished()
	case !early && o.stage < stageVerified:
		return o.tooEarly(event)
	}
	toRun := func(s StepRecord) bool { return s.Planned.Action == ActionRun && s.Finished == nil }
	if i := slices.IndexFunc(o.run.Steps, toRun); i >= 0 && status.Passed() {
		id := o.run.Steps[i].Planned.ID
		return o.missing(StepFinished, fmt.Sprintf("for step %q, which the plan runs", id))
	}
	o.stage = len(stages)
	return nil
}

func ofStepBefore(event Event) string {
	return fmt.Sprintf("for step %q before %s", event.Step, event.Type)
}

func (o *order) missing(t EventType, where string) error {
	return &OrderError{Missing: t, Message: fmt.Sprintf("%s is absent %s", t, where)}
}

// tooEarly is an event that skips a stage.
func (o *order) tooEarly(event Event) error {
	return o.missing(stages[o.stage], "before "+string(event.Type))
}

func (o *order) unfinished() error {
	return o.missing(StepFinished, fmt.Sprintf("for step %q, which was started", o.open))
}

func (o *order) misplaced(seq int, event Event) error {
	where := "at the beginning"
	switch {
	case o.open != "":
		where = fmt.Sprintf("within step %q", o.open)
	case o.stage > 0:
		where = "after " + string(stages[o.stage-1])
	}
	return &OrderError{Message: fmt.Sprintf("event %d (%s) is out of order %s", seq, event.Type, where)}
}

package runs

import (
	"fmt"
	"slices"

	"markmill/notebooks"
)

// OrderError is an event that is missing or out of order.
type OrderError struct {
	Seq     int       // of the event where another was expected; the number of events at the end
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
	o := order{}
	for i, event := range events {
		if i > 0 && event.Time.Before(events[i-1].Time) {
			return &OrderError{Seq: i, Message: fmt.Sprintf("event %d (%s) is older than the one before it", i, event.Type)}
		}
		if err := o.next(i, event); err != nil {
			return err
		}
	}
	if o.stage != stageCompleted {
		return o.missing(len(events), RunCompleted, "at the end")
	}
	return nil
}

// stage is how far a run has come.
type stage int

const (
	stageNew stage = iota
	stageStarted
	stageContract
	stagePlanned
	stageDiffChecked
	stageVerified
	stageCompleted
)

var stageWords = map[stage]string{
	stageNew:         "at the beginning",
	stageStarted:     "after " + string(RunStarted),
	stageContract:    "after " + string(ContractCreated),
	stagePlanned:     "after " + string(PlanUpdated),
	stageDiffChecked: "after " + string(GitDiffChecked),
	stageVerified:    "after " + string(VerificationCompleted),
	stageCompleted:   "after " + string(RunCompleted),
}

// order follows one run through its events.
type order struct {
	stage     stage
	plan      map[notebooks.StepID]PlannedStep
	open      notebooks.StepID // the step that was started and has not finished
	patched   bool             // the open step has its patch
	finished  map[notebooks.StepID]bool
	blocked   bool // a gate was not met
	requested bool // an approval was asked for
	approved  bool // and answered
	resumed   bool // the run goes on from another
}

func (o *order) next(seq int, event Event) error {
	switch event.Type {
	case RunStarted:
		started, err := decode[RunStartedData](event)
		if err != nil {
			return err
		}
		o.resumed = started.ResumedFrom != nil
		return o.advance(seq, event.Type, stageNew, stageStarted)
	case ContractCreated:
		return o.advance(seq, event.Type, stageStarted, stageContract)
	case PlanUpdated:
		return o.planned(seq, event)
	case ApprovalRequested, ApprovalGranted, ApprovalDenied:
		return o.approval(seq, event)
	case GateBlocked:
		if o.stage == stageNew || o.stage == stageCompleted {
			return o.misplaced(seq, event)
		}
		o.blocked = true
		return nil
	case StepStarted, ScrapRecorded, PatchApplied, StepReplayed, StepFinished:
		return o.step(seq, event)
	case GitDiffChecked:
		if o.open != "" {
			return o.missing(seq, StepFinished, fmt.Sprintf("for step %q, which was started", o.open))
		}
		return o.advance(seq, event.Type, stagePlanned, stageDiffChecked)
	case VerificationCompleted:
		return o.advance(seq, event.Type, stageDiffChecked, stageVerified)
	case RunCompleted:
		return o.completed(seq, event)
	default:
		return &OrderError{Seq: seq, Message: fmt.Sprintf("event %d is of the unknown type %q", seq, event.Type)}
	}
}

// stageEvents are the events that bring a run to a stage.
var stageEvents = map[stage]EventType{
	stageStarted: RunStarted, stageContract: ContractCreated, stagePlanned: PlanUpdated,
	stageDiffChecked: GitDiffChecked, stageVerified: VerificationCompleted, stageCompleted: RunCompleted,
}

// advance goes from one stage to the next; if an event skips a stage, the error says what is missing.
func (o *order) advance(seq int, t EventType, from, to stage) error {
	if o.stage < from {
		return o.missing(seq, stageEvents[o.stage+1], "before "+string(t))
	}
	if o.blocked {
		return &OrderError{Seq: seq, Message: fmt.Sprintf("event %d (%s) stands after %s, which only %s may follow",
			seq, t, GateBlocked, RunCompleted)}
	}
	if o.stage > from {
		return o.misplaced(seq, Event{Type: t})
	}
	o.stage = to
	return nil
}

func (o *order) planned(seq int, event Event) error {
	if err := o.advance(seq, event.Type, stageContract, stagePlanned); err != nil {
		return err
	}
	plan, err := decode[PlanData](event)
	if err != nil {
		return err
	}
	o.plan, o.finished = map[notebooks.StepID]PlannedStep{}, map[notebooks.StepID]bool{}
	for _, step := range plan.Steps {
		o.plan[step.ID] = step
	}
	return nil
}

func (o *order) approval(seq int, event Event) error {
	if o.stage < stagePlanned {
		return o.missing(seq, stageEvents[o.stage+1], "before "+string(event.Type))
	}
	if o.stage > stagePlanned || o.open != "" || len(o.finished) > 0 {
		return o.misplaced(seq, event)
	}
	switch {
	case event.Type == ApprovalRequested && !o.requested:
		o.requested = true
	case event.Type != ApprovalRequested && !o.requested:
		return o.missing(seq, ApprovalRequested, "before "+string(event.Type))
	case event.Type != ApprovalRequested && !o.approved:
		o.approved = true
		o.blocked = o.blocked || event.Type == ApprovalDenied
	default:
		return o.misplaced(seq, event)
	}
	return nil
}

func (o *order) step(seq int, event Event) error {
	where := fmt.Sprintf("for step %q before %s", event.Step, event.Type)
	switch {
	case o.stage < stagePlanned:
		return o.missing(seq, stageEvents[o.stage+1], "before "+string(event.Type))
	case o.blocked || o.stage > stagePlanned:
		return o.misplaced(seq, event)
	case o.requested && !o.approved:
		return o.missing(seq, ApprovalGranted, where)
	}
	if _, found := o.plan[event.Step]; !found {
		return &OrderError{Seq: seq, Message: fmt.Sprintf("event %d (%s) is of step %q, which the plan does not have",
			seq, event.Type, event.Step)}
	}
	if o.open != "" && o.open != event.Step {
		return o.missing(seq, StepFinished, fmt.Sprintf("for step %q before %s of step %q", o.open, event.Type, event.Step))
	}
	switch event.Type {
	case StepStarted: // of the open step: a further attempt
		o.open, o.patched = event.Step, false
	case StepReplayed:
		if o.open == "" {
			return o.missing(seq, StepStarted, where)
		}
		if !o.resumed {
			return o.misplaced(seq, event)
		}
	case StepFinished:
		return o.stepFinished(seq, event, where)
	default:
		if o.open == "" {
			return o.missing(seq, StepStarted, where)
		}
		if o.patched {
			return o.misplaced(seq, event)
		}
		o.patched = event.Type == PatchApplied
	}
	return nil
}

// stepFinished also accepts a step that never started, if its status says so.
func (o *order) stepFinished(seq int, event Event, where string) error {
	data, err := decode[StepFinishedData](event)
	if err != nil {
		return err
	}
	ran := data.Status != StepSkipped && data.Status != StepPending
	if o.open == "" && ran {
		return o.missing(seq, StepStarted, where)
	}
	o.open = ""
	o.finished[event.Step] = true
	return nil
}

func (o *order) completed(seq int, event Event) error {
	data, err := decode[CompletedData](event)
	if err != nil {
		return err
	}
	switch o.stage {
	case stageNew:
		return o.missing(seq, RunStarted, "before "+string(event.Type))
	case stageCompleted:
		return o.misplaced(seq, event)
	}
	early := data.Status == Interrupted || data.Status == Blocked || o.blocked && !data.Status.Passed()
	if !early {
		if o.open != "" {
			return o.missing(seq, StepFinished, fmt.Sprintf("for step %q, which was started", o.open))
		}
		if o.stage < stageVerified {
			return o.missing(seq, stageEvents[o.stage+1], "before "+string(event.Type))
		}
	}
	if data.Status.Passed() {
		if id, found := o.unfinished(); found {
			return o.missing(seq, StepFinished, fmt.Sprintf("for step %q, which the plan runs", id))
		}
	}
	o.stage = stageCompleted
	return nil
}

// unfinished returns the first step, in plan order, that the plan runs and that has not finished.
func (o *order) unfinished() (notebooks.StepID, bool) {
	var open []PlannedStep
	for id, step := range o.plan {
		if step.Action == ActionRun && !o.finished[id] {
			open = append(open, step)
		}
	}
	if len(open) == 0 {
		return "", false
	}
	return slices.MinFunc(open, func(a, b PlannedStep) int { return a.Index - b.Index }).ID, true
}

func (o *order) missing(seq int, t EventType, where string) error {
	return &OrderError{Seq: seq, Missing: t, Message: fmt.Sprintf("%s is absent %s", t, where)}
}

func (o *order) misplaced(seq int, event Event) error {
	where := stageWords[o.stage]
	if o.open != "" {
		where = fmt.Sprintf("within step %q", o.open)
	}
	return &OrderError{Seq: seq, Message: fmt.Sprintf("event %d (%s) is out of order %s", seq, event.Type, where)}
}

package runs

import (
	"reflect"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

func mustFold(t *testing.T, events []Event) *Run {
	t.Helper()
	run, err := Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestFoldAWholeRun(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	run, source, err := At(r.dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	if string(source) != string(r.source) || run.Source != DigestOf(r.source) || run.ID != r.id || run.Events != 14 {
		t.Errorf("source %q, %s; id %s; %d events", source, run.Source, run.ID, run.Events)
	}
	if !run.StartedAt.Equal(aTime.Add(1e6)) || !run.FinishedAt.Equal(aTime.Add(14e6)) {
		t.Errorf("from %s to %s", run.StartedAt, run.FinishedAt)
	}
	if got := string(run.Contract.Parameters[0].Value); got != "12345678901234567890123" {
		t.Errorf("parameter is %s", got)
	}
	var ids []notebooks.StepID
	var statuses []StepStatus
	for i := range run.Steps {
		ids, statuses = append(ids, run.Steps[i].Planned.ID), append(statuses, run.Steps[i].Status())
	}
	if !reflect.DeepEqual(ids, []notebooks.StepID{"change", "check", "later"}) ||
		!reflect.DeepEqual(statuses, []StepStatus{StepPassed, StepPassed, StepSkipped}) {
		t.Errorf("steps %v are %v", ids, statuses)
	}
	change := run.Steps[0]
	if change.Step.Program != "/bin/bash" || change.Patch.Commit != "c1" || len(change.Scraps) != 2 ||
		change.FinishedAt.Sub(change.StartedAt) != 4e6 {
		t.Errorf("got %+v", change)
	}
	if run.Status() != Pass || run.ExitCode() != 0 || run.Approval != ApprovalNotRequired {
		t.Errorf("got %s, %d, %s", run.Status(), run.ExitCode(), run.Approval)
	}
	// The last value of a name, where the name first came.
	scraps := run.Scraps()
	if len(scraps) != 2 || scraps[0].Name != "old" || string(scraps[0].Value) != "2" || scraps[1].Name != "plot" {
		t.Errorf("scraps are %+v", scraps)
	}
}

func TestFoldKeepsTheLastAttempt(t *testing.T) {
	events := eventsOf(t, begin+"step.started a,scrap.recorded a,patch.applied a,step.finished a fail,step.started "+
		"a,scrap.recorded a,step.finished a")
	a := mustFold(t, events).Steps[0]
	if a.Attempts != 2 || len(a.Scraps) != 1 || a.Patch != nil || a.Status() != StepPassed {
		t.Errorf("got %+v", a)
	}
}

func TestFoldRefuses(t *testing.T) {
	events := eventsOf(t, begin+"step.started z")
	if _, err := Fold(events); err == nil || !strings.Contains(err.Error(),
		`event 3: step.started is of step "z", which the plan does not have`) {
		t.Errorf("got %v", err)
	}
	events = eventsOf(t, begin+"step.started a")
	events[3].Data = codec.Raw(`{"index":"one"}`)
	if _, err := Fold(events); err == nil || !strings.Contains(err.Error(), "event 3: bad data of step.started") {
		t.Errorf("got %v", err)
	}
}

func TestBlockersAreEachNamedOnce(t *testing.T) {
	noDiff := Blocker{Code: CodeNoDiff, Message: "nothing changed"}
	failed := Blocker{Code: CodeStepFailed, Step: "a", Message: "exit 1"}
	run := &Run{
		blocked:      []Blocker{{Code: CodeTimeout}},
		Diff:         &DiffCheckedData{Blockers: []Blocker{noDiff}},
		Verification: &VerificationData{Blockers: []Blocker{{Code: CodeVerificationFailed, Step: "t"}}},
		Completed:    &CompletedData{Blockers: []Blocker{failed, noDiff}},
	}
	want := []Blocker{{Code: CodeTimeout}, noDiff, {Code: CodeVerificationFailed, Step: "t"}, failed}
	if got := run.Blockers(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGates(t *testing.T) {
	r := newRecord(t, newStore(t), aTime, 1)
	mustAppend(t, r.Journal, ApprovalRequested, "", ApprovalRequestedData{Code: CodeApprovalRequired, Message: "asked"})
	mustAppend(t, r.Journal, GateBlocked, "s", Blocker{Code: CodeProviderUnavailable, Message: "no python3"})
	run, _, err := At(r.dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	if run.Approval != ApprovalIsRequested {
		t.Errorf("approval %s", run.Approval)
	}
	want := []Blocker{{Code: CodeProviderUnavailable, Step: "s", Message: "no python3"}}
	if got := run.Blockers(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

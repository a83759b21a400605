package runs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// eventsOf makes events of words such as "step.started collect", "run.completed pass" and
// "step.finished collect skip"; the plan runs a and b and skips c. Times go up by a second.
func eventsOf(t *testing.T, script string) []Event {
	t.Helper()
	var events []Event
	for i, line := range strings.Split(script, ",") {
		fields := strings.Fields(line)
		event := Event{Seq: i, Type: EventType(fields[0]), Time: aTime.Add(time.Duration(i) * time.Second)}
		var data any = map[string]any{}
		switch event.Type {
		case PlanUpdated:
			data = PlanData{Steps: []PlannedStep{
				{ID: "a", Index: 0, Action: ActionRun}, {ID: "b", Index: 1, Action: ActionRun}, {ID: "c", Index: 2,
					Action: ActionSkip},
			}}
		case RunCompleted:
			data = CompletedData{Status: Status(fields[1])}
		case StepFinished:
			status := StepPassed
			if len(fields) > 2 {
				status = StepStatus(fields[2])
			}
			data = StepFinishedData{Status: status}
		case StepStarted:
			if len(fields) > 2 {
				data = StepStartedData{Kernel: fields[2]}
			}
		case AgentEligibility:
			data = EligibilityData{SelectedBackend: strings.Join(fields[2:], "")}
		case GitDiffChecked:
			data = DiffCheckedData{AllowedPassed: true}
		case VerificationCompleted:
			data = VerificationData{Passed: true}
		}
		if IsTurn(event.Type) {
			data = AgentData{Kind: AgentKind(strings.TrimPrefix(fields[0], AgentEventPrefix))}
		}
		if strings.HasPrefix(fields[0], "step.") || strings.HasPrefix(fields[0], AgentEventPrefix) ||
			event.Type == ScrapRecorded || event.Type == PatchApplied {
			event.Step = notebooks.StepID(fields[1])
		}
		raw, err := codec.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		event.Data = raw
		events = append(events, event)
	}
	return events
}

const (
	begin = "run.started,task.contract.created,plan.updated,"
	stepA = "step.started a,scrap.recorded a,scrap.recorded a,patch.applied a,step.finished a,"
	stepB = "step.started b,step.finished b,"
	ended = "git.diff.checked,verification.completed,"

	chosen = begin + "agent.eligibility a x,"
)

func TestCheckOrder(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"whole", begin + stepA + stepB + ended + "run.completed pass", ""},
		{"failed, the rest not reached", begin + stepA + ended + "run.completed fail", ""},
		{"skipped and pending steps say so", begin + stepA + stepB + "step.finished c skip," + ended +
			"run.completed pass", ""},
		{"retried within", begin + "step.started a,scrap.recorded a,patch.applied a,step.started a,step.finished a," +
			stepB + ended + "run.completed pass", ""},
		{"retried after a failure", begin + "step.started a,step.finished a fail," + stepA + stepB + ended +
			"run.completed pass", ""},
		{"approved", begin + "approval.requested,approval.granted," + stepA + stepB + ended + "run.completed pass", ""},
		{"approval denied", begin + "approval.requested,approval.denied,run.completed blocked", ""},
		{"approval awaited", begin + "approval.requested,gate.blocked,run.completed blocked", ""},
		{"gate at the beginning", "run.started,gate.blocked,run.completed blocked", ""},
		{"gate after the plan", begin + "gate.blocked,run.completed blocked", ""},
		{"gate that fails", begin + stepA + "gate.blocked,run.completed fail", ""},
		{"blocked in the middle", begin + "step.started a,run.completed blocked", ""},
		{"interrupted in a step", begin + "step.started a,scrap.recorded a,run.completed interrupted", ""},
		{"interrupted at once", "run.started,run.completed interrupted", ""},

		{"empty", "", "run.completed is absent at the end"},
		{"not completed", begin + stepA, "run.completed is absent at the end"},
		{"no start", "task.contract.created,plan.updated,run.completed fail",
			"run.started is absent before task.contract.created"},
		{"nothing but the end", "run.completed interrupted", "run.started is absent before run.completed"},
		{"no contract", "run.started,plan.updated,run.completed fail", "task.contract.created is absent before " +
			"plan.updated"},
		{"no plan", "run.started,task.contract.created," + stepA, "plan.updated is absent before step.started"},
		{"no step.started", begin + "step.finished a," + ended,
			`step.started is absent for step "a" before step.finished`},
		{"scrap outside a step", begin + "scrap.recorded a,",
			`step.started is absent for step "a" before scrap.recorded`},
		{"no step.finished", begin + "step.started a," + stepB,
			`step.finished is absent for step "a" before step.started of step "b"`},
		{"step open at the diff", begin + "step.started a," + ended,
			`step.finished is absent for step "a", which was started`},
		{"step open at a failure", begin + "step.started a,run.completed fail",
			`step.finished is absent for step "a", which was started`},
		{"planned step left out of a pass", begin + stepB + ended + "run.completed pass",
			`step.finished is absent for step "a", which the plan runs`},
		{"step that is in no plan", begin + "step.started z,",
			`event 3 (step.started) is of step "z", which the plan does not have`},
		{"scrap after the patch", begin + "step.started a,patch.applied a,scrap.recorded a,",
			`event 5 (scrap.recorded) is out of order within step "a"`},
		{"no diff", begin + stepA + stepB + "verification.completed,run.completed pass",
			"git.diff.checked is absent before verification.completed"},
		{"no diff and no verification", begin + stepA + stepB + "run.completed fail",
			"git.diff.checked is absent before run.completed"},
		{"no verification", begin + stepA + stepB + "git.diff.checked,run.completed pass",
			"verification.completed is absent before run.completed"},
		{"step after the diff", begin + "git.diff.checked," + stepA,
			"event 4 (step.started) is out of order after git.diff.checked"},
		{"started twice", "run.started,run.started", "event 1 (run.started) is out of order after run.started"},
		{"planned twice", begin + "plan.updated", "event 3 (plan.updated) is out of order after plan.updated"},
		{"completed twice", begin + "gate.blocked,run.completed blocked,run.completed blocked",
			"event 5 (run.completed) is out of order after run.completed"},
		{"event after the end", "run.started,run.completed interrupted,gate.blocked",
			"event 2 (gate.blocked) is out of order after run.completed"},
		{"step after a gate", begin + "gate.blocked," + stepA, "event 4 (step.started) is out of order after " +
			"plan.updated"},
		{"diff after a gate", begin + "gate.blocked," + ended, "event 4 (git.diff.checked) stands after gate.blocked"},
		{"pass after a gate", begin + "gate.blocked,run.completed pass", "git.diff.checked is absent before " +
			"run.completed"},
		{"step before the approval", begin + "approval.requested," + stepA,
			`approval.granted is absent for step "a" before step.started`},
		{"step after a denial", begin + "approval.requested,approval.denied," + stepA,
			"event 5 (step.started) is out of order"},
		{"approval without a request", begin + "approval.granted," + stepA,
			"approval.requested is absent before approval.granted"},
		{"approval after a step", begin + stepA + "approval.requested", "event 8 (approval.requested) is out of order"},
		{"approval of nothing", "run.started,approval.requested",
			"task.contract.created is absent before approval.requested"},
		{"a turn", chosen + "step.started a agent:x,agent.session a,agent.tool a,agent.end a,patch.applied " +
			"a,step.finished a," + stepB + ended + "run.completed pass", ""},
		{"a turn that was cut", chosen + "step.started a agent:x,agent.session a,run.completed interrupted", ""},
		{"a turn without an end that failed", chosen + "step.started a agent:x,agent.session a,step.finished a fail," +
			ended + "run.completed fail", ""},
		{"a backend selected before the plan", "run.started,task.contract.created,agent.eligibility a x",
			"plan.updated is absent before agent.eligibility"},
		{"a backend selected for no step", begin + "agent.eligibility z x",
			`event 3 (agent.eligibility) is of step "z", which the plan does not have`},
		{"a backend selected twice", chosen + "agent.eligibility a y", "event 4 (agent.eligibility) is out of order"},
		{"a backend selected when a step has run", begin + stepB + "agent.eligibility a x",
			"event 5 (agent.eligibility) is out of order"},
		{"a backend selected within a step", begin + "step.started b,agent.eligibility a x",
			"event 4 (agent.eligibility) is out of order"},
		{"a backend selected after a gate", begin + "gate.blocked,agent.eligibility a x",
			"event 4 (agent.eligibility) is out of order"},
		{"a backend selected after it was asked for an approval", begin + "approval.requested,agent.eligibility a x",
			"event 4 (agent.eligibility) is out of order"},
		{"an agent that none selected", begin + "step.started a agent:x",
			`agent.eligibility is absent for step "a" before step.started`},
		{"another agent than the selected one", chosen + "step.started a agent:y",
			`event 4 starts step "a" with the backend "y", and "x" was selected`},
		{"an agent where none was selected", begin + "agent.eligibility a,step.started a agent:x",
			`event 4 starts step "a" with the backend "x", and "" was selected`},
		{"a pass without the end of the turn", chosen + "step.started a agent:x,agent.message a,step.finished a",
			`agent.end is absent of step "a", which passed`},
		{"a pass without a turn", chosen + "step.started a agent:x,step.finished a",
			`agent.end is absent of step "a", which passed`},
		{"a turn that goes on after its end", chosen + "step.started a agent:x,agent.end a,agent.message " +
			"a,step.finished a",
			`agent.end is absent of step "a", which passed`},
		{"a turn outside a step", chosen + "agent.message a",
			`step.started is absent for step "a" before agent.message`},
		{"a turn after the patch", chosen + "step.started a agent:x,patch.applied a,agent.message a",
			`event 6 (agent.message) is out of order within step "a"`},
		{"a turn of another step", chosen + "step.started a agent:x,agent.message b",
			`step.finished is absent for step "a" before agent.message of step "b"`},
		{"an event that no turn has", chosen + "step.started a agent:x,agent.dream a",
			`event 5 is of the unknown type "agent.dream"`},
		{"unknown", begin + "step.paused a", `event 3 is of the unknown type "step.paused"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []Event
			if script := strings.TrimSuffix(c.script, ","); script != "" {
				events = eventsOf(t, script)
			}
			err := CheckOrder(events)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var order *OrderError
			if !errors.As(err, &order) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !strings.HasPrefix(order.Message, c.want) {
				t.Errorf("got %q, want %q", order.Message, c.want)
			}
			if b := order.Blocker(); b.Code != "missing_required_event" || b.Message != order.Message {
				t.Errorf("got %+v", b)
			}
		})
	}
}

func TestCheckOrderOfTime(t *testing.T) {
	events := eventsOf(t, begin+stepA+stepB+ended+"run.completed pass")
	events[4].Time = events[3].Time.Add(-1)
	if err := CheckOrder(events); err == nil || !strings.Contains(err.Error(), "event 4 (scrap.recorded) is older") {
		t.Errorf("got %v", err)
	}
}

// TestEveryEventOfAPassIsRequired takes each event out in turn.
func TestEveryEventOfAPassIsRequired(t *testing.T) {
	events := eventsOf(t, begin+stepA+stepB+ended+"run.completed pass")
	for i, event := range events {
		if event.Type == ScrapRecorded || event.Type == PatchApplied {
			continue
		}
		without := append(append([]Event(nil), events[:i]...), events[i+1:]...)
		if CheckOrder(without) == nil {
			t.Errorf("event %d (%s) is not missed", i, event.Type)
		}
	}
}

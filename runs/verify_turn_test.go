package runs

import (
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// TestVerifyCarriedTurn: a turn that goes on begins with all that it was before, as it was, and says where it goes on.
func TestVerifyCarriedTurn(t *testing.T) {
	const was = RunID("20261121T100000Z-n-0102030405060708")
	event := func(seq int, kind AgentKind, data AgentData) Event {
		data.Kind = kind
		raw, err := codec.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return Event{Seq: seq, Type: AgentEventPrefix + EventType(kind), Step: notebooks.StepID("a"), Time: aTime,
			Hash: DigestOf(raw), Data: raw}
	}
	started := Event{Type: StepStarted, Step: "a", Data: codec.Raw("{}")}
	before := []Event{started, event(9, AgentMessage, AgentData{Text: "of an earlier attempt"}), started,
		event(1, AgentSession, AgentData{Session: "s"}), event(2, AgentCommand, AgentData{Command: "make"}),
		event(3, AgentEnd, AgentData{})}
	carried := func(of Event, change func(*AgentData)) Event {
		var data AgentData
		if err := codec.Unmarshal(of.Data, &data); err != nil {
			t.Fatal(err)
		}
		data.Carried = &CarriedData{Run: was, Seq: of.Seq, Hash: of.Hash, Ran: was, Time: of.Time}
		if change != nil {
			change(&data)
		}
		return event(20, data.Kind, data)
	}
	session, command := carried(before[3], nil), carried(before[4], nil)
	resume, message := event(21, AgentResume, AgentData{Session: "s"}), event(22, AgentMessage, AgentData{Text: "done"})
	for _, c := range []struct {
		name string
		turn []Event
		want string // "" is nothing
	}{
		{"goes on", []Event{session, command, resume, message}, ""},
		{"was cut again at once", []Event{session}, ""},
		{"begins anew", []Event{message}, ""},
		{"an event is left out", []Event{session, resume, message}, "1 events of the turn that was cut"},
		{"the first is left out", []Event{command, resume}, "is carried from event 1"},
		{"an event is another", []Event{session, carried(before[4], func(d *AgentData) { d.Command = "rm" }), resume},
			`command is "rm", and was "make"`},
		{"one more", []Event{session, command, command, resume}, "has no further event of the turn"},
		{"its end is carried", []Event{session, command, carried(before[5], nil)}, "has no further event of the turn"},
		{"of an earlier attempt", []Event{carried(before[1], nil), resume}, "is carried from event 1"},
		{"of a run that it does not resume",
			[]Event{carried(before[3], func(d *AgentData) { d.Carried.Run = "other" })}, "has no further event of " +
				"the turn"},
		{"it does not say that it goes on", []Event{session, command, message}, "a turn goes on, and not with"},
		{"it goes on with nothing", []Event{resume, message}, "a turn goes on, and not with"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := &check{v: &Verification{}}
			check.carriedTurns([]chained{{JournalFile, append([]Event{started}, c.turn...)}},
				map[RunID][]Event{was: before})
			expectFinding(t, check.v.Findings, c.want)
		})
	}
}

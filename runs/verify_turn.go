package runs

import (
	"markmill/notebooks"
)

// chained is a journal of a chain of resumed runs, by the name of its file.
type chained struct {
	where  string
	events []Event
}

// carriedTurns checks, in each journal of a chain of resumed runs, the agents' turns that go on there: first the events
// of the turn that was cut, all of them but its end, as they are in the journal of an earlier run, then agent.resume.
func (c *check) carriedTurns(chain []chained, journals map[RunID][]Event) {
	for _, j := range chain {
		turns := map[notebooks.StepID]*cutTurn{}
		for _, e := range j.events {
			if e.Type == StepStarted {
				delete(turns, e.Step)
			}
			if IsTurn(e.Type) && !c.carriedTurn(j.where, e, turns, journals) {
				break
			}
		}
	}
}

// cutTurn is what is left of a turn that was cut: events that the run which goes on with it has not repeated yet.
type cutTurn struct {
	run  RunID
	left []Event
}

// carriedTurn checks one event, and reports whether it holds.
func (c *check) carriedTurn(where string, e Event, turns map[notebooks.StepID]*cutTurn,
	journals map[RunID][]Event) bool {
	mark, err := carriedOf(e)
	turn, resume := turns[e.Step], e.Type == AgentEventPrefix+EventType(AgentResume)
	switch {
	case err != nil:
		c.v.find(where, "event %d: bad data of %s: %s", e.Seq, e.Type, err)
		return false
	case mark == nil && turn == nil && !resume:
		return true
	case mark == nil && turn != nil && len(turn.left) > 0:
		c.v.find(where, "event %d (%s): %d events of the turn that was cut in %s are left out", e.Seq, e.Type,
			len(turn.left), turn.run)
		return false
	case mark == nil && (turn == nil || !resume):
		c.v.find(where, "event %d (%s): a turn goes on, and not with what it had and %s%s", e.Seq, e.Type,
			AgentEventPrefix, AgentResume)
		return false
	case mark == nil:
		delete(turns, e.Step)
		return true
	case turn == nil:
		turn = &cutTurn{mark.Run, turnOf(journals[mark.Run], e.Step)}
		turns[e.Step] = turn
	}
	if len(turn.left) == 0 {
		c.v.find(where, "event %d (%s) is carried, and %s has no further event of the turn of step %q", e.Seq, e.Type,
			mark.Run, e.Step)
		return false
	}
	was := turn.left[0]
	turn.left = turn.left[1:]
	words := differs(e, mark, was, &ResumedData{Run: turn.run})
	if words != "" {
		c.v.find(where, "event %d (%s) is carried from event %d of %s: %s", e.Seq, e.Type, was.Seq, mark.Run, words)
	}
	return words == ""
}

// turnOf returns the events of a step's last turn, without its end.
func turnOf(events []Event, step notebooks.StepID) (turn []Event) {
	for _, e := range events {
		switch {
		case e.Step != step:
		case e.Type == StepStarted:
			turn = nil
		case IsTurn(e.Type) && e.Type != AgentEventPrefix+EventType(AgentEnd):
			turn = append(turn, e)
		}
	}
	return turn
}

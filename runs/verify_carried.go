package runs

import (
	"errors"
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
)

// carried checks the events that a resumed run copied from the journal of the run before it: each must be, member by
// member, the event in that journal, which the record keeps and which must be a whole chain from the same notebook on.
// A fork may have another notebook: then the record keeps that of the run before, and the carried steps must be the
// same in both. The run before may itself be a resumed one: all of them are checked.
func (c *check) carried() {
	events, where, seen := c.events, JournalFile, map[RunID]bool{c.v.RunID: true}
	source, start := c.source, c.v.Run.Source
	chain, journals := []chained(nil), map[RunID][]Event{}
	defer func() { c.carriedTurns(chain, journals) }()
	for {
		chain = append(chain, chained{where, events})
		started, err := decode[RunStartedData](events[0])
		if err != nil {
			return // the fold has said so
		}
		from := started.ResumedFrom
		if from == nil {
			c.carriedEvents(where, events, nil, nil)
			return
		}
		if seen[from.Run] {
			c.v.find(where, "resumes %s, which resumes it", from.Run)
			return
		}
		seen[from.Run] = true
		if fork := from.Fork; fork != nil {
			c.file(fork.File, fork.Digest, -1)
			was, err := c.record.ReadFile(fork.File)
			if err != nil {
				return // which file has found
			}
			c.sameSteps(where, started, source, was, events)
			source, start = was, fork.Digest
		}
		before := c.earlier(where, from, start)
		if before == nil {
			return
		}
		c.carriedEvents(where, events, from, before)
		journals[from.Run] = before
		events, where = before, from.File
	}
}

// sameSteps compares the carried steps of a fork in its notebook and in that of the run before.
func (c *check) sameSteps(where string, started RunStartedData, now, then []byte, events []Event) {
	if now == nil {
		return // it has changed, which is a finding already
	}
	is, _ := forms.Parse(started.SourceFile, now) // what cannot be read has no such step
	was, _ := forms.Parse(started.ResumedFrom.Fork.File, then)
	find := func(nb *notebooks.Notebook, id notebooks.StepID) *notebooks.Step {
		if nb == nil {
			return nil
		}
		i := slices.IndexFunc(nb.Steps, func(s *notebooks.Step) bool { return s.ID == id })
		if i < 0 {
			return nil
		}
		return nb.Steps[i]
	}
	for _, e := range events {
		if e.Type != StepFinished {
			continue
		}
		if mark, err := carriedOf(e); err != nil || mark == nil {
			continue
		}
		a, b := find(is, e.Step), find(was, e.Step)
		switch {
		case e.Step == started.ResumedFrom.Fork.At:
			c.v.find(where, "event %d (%s): step %q is carried, and the fork begins at it", e.Seq, e.Type, e.Step)
		case a == nil || b == nil || !a.SameWork(b):
			c.v.find(where, "event %d (%s): step %q is carried from %s, whose notebook has another step of that id",
				e.Seq, e.Type, e.Step, started.ResumedFrom.Run)
		}
	}
}

// earlier reads the journal of a run that was resumed; nil when it does not hold. Its chain begins with start.
func (c *check) earlier(where string, from *ResumedData, start Digest) []Event {
	c.file(from.File, from.Digest, -1)
	events, torn, err := c.record.events(from.File, start)
	if _, opened := errors.AsType[*notebooks.Error](err); err != nil && !opened {
		c.v.find(where, "resumes %s, whose journal cannot be read: %s", from.Run, cause(err))
		return nil
	}
	if err != nil {
		c.v.find(from.File, "%s", words(err))
		return nil
	}
	if len(events) == 0 {
		c.v.find(from.File, "holds no event")
		return nil
	}
	started, err := decode[RunStartedData](events[0])
	switch last := events[len(events)-1]; {
	case err != nil:
		c.v.find(from.File, "%s", words(err))
	case torn:
		c.v.find(from.File, "the last line is torn")
	case started.RunID != from.Run || from.File != ResumedFile(from.Run):
		c.v.find(from.File, "is of run %s, and the run says that it resumes %s", started.RunID, from.Run)
	case last.Seq != from.Seq || last.Hash != from.Hash:
		c.v.find(from.File, "ends with event %d (%s), and the run says %d (%s)", last.Seq, last.Hash,
			from.Seq, from.Hash)
	default:
		return events
	}
	return nil
}

// carriedEvents compares the events of carried steps with their originals. A step is carried with all of its events.
func (c *check) carriedEvents(where string, events []Event, from *ResumedData, before []Event) {
	taken := map[notebooks.StepID][]Event{} // the originals that are not matched yet
	for _, e := range before {
		if ofStep(e.Type) {
			taken[e.Step] = append(taken[e.Step], e)
		}
	}
	carrying := map[notebooks.StepID]bool{}
	for _, e := range events {
		if !ofStep(e.Type) {
			continue
		}
		mark, err := carriedOf(e)
		switch {
		case err != nil:
			c.v.find(where, "event %d: bad data of %s: %s", e.Seq, e.Type, err)
			return
		case mark == nil && carrying[e.Step] && e.Type == StepFinished && endedBadly(e):
			taken[e.Step] = nil // it could not be carried, and says so
			continue
		case mark == nil && carrying[e.Step]:
			c.v.find(where, "event %d (%s) of step %q is the run's own, and others of the step are carried",
				e.Seq, e.Type, e.Step)
			return
		case mark == nil:
			taken[e.Step] = nil // it ran in this run
			continue
		case from == nil:
			c.v.find(where, "event %d (%s) is carried from %s, and the run resumes none", e.Seq, e.Type, mark.Run)
			return
		}
		carrying[e.Step] = true
		if len(taken[e.Step]) == 0 {
			c.v.find(where, "event %d (%s) is carried, and %s has no further event of step %q",
				e.Seq, e.Type, from.Run, e.Step)
			return
		}
		was := taken[e.Step][0]
		taken[e.Step] = taken[e.Step][1:]
		if words := differs(e, mark, was, from); words != "" {
			c.v.find(where, "event %d (%s) is carried from event %d of %s: %s", e.Seq, e.Type, was.Seq, from.Run, words)
			return
		}
		if left := len(taken[e.Step]); e.Type == StepFinished && left > 0 {
			c.v.find(where, "event %d ends the carried step %q, and %d events of it in %s are left out",
				e.Seq, e.Step, left, from.Run)
			return
		}
	}
}

// ofStep reports whether events of a type are carried.
func ofStep(t EventType) bool {
	return t == StepStarted || t == ScrapRecorded || t == PatchApplied || t == StepFinished
}

// endedBadly reports whether a step.finished is of a step that failed: a run that has it does not pass either.
func endedBadly(e Event) bool {
	data, err := decode[StepFinishedData](e)
	return err == nil && data.Status == StepFailed
}

func carriedOf(e Event) (*CarriedData, error) {
	var data struct {
		Carried *CarriedData `json:"carried"`
	}
	err := codec.Unmarshal(e.Data, &data)
	return data.Carried, err
}

// ownMembers differ in a carried event: commits are the run's own, and result.json names them.
var ownMembers = []string{"carried", "commit", "result", "result_digest"}

// differs says how a carried event differs from its original; "" when it does not.
func differs(e Event, mark *CarriedData, was Event, from *ResumedData) string {
	ran, at := from.Run, was.Time
	earlier, err := carriedOf(was)
	if err != nil {
		return err.Error()
	}
	if earlier != nil {
		ran, at = earlier.Ran, earlier.Time
	}
	switch {
	case e.Type != was.Type:
		return "that is a " + string(was.Type)
	case mark.Run != from.Run || mark.Seq != was.Seq || mark.Hash != was.Hash:
		return fmt.Sprintf("it names event %d (%s) of %s", mark.Seq, mark.Hash, mark.Run)
	case mark.Ran != ran || !mark.Time.Equal(at):
		return fmt.Sprintf("that ran in %s at %s", ran, Shown(at))
	case mark.Forked != (from.Fork != nil || earlier != nil && earlier.Forked):
		return "it says of a fork that it was none, or the reverse"
	}
	now, err := membersOf(e.Data)
	if err != nil {
		return err.Error()
	}
	then, err := membersOf(was.Data)
	if err != nil {
		return err.Error()
	}
	if mark.Tree != "" && from.Fork != nil && string(then["tree"]) == `"`+mark.Tree+`"` {
		delete(now, "tree")
		delete(then, "tree")
	}
	for _, name := range ownMembers {
		delete(now, name)
		delete(then, name)
	}
	names := differing(then, now, codec.Same)
	if len(names) == 0 {
		return ""
	}
	name := names[0]
	if _, there := then[name]; !there {
		return name + " was not there"
	}
	return fmt.Sprintf("%s is %s, and was %s", name, clip(now[name]), clip(then[name]))
}

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

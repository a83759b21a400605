package runs

import (
	"fmt"

	"markmill/notebooks"
)

// Replay folds the events of the journal up to the one with the number at, counted from 0, and returns what was known
// after it, with all events of the journal. at -1 is the last event. The run may be alive. It returns an error for a
// number that the journal does not have.
func (r *Record) Replay(at int) (*Run, []Event, error) {
	l, err := r.load()
	if err != nil {
		return nil, nil, err
	}
	if at == -1 {
		at = len(l.events) - 1
	}
	if at < 0 || at >= len(l.events) {
		return nil, nil, &notebooks.Error{Kind: notebooks.KindOption, File: JournalFile,
			Msg: fmt.Sprintf("run %s has no event %d: its events are 0 to %d", l.run.ID, at, len(l.events)-1)}
	}
	run, err := Fold(l.events[:at+1])
	return run, l.events, err
}

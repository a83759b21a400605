package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// AbortData says who ended a run from outside, and why.
type AbortData struct {
	Reason string    `json:"reason"`
	Actor  string    `json:"actor"`
	Time   time.Time `json:"time"` // when it was asked for
}

// abortFile asks a run that is alive to end. It is no part of the record: run.completed says what it said.
const abortFile = TempPrefix + "abort"

// Abort asks the run to end, and returns at once. A run that is alive sees it within a second; Reconcile records it for
// one that was killed. It returns an error for a run that has ended.
func (r *Record) Abort(d AbortData) error {
	run, _, err := r.Load()
	if err != nil {
		return err
	}
	if run.Completed != nil {
		return &notebooks.Error{Kind: notebooks.KindOption,
			Msg: fmt.Sprintf("run %s came to its end already, as %s: there is nothing to abort", run.ID, run.Status())}
	}
	text, err := codec.Marshal(d)
	if err != nil {
		return err
	}
	return r.Write(abortFile, text)
}

// AbortAsked returns what Abort was called with; nil if nobody asked.
func (r *Record) AbortAsked() (*AbortData, error) {
	text, err := r.ReadFile(abortFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotRead(r.path, err)
	}
	d := &AbortData{}
	if err := codec.Unmarshal(text, d); err != nil {
		return nil, cannotRead(r.path, fmt.Errorf("%s: %w", abortFile, err))
	}
	return d, nil
}

// RetractAbort takes back what Abort asked for.
func (r *Record) RetractAbort() error { return r.Remove(abortFile) }

// Blocker is the reason for which the run did not pass.
func (d *AbortData) Blocker() Blocker {
	return Blocker{Code: CodeAborted, Message: fmt.Sprintf("aborted by %s: %s", d.Actor, d.Reason)}
}

package runs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Reconcile completes the record of a run that was interrupted: a journal without run.completed gets one with the
// status interrupted, files that a crash left half-written are removed, and finish writes the views and SHA256SUMS
// (finish is a parameter because views import this package). Reconcile leaves alone a run that is alive or complete,
// and reports whether it did something. A verdict is kept if it may be what a crash left (see kept); whether somebody
// edited the journal of a run that did not pass and chained it again, nobody can tell.
func (r *Record) Reconcile(clock func() time.Time, finish func(record *Record, run *Run) error) (bool, error) {
	if err := r.writable(JournalFile); err != nil {
		return false, err
	}
	release, err := Lock(r.path)
	if errors.Is(err, ErrLive) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer release()
	record, err := r.load()
	if err != nil {
		return false, unreadable(r.path, err)
	}
	if record.run.Completed != nil && !record.torn && r.Has(SumsFile) {
		return false, nil // SHA256SUMS is written last
	}
	if record.run.Completed != nil {
		if err := r.kept(record.run); err != nil {
			return false, err
		}
	}
	asked, err := r.AbortAsked()
	if err != nil {
		asked = nil // half a request asks for nothing
	}
	if err := r.RemoveTemporary(); err != nil {
		return false, err
	}
	// SHA256SUMS says that the record is whole. It may be of a run that was killed just before its last event:
	// reconciling, which may be killed as well, must not leave it beside another end.
	if record.run.Completed == nil {
		if err := r.unseal(); err != nil {
			return false, err
		}
	}
	run, err := r.complete(record, asked, clock)
	if err != nil {
		return false, err
	}
	return true, finish(r, run)
}

// kept returns an error for a record with a verdict that no crash has left: its events or files contradict it, or it
// passed and SHA256SUMS, which is written before such a verdict, is missing. Completing it would hide that.
func (r *Record) kept(run *Run) error {
	c := check{v: &Verification{Dir: r.path}, record: r}
	c.journal()
	if c.v.Run != nil {
		c.order()
		for _, f := range c.v.Run.eventFiles() {
			c.file(f.File, f.Digest, f.Bytes)
		}
	}
	if run.Status() == Pass && !r.Has(SumsFile) {
		c.v.find(SumsFile, "is missing, and a run that passes writes it before its verdict")
	}
	if c.v.OK() {
		return nil
	}
	found := c.v.Findings[0]
	return &notebooks.Error{Kind: notebooks.KindRecord, File: r.path, Msg: found.Where + ": " + found.Message,
		Hint: "the record was changed after its verdict and is not completed; run the notebook again"}
}

// unreadable says what can be done about a record that cannot be completed.
func unreadable(dir string, err error) error {
	return &notebooks.Error{
		Kind: notebooks.KindRecord, File: dir, Msg: words(err), Err: err,
		Hint: "the record cannot be completed; markmill verify shows what is wrong, markmill runs prune removes it " +
			"in its time",
	}
}

// complete drops a torn line and appends run.completed where there is none. asked says who wanted the run to end.
func (r *Record) complete(record *loaded, asked *AbortData, clock func() time.Time) (run *Run, err error) {
	journal, events, err := OpenJournal(r.File(JournalFile), DigestOf(record.source), clock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	if record.run.Completed == nil {
		data := CompletedData{Status: Interrupted, Aborted: asked}
		if asked != nil {
			data.Blockers = []Blocker{asked.Blocker()}
		}
		if err := r.sealCommits(record.run, &data); err != nil {
			return nil, err
		}
		if data.Files, err = r.Unnamed(record.run, nil); err != nil {
			return nil, err
		}
		kept, err := r.recoverData(record.run)
		if err == nil && kept != nil {
			var event Event
			if event, err = journal.Append(DataKept, "", kept); err == nil {
				events = append(events, event)
			}
		}
		if err != nil {
			return nil, err
		}
		event, err := journal.Append(RunCompleted, "", data)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return Fold(events)
}

// sealCommits adds the last commit of an interrupted run, and its bundle if that was written: the bundle gets its name
// only when it is whole.
func (r *Record) sealCommits(run *Run, data *CompletedData) error {
	if run.Diff == nil || run.Diff.ResultCommit == "" {
		return nil
	}
	data.ResultCommit = run.Diff.ResultCommit
	if info, err := r.Stat(BundleFile); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	digest, size, err := r.Digest(BundleFile)
	data.Bundle = &BundleData{File: BundleFile, Digest: digest, Bytes: size, Ref: "refs/markmill/runs/" +
		string(run.ID)}
	return err
}

// RemoveTemporary removes what a crash left half-written. The run must not be alive.
func (r *Record) RemoveTemporary() error {
	return filepath.WalkDir(r.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), TempPrefix) {
			return err
		}
		return os.Remove(path)
	})
}

// unborn reports whether a run ended before its first event was whole: nothing of it ran. The run must not be alive.
func (r *Record) unborn() bool {
	file, err := r.open(JournalFile)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, headMax)).ReadBytes('\n')
	return errors.Is(err, io.EOF) && len(line) < headMax
}

// Discard removes the run directory of a run that ended before its first event. It returns false for every other run,
// and for one that is alive, is being made, or is gone.
func (s Store) Discard(id RunID) (bool, error) {
	done, err := exclusive(s.runs())
	if err != nil {
		return false, cannotWrite(s.runs(), err)
	}
	defer done()
	unborn := s.Record(id).unborn
	if !unborn() { // its lock file stays: tidying that is interrupted here is done again
		return false, nil
	}
	return s.remove(id, unborn)
}

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

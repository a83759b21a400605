package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/notebooks"
)

// Reconcile completes the record of a run that was cut: a journal without run.completed gets one of
// status interrupted, files that a crash left half-written are removed, and finish, which is handed in
// for views import this package, writes the files that follow from the journal and SHA256SUMS. It does
// nothing to a run that is alive or whose record is complete. It returns whether it did something.
func Reconcile(dir string, clock func() time.Time, finish func(dir string, run *Run) error) (bool, error) {
	release, err := Lock(dir)
	if errors.Is(err, ErrLive) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer release()
	record, err := load(dir)
	if err != nil {
		return false, unreadable(dir, err)
	}
	_, err = os.Lstat(filepath.Join(dir, SumsFile))
	if record.run.Completed != nil && !record.torn && err == nil {
		return false, nil // SHA256SUMS is written last
	}
	if err := removeTemporary(dir); err != nil {
		return false, err
	}
	run, err := complete(dir, record, clock)
	if err != nil {
		return false, err
	}
	return true, finish(dir, run)
}

// unreadable says what can be done about a record that cannot be mended.
func unreadable(dir string, err error) error {
	known := &notebooks.Error{
		Kind: notebooks.KindRecord, File: dir, Msg: words(err), Err: err,
		Hint: "the record cannot be completed; markmill runs verify shows what is wrong, markmill runs prune removes it in its time",
	}
	return known
}

// complete drops a torn line and appends run.completed where there is none.
func complete(dir string, record *loaded, clock func() time.Time) (run *Run, err error) {
	journal, events, err := OpenJournal(filepath.Join(dir, JournalFile), DigestOf(record.source), clock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	if record.run.Completed == nil {
		event, err := journal.Append(RunCompleted, "", CompletedData{Status: Interrupted})
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return Fold(events)
}

func removeTemporary(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), TempPrefix) {
			return err
		}
		return os.Remove(path)
	})
}

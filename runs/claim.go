package runs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// IndexFile is the path of the index of the store (package index), which can be made again from the records.
func (s Store) IndexFile() string { return filepath.Join(s.Dir, "index.db") }

// LockIndex holds the right to write the index until release is called or the process ends. It returns ErrLive if
// another process still holds it after wait.
func (s Store) LockIndex(wait time.Duration) (release func(), err error) {
	path := filepath.Join(s.Dir, "index.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	for deadline := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		if err = tryLock(file); err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, ErrLive) || time.Now().After(deadline) {
			return nil, errors.Join(err, file.Close())
		}
	}
}

// Changed is when a run directory was last made or removed; the zero time if there are none.
func (s Store) Changed() (time.Time, error) {
	info, err := os.Stat(s.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Claim reads what a run claims: its entry of List, and the fold of its journal. It recomputes no digest, which Verify
// does. The fold is nil if the journal cannot be read to its last whole line.
func (s Store) Claim(id RunID) (Entry, *Run) {
	dir := s.Path(id)
	text, err := At(dir).ReadFile(JournalFile)
	if err != nil {
		return readEntry(id, dir), nil
	}
	run, last, err := foldText(text)
	if err != nil {
		return readEntry(id, dir), nil
	}
	if last == nil || run.ID == "" || run.Completed == nil {
		return readEntry(id, dir), run
	}
	// A run that has ended, as nearly all have, is read once.
	if event, err := checkedEvent(last); err != nil || event.Type != RunCompleted {
		return readEntry(id, dir), run
	}
	entry := Entry{ID: id, Dir: dir}
	entry.begun(run.StartedAt, &run.Started)
	entry.ended(run.FinishedAt, run.Completed)
	entry.after(At(dir))
	return entry, run
}

// foldText folds the whole lines of a journal, without a look at their hashes, and returns the last one.
func foldText(text []byte) (run *Run, last []byte, err error) {
	for run = NewRun(); ; {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			return run, last, nil
		}
		last, text = text[:end], text[end:]
		event, err := decodeEvent(last)
		if err == nil {
			err = run.Add(event)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// DiskUse is how many bytes the files of a run have.
func (s Store) DiskUse(id RunID) (bytes int64) {
	record := s.Record(id)
	bytes = s.DataBytes(id)
	err := record.walk(func(name string) error {
		if info, err := record.Stat(name); err == nil {
			bytes += info.Size()
		}
		return nil
	}, nil)
	if err != nil {
		return bytes // it is being removed
	}
	return bytes
}

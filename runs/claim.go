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

// IDs returns the names of the run directories, sorted.
func (s Store) IDs() ([]RunID, error) { return s.ids() }

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
	entry := readEntry(id, s.Path(id))
	text, err := s.Record(id).ReadFile(JournalFile)
	if err != nil {
		return entry, nil
	}
	run := NewRun()
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return entry, run
		}
		event, err := decodeEvent(line)
		if err != nil || run.Add(event) != nil {
			return entry, nil
		}
		text = rest
	}
}

// DiskUse is how many bytes the files of a run have.
func (s Store) DiskUse(id RunID) (bytes int64) {
	record := s.Record(id)
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

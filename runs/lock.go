package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/notebooks/codec"
)

// ErrLive is returned for a run directory whose run is alive, in this process or another.
var ErrLive = errors.New("the run is alive")

// Lock marks the run of dir as alive until release is called or the process ends, however it ends: the mark is the
// system's lock on a file, which no crash leaves behind. The file's text (process id, time) is for people. Lock returns
// ErrLive when somebody else holds the lock.
func Lock(dir string) (release func(), err error) {
	path := filepath.Join(dir, LockFile)
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, cannotWrite(path, err)
		}
		held, err := acquire(file, path)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if !held {
			if err := file.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if err := file.Truncate(0); err == nil {
			fmt.Fprintf(file, "%d %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
		}
		store, name, is := storeOf(dir)
		if is {
			_ = touch(filepath.Join(store.open(), name)) // for who tidies up; a folder elsewhere has no marks
		}
		return func() {
			if is && isAt(file, path) {
				store.settled(name)
			}
			unlock(file, path)
		}, nil
	}
}

// LockOwn is Lock for a run of the caller. It tries again, for Alive and the index hold the lock for a moment.
func LockOwn(dir string) (release func(), err error) {
	for deadline := time.Now().Add(making); ; time.Sleep(time.Millisecond) {
		release, err = Lock(dir)
		if !errors.Is(err, ErrLive) || time.Now().After(deadline) {
			return release, err
		}
	}
}

// acquire locks the file that was opened at path. It returns false when another file is there by now: the holder
// removed the file after it was opened here.
func acquire(file *os.File, path string) (bool, error) {
	if err := tryLock(file); err != nil {
		return false, err
	}
	return isAt(file, path), nil
}

func isAt(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}

// Alive reports whether the run of dir is alive. It changes nothing: the lock file of an interrupted run stays, for
// Store.Unfinished.
func Alive(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close() // which releases the lock
	return errors.Is(tryShare(file), ErrLive)
}

// endPatience is how long a run whose record is complete may take to remove its folders.
const endPatience = 10 * time.Second

// Working is Alive, but waits for the process of a run whose record is complete: that is about to end.
func Working(dir string) bool {
	for deadline := time.Now().Add(endPatience); Alive(dir); time.Sleep(10 * time.Millisecond) {
		if !completed(dir) || time.Now().After(deadline) {
			return true
		}
	}
	return false
}

// completed reports whether the last event of a journal ends the run.
func completed(dir string) bool {
	journal, err := At(dir).ReadFile(JournalFile)
	last := bytes.TrimSpace(journal)
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	var event struct {
		Type EventType `json:"type"`
	}
	return err == nil && codec.Unmarshal(last, &event) == nil && event.Type == RunCompleted
}

// The folder "open" of a store has an empty file, a mark, for each folder of runs that somebody works on: one that a
// run is making, that is locked, or that is being removed. Whoever is killed leaves the mark, so that what is to be
// tidied up is found without a look at all runs. A mark is made before the folder, and removed while its lock is still
// held or when it is gone.

// openFolder is the folder of a store that has the marks.
const openFolder = "open"

func (s Store) open() string { return filepath.Join(s.Dir, openFolder) }

// mark makes the mark of a folder.
func (s Store) mark(name string) error {
	path := filepath.Join(s.open(), name)
	err := touch(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.Survey(); err == nil {
			err = touch(path)
		}
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	return nil
}

func touch(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// unmark removes the mark of a folder; one that is left does no harm.
func (s Store) unmark(name string) { _ = os.Remove(filepath.Join(s.open(), name)) }

// settled removes the mark of a folder that is to be unlocked. One that is none of a run yet keeps it.
func (s Store) settled(name string) {
	if !strings.HasPrefix(name, adoptPrefix) && s.Record(RunID(name)).Has(JournalFile) {
		s.unmark(name)
	}
}

// storeOf returns the store and the name of a run directory; false for any other folder that can be locked.
func storeOf(dir string) (store Store, name string, is bool) {
	parent, name := filepath.Split(filepath.Clean(dir))
	parent = filepath.Clean(parent)
	return Store{Dir: filepath.Dir(parent)}, name, filepath.Base(parent) == filepath.Base(Store{}.runs())
}

// marks returns the names that are marked.
func (s Store) marks() ([]string, error) {
	entries, err := os.ReadDir(s.open())
	if errors.Is(err, fs.ErrNotExist) {
		if !exists(s.runs()) {
			return nil, nil
		}
		if err := s.Survey(); err != nil {
			return nil, err
		}
		entries, err = os.ReadDir(s.open())
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// Marked returns the runs that somebody works on, and those of which somebody was killed. A run is one of them until
// its output notebook is in place, which is after its last event.
func (s Store) Marked() ([]RunID, error) {
	names, err := s.marks()
	ids := make([]RunID, len(names))
	for i, name := range names {
		ids[i] = RunID(name)
	}
	return ids, err
}

// Survey looks at every run and makes the marks that are missing: those of an earlier version, which made none. A run
// calls it in a store without marks; commands that put a store in order always do.
func (s Store) Survey() error {
	folders, err := os.ReadDir(s.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	into, making := s.open(), s.open()+".new"
	if !exists(into) {
		into = making
		err = errors.Join(err, os.MkdirAll(into, 0o755))
	}
	for _, folder := range folders {
		name := folder.Name()
		id, trash := strings.CutPrefix(name, trashPrefix)
		if trash || strings.HasPrefix(name, adoptPrefix) || folder.IsDir() && s.unsettled(RunID(name)) {
			err = errors.Join(err, touch(filepath.Join(into, id)))
		}
	}
	if err == nil && into == making {
		err = os.Rename(making, s.open())
	}
	if into == making && exists(s.open()) {
		return os.RemoveAll(making) // another command may have been faster
	}
	if err != nil {
		return cannotWrite(s.open(), err)
	}
	return nil
}

// unsettled reports whether a run is alive, or was interrupted and not tidied up.
func (s Store) unsettled(id RunID) bool {
	_, named := startOf(id)
	_, begun := s.Record(id).Stat(JournalFile)
	return named && (errors.Is(begun, fs.ErrNotExist) || s.Record(id).Has(LockFile))
}

// settle finishes what a crash interrupted in the store itself: removals of runs, and copies of inner runs. It returns
// the runs that were interrupted and not tidied up.
func (s Store) settle() (cut []RunID, err error) {
	names, err := s.marks()
	for _, name := range names {
		switch trash := filepath.Join(s.runs(), trashPrefix+name); {
		case strings.HasPrefix(name, adoptPrefix):
			err = errors.Join(err, s.sweepAdopted(name))
		case exists(trash):
			err = errors.Join(err, removeTree(trash))
		}
		if !exists(filepath.Join(s.runs(), name)) {
			err = errors.Join(err, s.forget(name))
			continue
		}
		id := RunID(name)
		if s.unsettled(id) && !s.Record(id).Alive() && s.unsettled(id) { // it may have ended between the two
			cut = append(cut, id)
		}
	}
	return cut, err
}

// forget removes the mark of a folder that is not there, unless the folder is just being made.
func (s Store) forget(name string) error {
	done, err := exclusive(s.runs())
	if err != nil {
		return cannotWrite(s.runs(), err)
	}
	defer done()
	if !exists(filepath.Join(s.runs(), name)) && !exists(filepath.Join(s.runs(), trashPrefix+name)) {
		s.unmark(name)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

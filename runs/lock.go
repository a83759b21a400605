package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
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

// LockOwn is Lock for a run of the caller, which nobody else has reason to hold for long. It tries again, for Alive and
// the index hold the lock for a moment.
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

package runs

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is a byte far behind the file's text: a lock on Windows keeps others from reading what it covers.
const lockAt = 1 << 30

func tryLock(file *os.File) error { return lockFile(file, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryShare is tryLock for one who only looks: any number of them hold the lock together.
func tryShare(file *os.File) error { return lockFile(file, 0) }

func lockFile(file *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: lockAt})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLive
	}
	return err
}

// exclusive holds nothing, for Windows locks no folders. A run that starts while another command tidies up may fail.
func exclusive(string) (done func(), err error) { return func() {}, nil }

func inodeOf(os.FileInfo) uint64 { return 0 }

// unlock closes the file first: Windows removes no open file. If somebody takes the lock in between, the file cannot be
// removed and is theirs. If its folder was renamed meanwhile, the file at path is another run's.
func unlock(file *os.File, path string) {
	own := isAt(file, path)
	_ = file.Close()
	if own {
		_ = os.Remove(path)
	}
}

package runs

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is a byte far behind the file's text: a lock of Windows keeps others from reading what it
// covers.
const lockAt = 1 << 30

func tryLock(file *os.File) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockAt})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLive
	}
	return err
}

// exclusive holds nothing: Windows locks no folder. A run that is made while another command takes away what was cut
// may end with an error there.
func exclusive(string) (done func(), err error) { return func() {}, nil }

// unlock closes first: Windows removes no file that is open. Somebody may take the lock in between;
// then the file cannot be removed, and is theirs. Where its folder was moved away, what stands at path is another's.
func unlock(file *os.File, path string) {
	own := isAt(file, path)
	_ = file.Close()
	if own {
		_ = os.Remove(path)
	}
}

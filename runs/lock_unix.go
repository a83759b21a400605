//go:build unix

package runs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func tryLock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLive
	}
	return err
}

// unlock removes the file while it is still locked, so that nobody takes a lock on a file that is
// about to go without noticing (see isAt).
func unlock(file *os.File, path string) {
	_ = os.Remove(path) // one that stays is stale, and seen to be
	_ = file.Close()
}

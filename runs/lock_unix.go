//go:build unix

package runs

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// handedOn is how long a child may hold a lock that it inherited because its parent was killed between fork and exec:
// until the child's exec.
const handedOn = 2 * time.Second

func tryLock(file *os.File) error { return flock(file, unix.LOCK_EX) }

// tryShare is tryLock for one who only looks: any number of them hold the lock together.
func tryShare(file *os.File) error { return flock(file, unix.LOCK_SH) }

func flock(file *os.File, how int) error {
	for deadline := time.Now().Add(handedOn); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if how == unix.LOCK_EX && unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
			_ = unix.Flock(int(file.Fd()), unix.LOCK_UN) // nobody but those who look holds it
		} else if !holderGone(file) {
			return ErrLive
		}
		if time.Now().After(deadline) {
			return ErrLive
		}
	}
}

// holderGone reports whether the process whose id is in the file has ended.
func holderGone(file *os.File) bool {
	text := make([]byte, 32)
	n, _ := file.ReadAt(text, 0) // it is shorter
	word, _, ended := strings.Cut(string(text[:n]), " ")
	pid, err := strconv.Atoi(word)
	return ended && err == nil && pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// exclusive waits until no other process holds the folder, and holds it until done is called. It is for short work.
func exclusive(dir string) (done func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(folder.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

// inodeOf is the number of a file.
func inodeOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// unlock removes the file while it is still locked: whoever locks it after that finds that it is gone (see isAt). If
// its folder was renamed meanwhile, the file at path is another run's.
func unlock(file *os.File, path string) {
	if isAt(file, path) {
		_ = os.Remove(path) // a stale file does no harm
	}
	_ = file.Close()
}

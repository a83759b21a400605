package disk

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// unread is the access time of what nobody has read, in seconds since 1970. Linux mounts update an access time that is
// not later than the last change (relatime), so the first read changes it.
const unread = 1

// Mark marks an entry as not read; "." is the folder itself.
func (f *Folder) Mark(name string) error {
	times := []unix.Timespec{{Sec: unread}, {Nsec: unix.UTIME_OMIT}}
	return f.failed("set the time of", name, unix.UtimesNanoAt(f.fd, name, times, unix.AT_SYMLINK_NOFOLLOW))
}

// markOpen is Mark for an open file: futimens, which package unix has only by way of /proc.
func markOpen(fd int) error {
	times := [2]unix.Timespec{{Sec: unread}, {Nsec: unix.UTIME_OMIT}}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// LstatRead is Lstat, and reports whether the entry was read since it was marked.
func (f *Folder) LstatRead(name string) (Stat, bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return fromSys(&st), st.Atim.Sec != unread, f.failed("stat", name, err)
}

// StatRead is Stat, and reports whether the folder was listed since it was marked.
func (f *Folder) StatRead() (Stat, bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return fromSys(&st), st.Atim.Sec != unread, f.failed("stat", "", err)
}

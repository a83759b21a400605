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
	return f.utimes(name, &[2]unix.Timespec{{Sec: unread}, {Nsec: unix.UTIME_OMIT}})
}

// futimens is futimens(3), which package unix has only by way of /proc.
func futimens(fd int, times [2]unix.Timespec) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// LstatRead is Lstat, and reports whether the entry was read since it was marked.
func (f *Folder) LstatRead(name string) (Stat, bool, error) {
	var st unix.Statx_t
	switch errno := f.statx(name, &st); errno {
	case 0:
	case unix.ENOSYS, unix.EPERM: // some sandboxes do not know the call
		var old unix.Stat_t
		err := unix.Fstatat(f.fd, name, &old, unix.AT_SYMLINK_NOFOLLOW)
		return fromSys(&old), old.Atim.Sec != unread, f.failed("stat", name, err)
	default:
		return Stat{}, false, f.failed("stat", name, errno)
	}
	return Stat{
		Mtime: st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), Ctime: st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec),
		Size: int64(st.Size), Inode: st.Ino, Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Mode: uint32(st.Mode),
		Uid: st.Uid, Gid: st.Gid,
	}, st.Atime.Sec != unread, nil
}

// StatRead is Stat, and reports whether the folder was listed since it was marked.
func (f *Folder) StatRead() (Stat, bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return fromSys(&st), st.Atim.Sec != unread, f.failed("stat", "", err)
}

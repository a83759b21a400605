package disk

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The two calls that a look at a large tree consists of, without package unix's copy of each name on the heap.

// name is one of an entry as system calls take it. 255 bytes are the most that Linux has.
type name [256]byte

func (n *name) set(s string) unix.Errno {
	switch {
	case len(s) >= len(n):
		return unix.ENAMETOOLONG
	case strings.IndexByte(s, 0) >= 0:
		return unix.EINVAL
	}
	copy(n[:], s)
	return 0
}

// quick reports whether a folder's file system is known to answer at once: others may be remote, and a call that the
// scheduler is not told of would hold up the whole program.
func quick(fd int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		return false
	}
	known, _ := tellsChanges(uint32(fs.Type))
	return known
}

// statx looks at an entry. Where quick is set it does not tell Go's scheduler of the call: that takes a fifth of the
// time of a look which the kernel answers from memory.
func (f *Folder) statx(entry string, st *unix.Statx_t) (errno unix.Errno) {
	var n name
	if errno = n.set(entry); errno != 0 {
		return errno
	}
	if f.quick {
		_, _, errno = unix.RawSyscall6(unix.SYS_STATX, uintptr(f.fd), uintptr(unsafe.Pointer(&n)),
			unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(st)), 0)
	} else {
		_, _, errno = unix.Syscall6(unix.SYS_STATX, uintptr(f.fd), uintptr(unsafe.Pointer(&n)),
			unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(st)), 0)
	}
	return errno
}

// utimes sets the times of an entry.
func (f *Folder) utimes(entry string, times *[2]unix.Timespec) error {
	var n name
	errno := n.set(entry)
	if errno == 0 {
		_, _, errno = unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(f.fd), uintptr(unsafe.Pointer(&n)),
			uintptr(unsafe.Pointer(times)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	}
	if errno != 0 {
		return f.failed("set the time of", entry, errno)
	}
	return nil
}

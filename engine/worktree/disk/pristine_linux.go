package disk

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SubInside is Sub, and an error where something is mounted.
func (f *Folder) SubInside(name string) (*Folder, error) {
	fd, err := unix.Openat2(f.fd, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV})
	if err != nil {
		return nil, f.failed("open", name, err)
	}
	return &Folder{fd, f.Path + "/" + name, f.quick}, nil
}

// Remove removes an entry, a folder with all that is in it. A missing one is no error.
func (f *Folder) Remove(name string) error {
	err := unix.Unlinkat(f.fd, name, 0)
	switch err {
	case nil, unix.ENOENT:
		return nil
	case unix.EISDIR:
		return RemoveAll(filepath.Join(f.Path, name))
	}
	return f.failed("remove", name, err)
}

// Touch sets the time of the last change of an entry, in nanoseconds since 1970, and marks it as not read; "." is the
// folder itself.
func (f *Folder) Touch(name string, at int64) error {
	return f.utimes(name, &[2]unix.Timespec{{Sec: unread}, unix.NsecToTimespec(at)})
}

// TouchSame is Touch for a regular file that is as it was, and whose bytes same accepts; they are valid during the
// call. All but the opening goes by the descriptor, so that it is of one file. It returns buf, memory that it uses, and
// what the file system says afterwards: a stat of zeros if the file is another.
func (f *Folder) TouchSame(buf []byte, name string, was Stat, at int64, same func([]byte) bool) ([]byte, Stat, error) {
	fd, err := open(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return buf, Stat{}, nil //nolint:nilerr // whatever is there is replaced
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return buf, Stat{}, f.failed("stat", name, err)
	}
	if fromSys(&st) != was || was.Kind() != KindFile {
		return buf, Stat{}, nil
	}
	buf = slices.Grow(buf[:0], int(was.Size))[:was.Size]
	for rest := buf; len(rest) > 0; { // a file that grows meanwhile has another stat afterwards
		n, err := unix.Read(fd, rest)
		if err != nil && err != unix.EINTR {
			return buf, Stat{}, f.failed("read", name, err)
		}
		if n == 0 {
			return buf, Stat{}, nil
		}
		rest = rest[max(n, 0):]
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return buf, Stat{}, f.failed("stat", name, err)
	}
	if fromSys(&st) != was || !same(buf) {
		return buf, Stat{}, nil
	}
	if err := futimens(fd, [2]unix.Timespec{{Sec: unread}, unix.NsecToTimespec(at)}); err != nil {
		return buf, Stat{}, f.failed("set the time of", name, err)
	}
	err = unix.Fstat(fd, &st)
	return buf, fromSys(&st), f.failed("stat", name, err)
}

// traits are what a folder passes on to what is made in it, besides mode and owner (struct fsxattr of linux/fs.h).
type traits struct {
	flags, extent, extents, project, cow uint32
	_                                    [8]byte
}

// fsGetXattr is FS_IOC_FSGETXATTR, _IOR('X', 31, struct fsxattr).
const fsGetXattr = 0x801c581f

// Bare reports whether a folder has no extended attributes, and no other flags and project than another.
func (f *Folder) Bare(other *Folder) bool {
	if n, err := unix.Flistxattr(f.fd, nil); err != nil && err != unix.ENOTSUP || n > 0 {
		return false
	}
	a, errA := f.traits()
	b, errB := other.traits()
	return a == b && errA == errB
}

func (f *Folder) traits() (t traits, errno unix.Errno) {
	_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(f.fd), fsGetXattr, uintptr(unsafe.Pointer(&t)))
	t.extents = 0
	return t, errno
}

// TellsChanges reports whether the file system of a folder is known to give every change of a file a time of its own,
// and does: a file with equal times is then unchanged, except through a memory mapping where mapped is true.
func TellsChanges(dir string) (tells, mapped bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false, false
	}
	if tells, mapped = tellsChanges(uint32(fs.Type)); !tells {
		return false, false
	}
	f, err := os.CreateTemp(dir, "clock")
	if err != nil {
		return false, false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var a, b unix.Stat_t
	for range 200 {
		a = b
		if _, err := unix.Pwrite(int(f.Fd()), []byte{0}, 0); err != nil {
			return false, false
		}
		if err := unix.Fstat(int(f.Fd()), &b); err != nil || a.Ctim == b.Ctim || a.Mtim == b.Mtim {
			return false, false
		}
	}
	return true, mapped
}

// tellsChanges is what is known of a kind of file system; those it knows are on this machine.
func tellsChanges(kind uint32) (tells, mapped bool) {
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true, false
	case unix.TMPFS_MAGIC:
		return true, true
	}
	return false, false
}

// Epoch identifies what times on this machine are measured by: the boot, and by how many nanoseconds the clock is ahead
// of the time since the boot. It differs after somebody set the clock.
func Epoch() (boot string, ahead int64, err error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, err
	}
	var real, since unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &real); err != nil {
		return "", 0, err
	}
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &since); err != nil {
		return "", 0, err
	}
	return strings.TrimSpace(string(id)) + " " + strconv.Itoa(os.Getuid()), real.Nano() - since.Nano(), nil
}

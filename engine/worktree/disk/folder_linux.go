package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is an open directory. What it holds is reached relative to its descriptor, so that a
// symbolic link put in the way is never followed.
type Folder struct {
	fd    int
	Path  string // for errors
	quick bool   // calls are answered at once
}

func Open(path string) (*Folder, error) {
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Folder{fd, path, quick(fd)}, nil
}

// SubIf is Sub for a folder whose stat is was, and nil for any other: then use Sub. It opens no more than the path,
// which a watch of what is opened does not report.
func (f *Folder) SubIf(name string, was Stat) *Folder {
	fd, err := unix.Openat(f.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	sub := &Folder{fd, f.Path + "/" + name, f.quick}
	if st, err := sub.Stat(); err != nil || st != was {
		sub.Close()
		return nil
	}
	return sub
}

func (f *Folder) Sub(name string) (*Folder, error) {
	p := f.Path + "/" + name
	fd, err := open(f.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return &Folder{fd, p, f.quick}, nil
}

// open leaves no trace in the access time (see Mark), where the file is the user's own.
func open(at int, name string, flags int) (int, error) {
	for flags |= unix.O_CLOEXEC | unix.O_NOATIME; ; {
		fd, err := unix.Openat(at, name, flags, 0)
		switch {
		case err == unix.EPERM && flags&unix.O_NOATIME != 0:
			flags &^= unix.O_NOATIME
		case err != unix.EINTR:
			return fd, err
		}
	}
}

func (f *Folder) Close() { unix.Close(f.fd) }

func (f *Folder) Stat() (Stat, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return fromSys(&st), f.failed("stat", "", err)
}

// Lstat looks at an entry; a missing one is fs.ErrNotExist.
func (f *Folder) Lstat(name string) (Stat, error) {
	st, _, err := f.LstatRead(name)
	return st, err
}

// Names lists the folder, unordered, from its beginning.
func (f *Folder) Names() ([]string, error) {
	fd, err := open(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.Path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	var out []string
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: f.Path, Err: err}
		}
		if n <= 0 {
			return out, nil
		}
		_, _, out = unix.ParseDirent(buf[:n], -1, out)
	}
}

// File opens a regular file for reading. It does not wait for a FIFO that took its place.
func (f *Folder) File(name string) (*os.File, error) {
	p := filepath.Join(f.Path, name)
	fd, err := open(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return os.NewFile(uintptr(fd), p), nil
}

// Content reads a regular file with plain system calls: its size is known, and it is no pipe.
func (f *Folder) Content(name string, size int64) ([]byte, Stat, error) {
	p := filepath.Join(f.Path, name)
	fd, err := open(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return nil, Stat{}, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, Stat{}, &fs.PathError{Op: "stat", Path: p, Err: err}
	}
	if before := fromSys(&st); before.Kind() != KindFile {
		return nil, before, ErrChanged
	}
	data := make([]byte, 0, size+1) // one more, so that the end is seen
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, Stat{}, &fs.PathError{Op: "read", Path: p, Err: err}
		}
		if n == 0 {
			break
		}
		data = data[:len(data)+n]
		if len(data) == cap(data) {
			return nil, Stat{}, ErrChanged
		}
	}
	err = unix.Fstat(fd, &st)
	return data, fromSys(&st), f.failed("stat", name, err)
}

func (f *Folder) Readlink(name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(f.fd, name, buf)
		if err != nil {
			return "", &fs.PathError{Op: "readlink", Path: filepath.Join(f.Path, name), Err: err}
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// Create writes a new regular file, marked as not read, and returns what the file system says of it afterwards. at is
// the time of its last change in nanoseconds since 1970; 0 is now.
func (f *Folder) Create(name string, data []byte, perm uint32, at int64) (Stat, error) {
	fd, err := unix.Openat(f.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return Stat{}, f.failed("create", name, err)
	}
	defer unix.Close(fd)
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Stat{}, f.failed("write", name, err)
		}
		data = data[n:]
	}
	changed := unix.Timespec{Nsec: unix.UTIME_OMIT}
	if at != 0 {
		changed = unix.NsecToTimespec(at)
	}
	if err := futimens(fd, [2]unix.Timespec{{Sec: unread}, changed}); err != nil {
		return Stat{}, f.failed("set the time of", name, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return fromSys(&st), f.failed("stat", name, err)
}

func (f *Folder) Mkdir(name string) error {
	return f.failed("mkdir", name, unix.Mkdirat(f.fd, name, 0o777))
}

func (f *Folder) Symlink(target, name string) error {
	return f.failed("symlink", name, unix.Symlinkat(target, f.fd, name))
}

// failed adds what was done to which entry to an error.
func (f *Folder) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(f.Path, name), Err: err}
}

func fromSys(st *unix.Stat_t) Stat {
	return Stat{
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Size: st.Size,
		Inode: st.Ino, Dev: uint64(st.Dev), Mode: st.Mode, Uid: st.Uid, Gid: st.Gid,
	}
}

// FineClock reports whether the file system of dir gives two successive changes different times once the first was
// looked at (most do since Linux 6.13). Then equal times prove that nothing changed. It asks of files and of folders:
// tmpfs gives a folder that loses an entry the time of that entry, which may be the time that the folder had.
func FineClock(dir string) bool {
	at, err := os.MkdirTemp(dir, "clock")
	if err != nil {
		return false
	}
	defer os.RemoveAll(at)
	entry := filepath.Join(at, "entry")
	write := func() error {
		f, err := os.OpenFile(entry, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte{0})
		return errors.Join(err, f.Close())
	}
	replace := func() error { return errors.Join(os.Remove(entry), os.Mkdir(entry, 0o700), os.Remove(entry), write()) }
	return differs(entry, write) && differs(at, replace)
}

// differs reports whether each of a few changes gives what is at path other times.
func differs(path string, change func() error) bool {
	var a, b unix.Stat_t
	for i := range 4 {
		if change() != nil || unix.Stat(path, &b) != nil || i > 0 && (a.Mtim == b.Mtim || a.Ctim == b.Ctim) {
			return false
		}
		a = b
	}
	return true
}

// Gone reports whether an error means that the entry does not exist, or is no longer a folder.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

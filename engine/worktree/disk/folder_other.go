//go:build !linux

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is a directory, reached by its path. Only Linux holds descriptors: elsewhere a symbolic
// link that a process puts in the way while the walk runs would be followed.
type Folder struct{ Path string }

func Open(path string) (*Folder, error) {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a folder")}
	}
	return &Folder{path}, err
}

// SubIf is nil: use Sub.
func (f *Folder) SubIf(string, Stat) *Folder { return nil }

func (f *Folder) Sub(name string) (*Folder, error) {
	p := filepath.Join(f.Path, name)
	fi, err := os.Lstat(p)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	return &Folder{p}, nil
}

func (f *Folder) Close() {}

func (f *Folder) Stat() (Stat, error) {
	fi, err := os.Lstat(f.Path)
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

func (f *Folder) Lstat(name string) (Stat, error) {
	fi, err := os.Lstat(filepath.Join(f.Path, name))
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

func (f *Folder) Names() ([]string, error) {
	d, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (f *Folder) File(name string) (*os.File, error) { return os.Open(filepath.Join(f.Path, name)) }

func (f *Folder) Content(name string, size int64) ([]byte, Stat, error) {
	file, err := f.File(name)
	if err != nil {
		return nil, Stat{}, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, Stat{}, err
	}
	if !fi.Mode().IsRegular() {
		return nil, Stat{}, ErrChanged
	}
	data, err := io.ReadAll(io.LimitReader(file, size+1))
	if err != nil {
		return nil, Stat{}, err
	}
	if int64(len(data)) > size {
		return nil, Stat{}, ErrChanged
	}
	st, err := f.Lstat(name)
	return data, st, err
}

func (f *Folder) Readlink(name string) (string, error) {
	target, err := os.Readlink(filepath.Join(f.Path, name))
	return filepath.ToSlash(target), err
}

// Create writes a new regular file. at is the time of its last change in nanoseconds since 1970; 0 is now.
func (f *Folder) Create(name string, data []byte, perm uint32, at int64) (Stat, error) {
	if err := WriteNew(filepath.Join(f.Path, name), data, os.FileMode(perm)); err != nil {
		return Stat{}, err
	}
	if at != 0 {
		if err := f.Touch(name, at); err != nil {
			return Stat{}, err
		}
	}
	return f.Lstat(name)
}

func (f *Folder) Mkdir(name string) error { return os.Mkdir(filepath.Join(f.Path, name), 0o777) }

func (f *Folder) Symlink(target, name string) error {
	return os.Symlink(filepath.FromSlash(target), filepath.Join(f.Path, name))
}

// fromInfo has neither ctime nor inode: a change that keeps the size and puts the mtime back is
// not seen outside Linux.
func fromInfo(fi fs.FileInfo) Stat {
	st := Stat{Mtime: fi.ModTime().UnixNano(), Size: fi.Size(), Mode: uint32(fi.Mode().Perm())}
	switch {
	case fi.Mode().IsRegular():
		st.Mode |= ModeFile
	case fi.IsDir():
		st.Mode |= ModeDir
	case fi.Mode()&fs.ModeSymlink != 0:
		st.Mode |= ModeLink
	}
	return st
}

func FineClock(string) bool { return false }

func Gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

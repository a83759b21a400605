//go:build !linux

package worktree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// folder is a directory, reached by its path. Only Linux holds descriptors: elsewhere a symbolic
// link that a process puts in the way while the walk runs would be followed.
type folder struct{ path string }

func openRoot(path string) (*folder, error) {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a folder")}
	}
	return &folder{path}, err
}

func (f *folder) sub(name string) (*folder, error) {
	p := filepath.Join(f.path, name)
	fi, err := os.Lstat(p)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	return &folder{p}, nil
}

func (f *folder) close() {}

func (f *folder) stat() (stat, error) {
	fi, err := os.Lstat(f.path)
	if err != nil {
		return stat{}, err
	}
	return fromInfo(fi), nil
}

func (f *folder) lstat(name string) (stat, error) {
	fi, err := os.Lstat(filepath.Join(f.path, name))
	if err != nil {
		return stat{}, err
	}
	return fromInfo(fi), nil
}

func (f *folder) names() ([]string, error) {
	d, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (f *folder) file(name string) (*os.File, error) { return os.Open(filepath.Join(f.path, name)) }

func (f *folder) content(name string, size int64) ([]byte, stat, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, stat{}, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, stat{}, err
	}
	if !fi.Mode().IsRegular() {
		return nil, stat{}, errChanged
	}
	data, err := io.ReadAll(io.LimitReader(file, size+1))
	if err != nil {
		return nil, stat{}, err
	}
	if int64(len(data)) > size {
		return nil, stat{}, errChanged
	}
	st, err := f.lstat(name)
	return data, st, err
}

func (f *folder) readlink(name string) (string, error) {
	target, err := os.Readlink(filepath.Join(f.path, name))
	return filepath.ToSlash(target), err
}

func (f *folder) create(name string, data []byte, perm uint32) (stat, error) {
	if err := writeNew(filepath.Join(f.path, name), data, os.FileMode(perm)); err != nil {
		return stat{}, err
	}
	return f.lstat(name)
}

func (f *folder) mkdir(name string) error { return os.Mkdir(filepath.Join(f.path, name), 0o777) }

func (f *folder) symlink(target, name string) error {
	return os.Symlink(filepath.FromSlash(target), filepath.Join(f.path, name))
}

// fromInfo has neither ctime nor inode: a change that keeps the size and puts the mtime back is
// not seen outside Linux.
func fromInfo(fi fs.FileInfo) stat {
	st := stat{mtime: fi.ModTime().UnixNano(), size: fi.Size(), mode: uint32(fi.Mode().Perm())}
	switch {
	case fi.Mode().IsRegular():
		st.mode |= modeFile
	case fi.IsDir():
		st.mode |= modeDir
	case fi.Mode()&fs.ModeSymlink != 0:
		st.mode |= modeLink
	}
	return st
}

func fineClock(string) bool { return false }

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

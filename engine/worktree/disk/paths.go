package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"markmill/notebooks"
)

// Reach opens the folder of a path without following symbolic links.
func Reach(root, path string) (*Folder, string, error) {
	f, err := Open(root)
	if err != nil {
		return nil, "", err
	}
	for {
		dir, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			return f, path, nil
		}
		sub, err := f.Sub(dir)
		f.Close()
		if err != nil {
			return nil, "", err
		}
		f, path = sub, rest
	}
}

// StatAt returns the stat of a path below root, without following symbolic links.
func StatAt(root, path string) (Stat, error) {
	f, name, err := Reach(root, path)
	if err != nil {
		return Stat{}, err
	}
	defer f.Close()
	return f.Lstat(name)
}

// RemoveUp removes a file, and the folders that it leaves empty.
func RemoveUp(root, path string) error {
	full := filepath.Join(root, filepath.FromSlash(path))
	if err := os.Remove(full); err != nil && !Gone(err) {
		if IsFolder(full) {
			return nil
		}
		return err
	}
	for dir := filepath.Dir(full); dir != root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

// MakeWay removes what is at a path and creates the folders above it, replacing files in their place.
func MakeWay(root, path string) error {
	at := root
	parts := strings.Split(path, "/")
	for i, p := range parts {
		at = filepath.Join(at, p)
		fi, err := os.Lstat(at)
		last := i == len(parts)-1
		switch {
		case err == nil && (last || !fi.IsDir()):
			if err := os.RemoveAll(at); err != nil {
				return err
			}
		case err != nil && !Gone(err):
			return err
		}
		if !last {
			if err := os.Mkdir(at, 0o777); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	return nil
}

// RealPath is a path without links, as far as it is there.
func RealPath(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}

// RealFolder is RealPath for a folder that may not be there yet: what is above it is without links.
func RealFolder(p string) string {
	if up := filepath.Dir(p); up != p && gone(p) {
		return filepath.Join(RealFolder(up), filepath.Base(p))
	}
	return RealPath(p)
}

func gone(p string) bool { _, err := os.Lstat(p); return Gone(err) }

func IsFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// WriteNew writes a file that must not exist.
func WriteNew(path string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// WriteSynced is WriteNew, and the file is on disk afterwards. If it fails, it leaves no file that it made.
func WriteSynced(path string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// Copy copies a file below root with its permissions, or a link, to a path that must not exist.
func Copy(root, path, to string) error {
	f, name, err := Reach(root, path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Lstat(name)
	if err != nil {
		return err
	}
	if st.Kind() == KindLink {
		target, err := f.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	from, err := f.File(name)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Chmod(os.FileMode(st.Mode&0o777)), file.Close())
}

// RemoveAll removes a folder, even if a step took away permissions inside it.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !IsPermission(err) {
		return err
	}
	walkErr := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return errors.Join(walkErr, os.RemoveAll(dir))
}

func IsPermission(err error) bool { return errors.Is(err, fs.ErrPermission) }

// MakeFolders creates the folders of a path, without following symbolic links.
func MakeFolders(root, dir string) error {
	at := root
	for part := range strings.SplitSeq(dir, "/") {
		if part == "" {
			continue
		}
		at = filepath.Join(at, part)
		switch info, err := os.Lstat(at); {
		case err == nil && info.IsDir():
		case err == nil:
			return &notebooks.Error{Kind: notebooks.KindInput, File: at, Msg: "is in the way of a folder that the " +
				"patch needs"}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		default:
			if err := os.Mkdir(at, 0o777); err != nil {
				return err
			}
		}
	}
	return nil
}

// Part reads at most size bytes of a regular file.
func (f *Folder) Part(name string, size int64) ([]byte, error) {
	file, err := f.File(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, size))
}

// ErrChanged says that a file changed while it was read.
var ErrChanged = errors.New("the file changed while it was read")

// Stat is what the file system says of an entry: equal stats on a file system with fine times
// mean equal content.
type Stat struct {
	Mtime, Ctime int64 // nanoseconds since 1970
	Size         int64
	Inode, Dev   uint64
	Mode         uint32 // as POSIX lays it out, on every system
	Uid, Gid     uint32
}

// File types within stat.mode and within a Git mode.
const (
	ModeType    = 0o170000
	ModeFile    = 0o100000
	ModeDir     = 0o040000
	ModeLink    = 0o120000
	ModeGitlink = 0o160000 // Git's only
)

type kind int

const (
	KindOther kind = iota // FIFO, socket, device: never opened, never captured
	KindFile
	KindDir
	KindLink
)

func (s Stat) Kind() kind {
	switch s.Mode & ModeType {
	case ModeFile:
		return KindFile
	case ModeDir:
		return KindDir
	case ModeLink:
		return KindLink
	}
	return KindOther
}

// GitMode is the mode that Git would record.
func (s Stat) GitMode() uint32 {
	switch s.Kind() {
	case KindLink:
		return ModeLink
	case KindFile:
		if s.Mode&0o100 != 0 {
			return ModeFile | 0o755
		}
		return ModeFile | 0o644
	}
	return 0
}

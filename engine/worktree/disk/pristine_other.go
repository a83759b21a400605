//go:build !linux

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

func (f *Folder) SubInside(name string) (*Folder, error) { return f.Sub(name) }

func (f *Folder) Remove(name string) error { return RemoveAll(filepath.Join(f.Path, name)) }

// Touch leaves a symbolic link as it is: the system would set the time of what it points to.
func (f *Folder) Touch(name string, at int64) error {
	if st, err := f.Lstat(name); err != nil || st.Kind() == KindLink {
		return err
	}
	return os.Chtimes(filepath.Join(f.Path, name), time.Time{}, time.Unix(0, at))
}

// TouchSame finds every file to be another: there is no pool here.
func (f *Folder) TouchSame(buf []byte, _ string, _ Stat, _ int64, _ func([]byte) bool) ([]byte, Stat, error) {
	return buf, Stat{}, nil
}

// Bare is false: it is not known here.
func (f *Folder) Bare(*Folder) bool { return false }

// TellsChanges is false: no time of the last change of a file's metadata is known here.
func TellsChanges(string) (tells, mapped bool) { return false, false }

func Epoch() (boot string, ahead int64, err error) { return "", 0, errors.ErrUnsupported }

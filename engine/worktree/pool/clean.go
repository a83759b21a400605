package pool

import (
	"errors"
	"io/fs"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/snapshot"
)

// Clean removes from a tree whatever the table does not prove to be as it was written, so that nothing that a run wrote
// stays in the pool.
func (t *Table) Clean(f *disk.Folder) error { return clean(f, t.Root) }

func clean(f *disk.Folder, was *snapshot.Node) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st != was.Stat {
		names, err := f.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			_, file := snapshot.FindEntry(was.Files, name)
			_, dir := snapshot.FindDir(was.Dirs, name)
			if !file && !dir {
				if err := f.Remove(name); err != nil {
					return err
				}
			}
		}
	}
	for i := range was.Files {
		e := &was.Files[i]
		st, err := f.Lstat(e.Name)
		if err == nil && (e.Check || st != e.Stat) {
			err = f.Remove(e.Name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, d := range was.Dirs {
		sub, err := f.SubInside(d.Name)
		if err == nil {
			var st disk.Stat
			if st, err = sub.Stat(); err == nil && (st.Inode != d.Stat.Inode || st.Mode != d.Stat.Mode) {
				err = errors.New("another folder")
			}
			if err == nil {
				err = clean(sub, d)
			}
			sub.Close()
		}
		if err != nil { // whatever it is, it is no part of the tree any more
			if err := f.Remove(d.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

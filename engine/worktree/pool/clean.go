package pool

import (
	"errors"
	"io/fs"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/snapshot"
)

// Clean removes from a tree whatever the table does not prove to be as it was written, so that nothing that a run wrote
// stays in the pool. now is what the last look at the tree found, which saves another at each file; nil: there is none.
// Whoever takes the tree looks at every file again.
func (t *Table) Clean(f *disk.Folder, now *snapshot.Node) error { return t.clean(f, t.Root, now, "") }

func (t *Table) clean(f *disk.Folder, was, now *snapshot.Node, path string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st != was.Stat {
		if err := removeOthers(f, was); err != nil {
			return err
		}
	}
	shared := now != nil && now.Shares(was)
	for i := range was.Files {
		e := &was.Files[i]
		usable := t.usable(e, path)
		if usable && shared {
			continue
		}
		st, err := f.Lstat(e.Name)
		if err == nil && (!usable || st != e.Stat) {
			err = f.Remove(e.Name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, d := range was.Dirs {
		sub, err := f.SubInside(d.Name)
		if err == nil {
			var below *snapshot.Node
			if now != nil {
				if i, ok := snapshot.FindDir(now.Dirs, d.Name); ok {
					below = now.Dirs[i]
				}
			}
			err = t.clean(sub, d, below, path+d.Name+"/")
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

// removeOthers removes from a folder what the table does not have there.
func removeOthers(f *disk.Folder, was *snapshot.Node) error {
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
	return nil
}

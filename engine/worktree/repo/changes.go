package repo

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/patch"
)

// PathChange is a file that differs between two sides.
type PathChange struct {
	Path string // on the new side; of a file that went, on the old one
	From string // where a file was that only moved; "" of others
	Old  bool   // it is there on the old side
	New  bool   // it is there on the new side
}

// Changes lists the regular files and submodules that differ and whose name want accepts, by path. It reads only
// folders that differ, and no files, except for those of the checkout that Git says were changed.
func Changes(old, new *Files, want func(name string) bool) ([]PathChange, error) {
	found := map[string]patch.Delta{}
	note := func(at string, was, is patch.Side) {
		delete(found, at)
		if was.OID != is.OID {
			found[at] = patch.Delta{Path: at, Old: was, New: is}
		}
	}
	err := object.DiffTrees("", old.root, new.root, old.tree, new.tree, func(at string, a, b object.TreeEntry) {
		if want(path.Base(at)) {
			note(at, fileSide(a), fileSide(b))
		}
	})
	if err != nil {
		return nil, err
	}
	for p, there := range new.dirty {
		if !want(path.Base(p)) {
			continue
		}
		e, err := old.at(p)
		if err != nil {
			return nil, err
		}
		var is patch.Side
		if e.Mode == disk.ModeGitlink {
			now, err := new.entryOnDisk(p)
			if err != nil {
				return nil, err
			}
			is = fileSide(now)
		} else if there {
			data, err := new.readDisk(p, maxHashed)
			if err != nil {
				return nil, err
			}
			is = patch.Side{Mode: fileMode, OID: new.src.Format.Sum("blob", data)}
		}
		note(p, fileSide(e), is)
	}
	list := slices.SortedFunc(maps.Values(found), func(a, b patch.Delta) int { return strings.Compare(a.Path, b.Path) })
	var out []PathChange
	for _, d := range patch.Renames(list, false) {
		out = append(out, PathChange{Path: d.Path, From: d.From, Old: d.Old.Mode != 0, New: d.New.Mode != 0})
	}
	return out, nil
}

// Differing lists the paths of the files and links that differ in content or mode, sorted.
func Differing(old, new *Files) ([]string, error) {
	found := map[string]bool{}
	leaf := func(e object.TreeEntry) object.TreeEntry {
		if e.Mode == disk.ModeDir {
			return object.TreeEntry{}
		}
		return object.TreeEntry{Mode: e.Mode, OID: e.OID}
	}
	err := object.DiffTrees("", old.root, new.root, old.tree, new.tree, func(at string, a, b object.TreeEntry) {
		if leaf(a) != leaf(b) {
			found[at] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for p := range new.dirty {
		was, err := old.at(p)
		if err != nil {
			return nil, err
		}
		is, err := new.entryOnDisk(p)
		if err != nil {
			return nil, err
		}
		if found[p] = leaf(was) != leaf(is); !found[p] {
			delete(found, p)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// fileSide is a regular file or a submodule as a side of a change; anything else is nothing.
func fileSide(e object.TreeEntry) patch.Side {
	switch {
	case e.Mode == disk.ModeGitlink:
		return patch.Side{Mode: e.Mode, OID: e.OID}
	case !isFile(e.Mode):
		return patch.Side{}
	}
	return patch.Side{Mode: fileMode, OID: e.OID}
}

// maxHashed is the size of the largest file of a checkout that is hashed, in bytes.
const maxHashed = 1 << 30

// Entry is the blob and the mode of a path, as a record of a run has them ("100644", "120000" of a link). ok is false
// if it is neither a file nor a link.
func (f *Files) Entry(name string) (blob object.OID, mode string, ok bool, err error) {
	e, err := f.entry(name)
	if err != nil || e.Mode == 0 || e.Mode == disk.ModeDir {
		return "", "", false, err
	}
	return f.src.Format.OID(e.OID), modeText(e.Mode), true, nil
}

func (f *Files) entry(name string) (object.TreeEntry, error) {
	if _, known := f.dirty[name]; known {
		return f.entryOnDisk(name)
	}
	return f.at(name)
}

// modeText is a mode as records have it. Old versions of Git wrote other ones.
func modeText(mode uint32) string {
	if isFile(mode) && mode != scriptMode {
		mode = fileMode
	}
	return fmt.Sprintf("%06o", mode)
}

// entryOnDisk is the entry of a path of the checkout; the zero entry is neither a file nor a link. A file is read once.
func (f *Files) entryOnDisk(name string) (object.TreeEntry, error) {
	if e, known := f.hashed[name]; known {
		return e, nil
	}
	if was, err := f.at(name); err != nil || was.Mode == disk.ModeGitlink {
		f.hashed[name] = f.moduleOnDisk(was, filepath.Join(f.src.root, filepath.FromSlash(name)))
		return f.hashed[name], err
	}
	mode, data, err := f.contentOnDisk(name)
	if err != nil {
		return object.TreeEntry{}, err
	}
	e := object.TreeEntry{Mode: mode, Name: path.Base(name)}
	if mode != 0 {
		e.OID = f.src.Format.Sum("blob", data)
	}
	f.hashed[name] = e
	return e, nil
}

// moduleOnDisk is the entry of a submodule that is not as the commit has it: it stands at another commit, or files in
// it differ, which is no commit at all.
func (f *Files) moduleOnDisk(was object.TreeEntry, dir string) object.TreeEntry {
	found, err := Open(dir)
	if err != nil || found.root != disk.RealPath(dir) {
		return object.TreeEntry{}
	}
	head, err := found.Head()
	now, ok := f.src.Format.Parse(head)
	if err != nil || !ok || now == was.OID {
		now = f.src.Format.Sum("blob", []byte(dir))
	}
	was.OID = now
	return was
}

func (f *Files) contentOnDisk(name string) (mode uint32, data []byte, err error) {
	local := filepath.FromSlash(name)
	info, err := f.disk.Lstat(local)
	switch {
	case disk.Gone(err):
		return 0, nil, nil
	case err != nil:
		return 0, nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := f.disk.Readlink(local)
		return disk.ModeLink, []byte(target), err
	case !info.Mode().IsRegular():
		return 0, nil, nil
	}
	mode = fileMode
	if info.Mode()&0o100 != 0 {
		mode = scriptMode
	}
	data, err = f.readDisk(name, maxHashed)
	return mode, data, err
}

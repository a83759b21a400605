package repo

import (
	"fmt"
	"io/fs"
	"maps"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/patch"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// PathChange is a file that differs between two sides.
type PathChange struct {
	Path string // on the new side; of a file that went, on the old one
	From string // where a file was that only moved; "" of others
	Old  bool   // it is there on the old side
	New  bool   // it is there on the new side
}

// Changes lists the regular files that differ and whose name want accepts, by path. It reads only folders that differ,
// and no files, except for those of the checkout that Git says were changed.
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
		if there {
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

// fileSide is a regular file as a side of a change; anything else is nothing.
func fileSide(e object.TreeEntry) patch.Side {
	if !isFile(e.Mode) {
		return patch.Side{}
	}
	return patch.Side{Mode: fileMode, OID: e.OID}
}

// maxHashed is the size of the largest file of a checkout that is hashed, in bytes.
const maxHashed = 1 << 30

// Entry is the blob and the mode of a path, as a record of a run has them ("100644", "120000" of a link). ok is false
// if it is neither a file nor a link.
func (f *Files) Entry(name string) (blob object.OID, mode string, ok bool, err error) {
	if _, known := f.dirty[name]; known {
		return f.entryOnDisk(name)
	}
	e, err := f.at(name)
	if err != nil || e.Mode == 0 || e.Mode == disk.ModeDir {
		return "", "", false, err
	}
	if isFile(e.Mode) && e.Mode != scriptMode { // old versions of Git wrote other modes
		e.Mode = fileMode
	}
	return f.src.Format.OID(e.OID), fmt.Sprintf("%06o", e.Mode), true, nil
}

// entryOnDisk is the entry of a path of the checkout. A file is read once.
func (f *Files) entryOnDisk(name string) (object.OID, string, bool, error) {
	if e, known := f.hashed[name]; known {
		return e.id, e.mode, e.id != "", nil
	}
	id, mode, there, err := f.hashOnDisk(name)
	if err == nil {
		f.hashed[name] = diskEntry{id, mode}
	}
	return id, mode, there, err
}

// diskEntry is a file or link of the checkout; the zero value is neither.
type diskEntry struct {
	id   object.OID
	mode string
}

func (f *Files) hashOnDisk(name string) (object.OID, string, bool, error) {
	local := filepath.FromSlash(name)
	info, err := f.disk.Lstat(local)
	if disk.Gone(err) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		data, err := f.readDisk(name, maxHashed)
		if err != nil {
			return "", "", false, err
		}
		git := uint32(fileMode)
		if mode&0o100 != 0 {
			git = scriptMode
		}
		return f.src.Format.OID(f.src.Format.Sum("blob", data)), fmt.Sprintf("%06o", git), true, nil
	case mode&fs.ModeSymlink != 0:
		target, err := f.disk.Readlink(local)
		if err != nil {
			return "", "", false, err
		}
		return f.src.Format.OID(f.src.Format.Sum("blob", []byte(target))), "120000", true, nil
	}
	return "", "", false, nil
}

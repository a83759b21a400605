package repo

import (
	"fmt"
	"io/fs"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
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
	were, are := map[string]object.Digest{}, map[string]object.Digest{}
	err := object.DiffTrees("", old.root, new.root, old.tree, new.tree, func(at string, a, b object.TreeEntry) {
		if !want(path.Base(at)) || isFile(a.Mode) && isFile(b.Mode) && a.OID == b.OID {
			return
		}
		if isFile(a.Mode) {
			were[at] = a.OID
		}
		if isFile(b.Mode) {
			are[at] = b.OID
		}
	})
	if err != nil {
		return nil, err
	}
	for p, there := range new.dirty {
		if !want(path.Base(p)) {
			continue
		}
		delete(were, p)
		delete(are, p)
		e, err := old.at(p)
		if err != nil {
			return nil, err
		}
		var was, is object.Digest
		if isFile(e.Mode) {
			was = e.OID
		}
		if there {
			data, err := new.readDisk(p, maxHashed)
			if err != nil {
				return nil, err
			}
			is = new.src.Format.Sum("blob", data)
		}
		if was == is {
			continue
		}
		if !was.IsZero() {
			were[p] = was
		}
		if !is.IsZero() {
			are[p] = is
		}
	}
	return pairMoved(were, are), nil
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

func (f *Files) entryOnDisk(name string) (object.OID, string, bool, error) {
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

// pairMoved pairs removed files with added ones of the same content: the one with the same name if there is one,
// otherwise the first.
func pairMoved(were, are map[string]object.Digest) []PathChange {
	went := map[object.Digest][]string{}
	for p, d := range were {
		if _, stays := are[p]; !stays {
			went[d] = append(went[d], p)
		}
	}
	for _, list := range went {
		slices.Sort(list)
	}
	var came []string
	for p := range are {
		came = append(came, p)
	}
	slices.Sort(came)
	moved := map[string]bool{}
	var out []PathChange
	for _, p := range came {
		c := PathChange{Path: p, New: true}
		if _, c.Old = were[p]; !c.Old {
			from := ""
			for _, q := range went[are[p]] {
				if !moved[q] && (from == "" || path.Base(from) != path.Base(p) && path.Base(q) == path.Base(p)) {
					from = q
				}
			}
			if from != "" {
				moved[from] = true
				c.From, c.Old = from, true
			}
		}
		out = append(out, c)
	}
	for p := range were {
		if _, stays := are[p]; !stays && !moved[p] {
			out = append(out, PathChange{Path: p, Old: true})
		}
	}
	slices.SortFunc(out, func(a, b PathChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

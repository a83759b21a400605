package worktree

import (
	"fmt"
	"io/fs"
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

// Changes lists the regular files that differ, by path, of those whose name want takes. Only folders that differ are
// read, and no file. Of the checkout, a file differs that Git says was changed, and whose content is another.
func Changes(old, new *Files, want func(name string) bool) ([]PathChange, error) {
	were, are := map[string]digest{}, map[string]digest{}
	if err := differ(old, new, old.root, new.root, "", want, were, are); err != nil {
		return nil, err
	}
	for p, there := range new.dirty {
		if !want(path.Base(p)) {
			continue
		}
		delete(were, p)
		delete(are, p)
		was, err := old.find(p)
		if err != nil {
			return nil, err
		}
		is := digest{}
		if there {
			data, err := new.readDisk(p, maxHashed)
			if err != nil {
				return nil, err
			}
			is = new.src.fmt.sum("blob", data)
		}
		if was == is {
			continue
		}
		if !was.zero() {
			were[p] = was
		}
		if !is.zero() {
			are[p] = is
		}
	}
	return pairMoved(were, are), nil
}

// maxHashed is the largest file of a checkout that is looked into, in bytes.
const maxHashed = 1 << 30

// Entry is the blob and the mode of a path, as a record of a run has them ("100644", "120000" of a link). ok is false
// where neither a file nor a link stands there.
func (f *Files) Entry(name string) (blob OID, mode string, ok bool, err error) {
	if _, known := f.dirty[name]; known {
		return f.entryOnDisk(name)
	}
	entries, err := f.folder(strings.TrimPrefix(path.Dir(name), "."))
	if err != nil {
		return "", "", false, err
	}
	e, ok := entryOf(entries, path.Base(name))
	if !ok || e.mode == folderMode {
		return "", "", false, nil
	}
	if isFile(e.mode) && e.mode != scriptMode { // old versions of Git wrote other modes
		e.mode = fileMode
	}
	return f.src.fmt.oid(e.oid), fmt.Sprintf("%06o", e.mode), true, nil
}

func (f *Files) entryOnDisk(name string) (OID, string, bool, error) {
	local := filepath.FromSlash(name)
	info, err := f.disk.Lstat(local)
	if gone(err) {
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
		return f.src.fmt.oid(f.src.fmt.sum("blob", data)), fmt.Sprintf("%06o", git), true, nil
	case mode&fs.ModeSymlink != 0:
		target, err := f.disk.Readlink(local)
		if err != nil {
			return "", "", false, err
		}
		return f.src.fmt.oid(f.src.fmt.sum("blob", []byte(target))), "120000", true, nil
	}
	return "", "", false, nil
}

// find is the blob of a regular file of the tree; zero where there is none.
func (f *Files) find(name string) (digest, error) {
	entries, err := f.folder(strings.TrimPrefix(path.Dir(name), "."))
	if err != nil {
		return digest{}, err
	}
	if e, ok := entryOf(entries, path.Base(name)); ok && isFile(e.mode) {
		return e.oid, nil
	}
	return digest{}, nil
}

// differ collects the files that differ between two trees; the zero digest is no tree.
func differ(old, new *Files, a, b digest, dir string, want func(string) bool, were, are map[string]digest) error {
	if a == b {
		return nil
	}
	type pair struct{ a, b treeEntry }
	both := map[string]*pair{}
	for i, side := range []*Files{old, new} {
		id := a
		if i == 1 {
			id = b
		}
		if id.zero() {
			continue
		}
		entries, err := side.tree(id)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := both[e.name]
			if p == nil {
				p = &pair{}
				both[e.name] = p
			}
			if i == 0 {
				p.a = e
			} else {
				p.b = e
			}
		}
	}
	for name, p := range both {
		at := path.Join(dir, name)
		var sub [2]digest
		if p.a.mode == folderMode {
			sub[0] = p.a.oid
		}
		if p.b.mode == folderMode {
			sub[1] = p.b.oid
		}
		if err := differ(old, new, sub[0], sub[1], at, want, were, are); err != nil {
			return err
		}
		if isFile(p.a.mode) && isFile(p.b.mode) && p.a.oid == p.b.oid || !want(name) {
			continue
		}
		if isFile(p.a.mode) {
			were[at] = p.a.oid
		}
		if isFile(p.b.mode) {
			are[at] = p.b.oid
		}
	}
	return nil
}

// pairMoved makes the list, and finds what went in one place and came in another, with the same content: of several the
// one with the same name, else the first.
func pairMoved(were, are map[string]digest) []PathChange {
	went := map[digest][]string{}
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

package patch

import (
	"bytes"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"path"
	"slices"
	"strings"
)

// Side is what stands at a path on one side of a change; mode 0 is nothing.
type Side struct {
	Mode uint32
	OID  object.Digest
	Size int64
}

// Delta is the change of one path.
type Delta struct {
	Path     string
	From     string // of a rename
	Old, New Side
}

// Renames pairs removed files with added ones of the same content: the one with the same name if there is one,
// otherwise the first. The list is sorted by path. For a patch it does not pair empty files, nor paths that contain one
// another, whose order would matter.
func Renames(list []Delta, forPatch bool) []Delta {
	went := map[object.Digest][]int{}
	for i, d := range list {
		if d.New.Mode == 0 && d.Old.Mode&disk.ModeType == disk.ModeFile {
			went[d.Old.OID] = append(went[d.Old.OID], i)
		}
	}
	if len(went) == 0 {
		return list
	}
	used := map[int]bool{}
	for i := range list {
		d := &list[i]
		if d.Old.Mode != 0 || d.New.Mode&disk.ModeType != disk.ModeFile || forPatch && d.New.Size == 0 {
			continue
		}
		best := -1
		for _, j := range went[d.New.OID] {
			if used[j] || forPatch && (nests(list, list[j].Path) || nests(list, d.Path)) {
				continue
			}
			if best < 0 || path.Base(list[best].Path) != path.Base(d.Path) &&
				path.Base(list[j].Path) == path.Base(d.Path) {
				best = j
			}
		}
		if best >= 0 {
			used[best] = true
			d.From, d.Old = list[best].Path, list[best].Old
		}
	}
	out := list[:0:0]
	for i, d := range list {
		if !used[i] {
			out = append(out, d)
		}
	}
	return out
}

// nests reports whether p contains another path of the list or lies in one.
func nests(list []Delta, p string) bool {
	find := func(path string) (int, bool) {
		return slices.BinarySearchFunc(list, path, func(d Delta, q string) int { return strings.Compare(d.Path, q) })
	}
	if i, _ := find(p + "/"); i < len(list) && strings.HasPrefix(list[i].Path, p+"/") {
		return true
	}
	for up := path.Dir(p); up != "."; up = path.Dir(up) {
		if _, ok := find(up); ok {
			return true
		}
	}
	return false
}

// Error says why the patch does not hold a change.
type Error struct {
	Path string
	Msg  string
}

func (e *Error) Error() string { return quote.Path(e.Path) + ": " + e.Msg }

func (d *Delta) Status() string {
	switch {
	case d.From != "":
		return "renamed"
	case d.Old.Mode == 0:
		return "added"
	case d.New.Mode == 0:
		return "deleted"
	case d.Old.Mode&disk.ModeType != d.New.Mode&disk.ModeType:
		return "type"
	case d.Old.OID == d.New.OID:
		return "mode"
	}
	return "modified"
}

// IsBinary judges content as Git does.
func IsBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// maxTextLines is the number of lines up to which content is compared by line; longer content becomes a binary patch.
const maxTextLines = 1 << 20

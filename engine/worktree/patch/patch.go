package patch

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks/linediff"
)

// Head writes the extended header of one path, as `git diff --full-index --binary` has it.
func (d *Delta) Head(out *bytes.Buffer, f *object.Format) {
	fmt.Fprintf(out, "diff --git %s %s\n", quote.Path("a/"+cmp.Or(d.From, d.Path)), quote.Path("b/"+d.Path))
	switch {
	case d.Old.Mode == 0:
		fmt.Fprintf(out, "new file mode %06o\n", d.New.Mode)
	case d.New.Mode == 0:
		fmt.Fprintf(out, "deleted file mode %06o\n", d.Old.Mode)
	case d.Old.Mode != d.New.Mode:
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", d.Old.Mode, d.New.Mode)
	}
	if d.From != "" {
		fmt.Fprintf(out, "similarity index 100%%\nrename from %s\nrename to %s\n", quote.Path(d.From),
			quote.Path(d.Path))
	}
	if d.Old.OID == d.New.OID {
		return
	}
	name := func(x object.Digest) string {
		if x.IsZero() {
			return strings.Repeat("0", 2*f.Size)
		}
		return string(f.OID(x))
	}
	fmt.Fprintf(out, "index %s..%s", name(d.Old.OID), name(d.New.OID))
	if d.Old.Mode == d.New.Mode {
		fmt.Fprintf(out, " %06o", d.New.Mode)
	}
	out.WriteByte('\n')
}

// split returns the change as a patch holds it: a file that became a link, or the like, is one path that goes and one
// that comes.
func (d *Delta) split() []Delta {
	if d.Old.Mode == 0 || d.New.Mode == 0 || d.Old.Mode&disk.ModeType == d.New.Mode&disk.ModeType {
		return []Delta{*d}
	}
	return []Delta{{Path: d.Path, Old: d.Old}, {Path: d.Path, New: d.New}}
}

// Write appends the patch of one path and counts its lines.
func (d *Delta) Write(out *bytes.Buffer, f *object.Format, old, new []byte) (added, deleted int) {
	if both := d.split(); len(both) == 2 {
		_, deleted = both[0].Write(out, f, old, nil)
		added, _ = both[1].Write(out, f, nil, new)
		return added, deleted
	}
	d.Head(out, f)
	if IsBinary(old) || IsBinary(new) || bytes.Count(old, []byte{'\n'})+bytes.Count(new, []byte{'\n'}) > maxTextLines {
		writeBinary(out, old, new)
		return 0, 0
	}
	a, b := linediff.Split(old), linediff.Split(new)
	if len(a) == 0 && len(b) == 0 {
		return 0, 0
	}
	writeName := func(mark string, e Side) {
		name := "/dev/null"
		if e.Mode != 0 {
			name = quote.Path(mark + d.Path)
			if strings.Contains(name, " ") && name[0] != '"' {
				name += "\t" // so that a reader knows where the name ends
			}
		}
		out.WriteString(name + "\n")
	}
	out.WriteString("--- ")
	writeName("a/", d.Old)
	out.WriteString("+++ ")
	writeName("b/", d.New)
	gone, come := linediff.Lines(a, b)
	linediff.Unified(out, a, b, gone, come, func(line []byte) { writeLine(out, line) })
	for _, g := range gone {
		if g {
			deleted++
		}
	}
	for _, c := range come {
		if c {
			added++
		}
	}
	return added, deleted
}

func writeLine(out *bytes.Buffer, line []byte) {
	out.Write(line)
	if line[len(line)-1] != '\n' {
		out.WriteString("\n\\ No newline at end of file\n")
	}
}

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

package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/runs"
)

const (
	// maxPatchFile is the content of one file up to which its change is written into the patch. A
	// larger one stands in the commits only, and PatchErr says so.
	maxPatchFile = 64 << 20
	// maxTextLines is the number of lines up to which content is compared by line; beyond it is
	// written as a binary patch.
	maxTextLines = 1 << 20
)

// delta is one path of a change; mode 0 on a side means that it is not there.
type delta struct {
	path     string
	from     string // of a rename
	old, new entry
}

// describe fills in the files and the patch between what paths were and what they are.
func (t *Tree) describe(c *Change, were map[string]entry) error {
	var out bytes.Buffer
	var bad []error
	for _, d := range t.deltas(were) {
		file, section, err := t.describeFile(d)
		if err != nil {
			var p *patchError
			if !errors.As(err, &p) {
				return err
			}
			bad = append(bad, err)
		}
		c.Files = append(c.Files, file)
		out.Write(section)
	}
	c.Patch, c.PatchErr = out.Bytes(), errors.Join(bad...)
	return nil
}

// deltas lists what really differs, by path, with files that only moved as renames.
func (t *Tree) deltas(were map[string]entry) []delta {
	var out []delta
	for p, old := range were {
		d := delta{path: p, old: old}
		if e := t.root.find(p); e != nil && e.mode != 0 {
			d.new = *e
		}
		if d.old.mode != d.new.mode || d.old.oid != d.new.oid {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b delta) int { return strings.Compare(a.path, b.path) })
	return renames(out)
}

// renames pairs a path that went with one that came with the same content: of several the one with the same name, else
// the first. Empty files are not paired, nor paths that lie in one another, whose order in a patch would matter.
func renames(list []delta) []delta {
	went := map[digest][]int{}
	for i, d := range list {
		if d.new.mode == 0 && d.old.mode&modeType == modeFile {
			went[d.old.oid] = append(went[d.old.oid], i)
		}
	}
	if len(went) == 0 {
		return list
	}
	used := map[int]bool{}
	for i := range list {
		d := &list[i]
		if d.old.mode != 0 || d.new.mode&modeType != modeFile || d.new.st.size == 0 {
			continue
		}
		best := -1
		for _, j := range went[d.new.oid] {
			if used[j] || nests(list, list[j].path) || nests(list, d.path) {
				continue
			}
			if best < 0 || path.Base(list[best].path) != path.Base(d.path) && path.Base(list[j].path) == path.Base(d.path) {
				best = j
			}
		}
		if best >= 0 {
			used[best] = true
			d.from, d.old = list[best].path, list[best].old
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

// nests tells whether p is a folder of another path in the list, or another path is a folder of p.
func nests(list []delta, p string) bool {
	i, _ := slices.BinarySearchFunc(list, p+"/", func(d delta, q string) int { return strings.Compare(d.path, q) })
	if i < len(list) && strings.HasPrefix(list[i].path, p+"/") {
		return true
	}
	for up := path.Dir(p); up != "."; up = path.Dir(up) {
		if _, ok := slices.BinarySearchFunc(list, up, func(d delta, q string) int { return strings.Compare(d.path, q) }); ok {
			return true
		}
	}
	return false
}

// patchError is a change that the patch does not hold, or not rightly.
type patchError struct {
	path string
	msg  string
}

func (e *patchError) Error() string { return quote(e.path) + ": " + e.msg }

// describeFile makes the record and the patch of one path, and checks the patch.
func (t *Tree) describeFile(d delta) (f runs.ChangedFile, section []byte, err error) {
	f = runs.ChangedFile{Status: d.status(), OldBlob: string(t.fmt.oid(d.old.oid)), NewBlob: string(t.fmt.oid(d.new.oid))}
	f.Path, f.Quoted = shown(d.path)
	if d.from != "" {
		var quoted bool
		f.OldPath, quoted = shown(d.from)
		f.Quoted = f.Quoted || quoted
	}
	if d.old.mode != 0 {
		f.OldMode = fmt.Sprintf("%06o", d.old.mode)
	}
	if d.new.mode != 0 {
		f.NewMode = fmt.Sprintf("%06o", d.new.mode)
	}
	var out bytes.Buffer
	if d.old.oid == d.new.oid && d.old.mode&modeType == d.new.mode&modeType {
		f.Size = d.new.st.size
		d.head(&out, t.fmt)
		return f, out.Bytes(), nil
	}
	if err := t.notKept(d); err != nil {
		f.Binary, f.Size = true, d.new.st.size
		return f, nil, err
	}
	old, err := t.content(d.old)
	if err != nil {
		return f, nil, err
	}
	new, err := t.content(d.new)
	if err != nil {
		return f, nil, err
	}
	f.Size = int64(len(new))
	f.Binary = isBinary(old) || isBinary(new)
	if len(old) > maxPatchFile || len(new) > maxPatchFile {
		f.Binary = true
		return f, nil, &patchError{d.path, fmt.Sprintf("larger than %d MB: its change is in the commits, and not in the patch", maxPatchFile>>20)}
	}
	if d.old.mode != 0 && d.new.mode != 0 && d.old.mode&modeType != d.new.mode&modeType {
		// A file that became a link, or the like, is one path that goes and one that comes.
		gone, come := delta{path: d.path, old: d.old}, delta{path: d.path, new: d.new}
		_, f.Deleted = gone.write(&out, t.fmt, old, nil)
		f.Added, _ = come.write(&out, t.fmt, nil, new)
	} else {
		f.Added, f.Deleted = d.write(&out, t.fmt, old, new)
	}
	return f, out.Bytes(), d.verify(out.Bytes(), old, new)
}

func (d *delta) status() string {
	switch {
	case d.from != "":
		return "renamed"
	case d.old.mode == 0:
		return "added"
	case d.new.mode == 0:
		return "deleted"
	case d.old.mode&modeType != d.new.mode&modeType:
		return "type"
	case d.old.oid == d.new.oid:
		return "mode"
	}
	return "modified"
}

// content is what a patch shows of one side.
func (t *Tree) content(e entry) ([]byte, error) {
	switch e.mode {
	case 0:
		return nil, nil
	case modeGitlink:
		return fmt.Appendf(nil, "Subproject commit %s\n", t.fmt.oid(e.oid)), nil
	}
	return t.blob(e.oid)
}

// isBinary judges content as Git does.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

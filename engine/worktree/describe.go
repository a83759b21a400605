package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/patch"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/snapshot"
	"markmill/runs"
)

const (
	// maxPatchFile is the content of one file up to which its change is written into the patch. A
	// larger one stands in the commits only, and PatchErr says so.
	maxPatchFile = 64 << 20
)

// describe fills in the changed files and the patch; were says what paths were before.
func (t *Tree) describe(c *Change, were map[string]snapshot.Entry) error {
	var out bytes.Buffer
	var bad []error
	for _, d := range t.deltas(were) {
		file, section, err := t.describeFile(d)
		if err != nil {
			var p *patch.Error
			if !errors.As(err, &p) {
				return err
			}
			bad = append(bad, err)
		}
		c.Files = append(c.Files, file)
		out.Write(section)
	}
	c.Patch, c.PatchErr = out.Bytes(), inOneLine(bad)
	return nil
}

// inOneLine joins errors for a message, which is one line: the first three, and how many more there are.
func inOneLine(list []error) error {
	var words []string
	for _, err := range list[:min(len(list), 3)] {
		words = append(words, err.Error())
	}
	if more := len(list) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	if len(words) == 0 {
		return nil
	}
	return errors.New(strings.Join(words, "; "))
}

// deltas lists the paths that differ, sorted, with files that only moved as renames.
func (t *Tree) deltas(were map[string]snapshot.Entry) []patch.Delta {
	var out []patch.Delta
	for p, old := range were {
		d := patch.Delta{Path: p, Old: sideOf(old)}
		if e := t.root.Find(p); e != nil && e.Mode != 0 {
			d.New = sideOf(*e)
		}
		if d.Old.Mode != d.New.Mode || d.Old.OID != d.New.OID {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b patch.Delta) int { return strings.Compare(a.Path, b.Path) })
	return patch.Renames(out, true)
}

func sideOf(e snapshot.Entry) patch.Side {
	return patch.Side{Mode: e.Mode, OID: e.OID, Size: e.Stat.Size}
}

// describeFile returns the record and the patch of one path, and checks the patch.
func (t *Tree) describeFile(d patch.Delta) (f runs.ChangedFile, section []byte, err error) {
	f = runs.ChangedFile{Status: d.Status(), OldBlob: string(t.fmt.OID(d.Old.OID)),
		NewBlob: string(t.fmt.OID(d.New.OID))}
	f.Path, f.Quoted = quote.Shown(d.Path)
	if d.From != "" {
		var quoted bool
		f.OldPath, quoted = quote.Shown(d.From)
		f.Quoted = f.Quoted || quoted
	}
	if d.Old.Mode != 0 {
		f.OldMode = fmt.Sprintf("%06o", d.Old.Mode)
	}
	if d.New.Mode != 0 {
		f.NewMode = fmt.Sprintf("%06o", d.New.Mode)
	}
	var out bytes.Buffer
	if d.Old.OID == d.New.OID && d.Old.Mode&disk.ModeType == d.New.Mode&disk.ModeType {
		f.Size = d.New.Size
		d.Head(&out, t.fmt)
		return f, out.Bytes(), nil
	}
	if err := t.notKept(d); err != nil {
		f.Binary, f.Size = true, d.New.Size
		return f, nil, err
	}
	large := &patch.Error{Path: d.Path, Msg: fmt.Sprintf("larger than %d MB: its change is in the commits, and not in "+
		"the patch", maxPatchFile>>20)}
	if t.store.Known[d.New.OID] && d.New.Size > maxPatchFile {
		if f.Size = t.sizeOf(d.New.OID); f.Size > maxPatchFile {
			f.Binary = true
			return f, nil, large
		}
	}
	old, err := t.content(d.Old)
	if err != nil {
		return f, nil, err
	}
	new, err := t.content(d.New)
	if err != nil {
		return f, nil, err
	}
	f.Size = int64(len(new))
	f.Binary = patch.IsBinary(old) || patch.IsBinary(new)
	if len(old) > maxPatchFile || len(new) > maxPatchFile {
		f.Binary = true
		return f, nil, large
	}
	f.Added, f.Deleted = d.Write(&out, t.fmt, old, new)
	return f, out.Bytes(), d.Verify(out.Bytes(), old, new)
}

// content is what a patch shows of one side.
func (t *Tree) content(e patch.Side) ([]byte, error) {
	switch e.Mode {
	case 0:
		return nil, nil
	case disk.ModeGitlink:
		return fmt.Appendf(nil, "Subproject commit %s\n", t.fmt.OID(e.OID)), nil
	}
	return t.blob(e.OID)
}

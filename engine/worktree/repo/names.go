package repo

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/listing"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks"
)

// counting is what counts of a tree whose folders were listed.
type counting struct {
	view  *View
	of    []string // patterns of listing; nil is every name
	kinds map[string]listing.Kind
	holds map[object.Digest]bool // of trees: whether anything in them counts
	inner *counting
}

func (v *View) counting(of []string) *counting {
	if v.kinds == nil {
		v.kinds = map[string]listing.Kind{}
	}
	return &counting{view: v, of: of, kinds: v.kinds, holds: map[object.Digest]bool{}}
}

// Names returns the digest of the names in a folder that match the patterns of listing, nil for every name, without
// those of notebooks and of what runs left of them; "" where there is no folder. A folder in it counts if something
// does that is in it.
func (v *View) Names(name string, of []string) (digest string, err error) {
	if name = quote.Raw(name); !isPath(name) {
		return "", nil
	}
	entries, err := v.folder(name)
	if err != nil || len(entries) == 0 {
		return "", err
	}
	c := v.counting(of)
	var counted []object.TreeEntry
	if slices.Contains(of, listing.Tracked) {
		err := v.counting(nil).tracked(name, entries, func(e object.TreeEntry) { counted = append(counted, e) })
		return object.DigestNames(counted), err
	}
	for _, e := range entries {
		ok, err := c.counts(name, e, entries)
		if err != nil {
			return "", err
		}
		if ok {
			counted = append(counted, e)
		}
	}
	return object.DigestNames(counted), nil
}

// tracked visits all that counts below a folder, with its path.
func (c *counting) tracked(dir string, entries []object.TreeEntry, visit func(object.TreeEntry)) error {
	for _, e := range entries {
		at := path.Join(dir, e.Name)
		if e.Mode == disk.ModeDir {
			inner, err := c.below(dir, e, entries)
			if err == nil {
				err = c.tracked(at, inner, visit)
			}
			if err != nil {
				return err
			}
			continue
		}
		ok, err := c.counts(dir, e, entries)
		if err != nil {
			return err
		}
		if ok {
			e.Name = at
			visit(e)
		}
	}
	return nil
}

// Below returns the digest of all files below a folder that match the patterns of listing, with their modes, as Names
// does; "" where there is no folder.
func (v *View) Below(name string, of []string) (digest string, err error) {
	if name = quote.Raw(name); !isPath(name) {
		return "", nil
	}
	entries, err := v.folder(name)
	if err != nil || len(entries) == 0 {
		return "", err
	}
	id, err := v.counting(of).tree(name, entries)
	return string(v.files.src.Format.OID(id)), err
}

// inside is what counts in the folders of one.
func (c *counting) inside() *counting {
	if c.inner == nil {
		c.inner = c
		if of := listing.Inner(c.of); len(of) != len(c.of) {
			c.inner = c.view.counting(of)
		}
	}
	return c.inner
}

// tree is the name of the tree of what counts.
func (c *counting) tree(dir string, entries []object.TreeEntry) (object.Digest, error) {
	inside := c.inside()
	var counted []object.TreeEntry
	for _, e := range entries {
		if e.Mode == disk.ModeDir {
			inner, err := c.below(dir, e, entries)
			if err != nil || len(inner) == 0 {
				if err != nil {
					return object.Digest{}, err
				}
				continue
			}
			if e.OID, err = inside.tree(path.Join(dir, e.Name), inner); err != nil {
				return object.Digest{}, err
			}
			if e.OID == object.NameTree(c.view.files.src.Format, nil) {
				continue
			}
		} else if ok, err := c.counts(dir, e, entries); err != nil || !ok {
			if err != nil {
				return object.Digest{}, err
			}
			continue
		}
		counted = append(counted, e)
	}
	return object.NameTree(c.view.files.src.Format, counted), nil
}

// below are the entries of a folder; none of one that holds the pictures of an output.
func (c *counting) below(dir string, e object.TreeEntry, beside []object.TreeEntry) ([]object.TreeEntry, error) {
	if stem, ok := listing.OwnerOfFolder(e.Name); ok {
		for _, o := range beside {
			if o.Mode != disk.ModeDir && strings.TrimSuffix(o.Name, path.Ext(o.Name)) == stem {
				kind, err := c.kind(path.Join(dir, o.Name), o)
				if err != nil || kind == listing.Output {
					return nil, err
				}
			}
		}
	}
	return c.view.folder(path.Join(dir, e.Name))
}

// counts reports whether an entry of a folder counts.
func (c *counting) counts(dir string, e object.TreeEntry, beside []object.TreeEntry) (bool, error) {
	if e.Mode != disk.ModeDir {
		if e.Mode&disk.ModeType == disk.ModeLink { // it may lead to a folder
			return true, nil
		}
		if !listing.Match(c.of, e.Name) {
			return false, nil
		}
		kind, err := c.kind(path.Join(dir, e.Name), e)
		return kind == listing.Other, err
	}
	if c.of != nil && listing.Match(c.of, e.Name) {
		return true, nil
	}
	if holds, known := c.holds[e.OID]; known {
		return holds, nil
	}
	entries, err := c.below(dir, e, beside)
	if err != nil {
		return false, err
	}
	holds, inside := false, c.inside()
	for i := 0; i < len(entries) && !holds; i++ {
		if holds, err = inside.counts(path.Join(dir, e.Name), entries[i], entries); err != nil {
			return false, err
		}
	}
	c.holds[e.OID] = holds
	return holds, nil
}

// kind tells notebooks from other files. It reads those that may be some once.
func (c *counting) kind(name string, e object.TreeEntry) (listing.Kind, error) {
	if !listing.MayBeNotebook(e.Name) || !isFile(e.Mode) {
		return listing.Other, nil
	}
	id := e.Name[len(e.Name)-len(path.Ext(e.Name)):] + string(c.view.files.src.Format.OID(e.OID))
	if kind, known := c.kinds[id]; known {
		return kind, nil
	}
	text, err := c.view.text(name, e)
	if err != nil {
		return listing.Other, err
	}
	c.kinds[id] = listing.KindOf(e.Name, text)
	return c.kinds[id], nil
}

// KindOf tells what a file is to Markmill.
func (v *View) KindOf(name string) (listing.Kind, error) {
	name = quote.Raw(name)
	if !isPath(name) {
		return listing.Other, nil
	}
	beside, err := v.folder(path.Dir(name))
	if err != nil {
		return listing.Other, err
	}
	at := slices.IndexFunc(beside, func(e object.TreeEntry) bool { return e.Name == path.Base(name) })
	if at < 0 {
		return listing.Other, nil
	}
	return v.counting(nil).kind(name, beside[at])
}

// OfOutput reports whether a file is the output of a run, or one of its pictures.
func (v *View) OfOutput(name string) (bool, error) {
	kind, err := v.KindOf(name)
	for dir := path.Dir(quote.Raw(name)); err == nil && kind != listing.Output && dir != "."; dir = path.Dir(dir) {
		stem, ok := listing.OwnerOfFolder(dir)
		for _, ending := range []string{".md", ".ipynb"} {
			if ok && err == nil && kind != listing.Output {
				kind, err = v.KindOf(quote.Escaped(path.Join(path.Dir(dir), stem+ending)))
			}
		}
	}
	return kind == listing.Output, err
}

// text reads a file of the view.
func (v *View) text(name string, e object.TreeEntry) ([]byte, error) {
	if _, dirty := v.files.dirty[name]; dirty {
		if _, edited := v.edits[name]; !edited {
			return v.files.Read(name, maxNotebook)
		}
	}
	data, err := v.files.read("blob", e.OID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// maxNotebook is the largest file that may be a notebook.
const maxNotebook = 64 << 20

// Looked returns the files and folders that tools look for beside what was read, and that are there, without what was
// read itself.
func (v *View) Looked(read []notebooks.Input) (paths []string, err error) {
	known := map[string]bool{}
	files := map[string][]string{}
	for _, in := range read {
		name := quote.Raw(in.Path)
		switch {
		case in.Ignored:
		case in.Blob != "":
			known[name], files[name] = true, nil
		case in.Tree != "" && in.Of != nil:
			files[name] = in.Of
		}
	}
	for dir, patterns := range listing.Looked(files) {
		entries, err := v.folder(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name)
			if !known[name] && slices.ContainsFunc(patterns, func(p string) bool {
				ok, _ := path.Match(p, e.Name)
				return ok
			}) {
				paths = append(paths, quote.Escaped(name))
			}
		}
	}
	slices.Sort(paths)
	return paths, nil
}

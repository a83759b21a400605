package repo

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/listing"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks"
)

// View is a tree as Git would have it: that of Files, with the uncommitted files of a checkout, and with edits. It
// computes the names of the folders that differ and of no others. One goroutine may use it at a time.
type View struct {
	files  *Files
	edits  map[string]object.TreeEntry // by path; the zero entry is nothing
	below  map[string]map[string]bool  // of each folder with edits: the names in it that lead to one
	except map[string]bool
	memo   map[string][]object.TreeEntry // of the folders with edits
	kinds  map[string]listing.Kind       // of files that may be notebooks, by ending and blob
	attrs  *attributes                   // those of files, unless an edit is of a .gitattributes
}

// View returns the tree of the files.
func (f *Files) View() *View { return f.view(nil, nil) }

func (f *Files) view(edits map[string]object.TreeEntry, except []string) *View {
	v := &View{files: f, edits: edits, below: map[string]map[string]bool{}, except: map[string]bool{},
		memo: map[string][]object.TreeEntry{}, attrs: f.attrs}
	for p := range f.dirty {
		v.lead(p)
	}
	for p := range edits {
		v.lead(p)
		if path.Base(p) == attributesFile {
			v.attrs = newAttributes()
		}
	}
	for _, p := range except {
		if isPath(p) {
			v.except[p] = true
			v.lead(p)
		}
	}
	return v
}

// lead records the folders above a path that has an edit.
func (v *View) lead(p string) {
	for p = strings.TrimSuffix(p, "/"); p != "."; p = path.Dir(p) {
		dir := path.Dir(p)
		if v.below[dir] == nil {
			v.below[dir] = map[string]bool{}
		}
		v.below[dir][path.Base(p)] = true
	}
}

// Without returns the same tree with changes taken back, and without the paths of except and what is below them.
func (v *View) Without(except []string, changes []notebooks.ManifestChange) (*View, error) {
	edits := maps.Clone(v.edits)
	if edits == nil {
		edits = map[string]object.TreeEntry{}
	}
	for _, c := range changes {
		now, was := quote.Raw(c.Path), quote.Raw(c.Path)
		if c.OldPath != "" {
			was = quote.Raw(c.OldPath)
		}
		if !isPath(now) || !isPath(was) { // a manifest may name anything
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: c.Path, Msg: "the manifest names no path"}
		}
		edits[now] = object.TreeEntry{}
		if c.OldBlob == "" {
			continue
		}
		mode, err := strconv.ParseUint(c.OldMode, 8, 32)
		id, ok := v.files.src.Format.Parse(object.OID(c.OldBlob))
		if err != nil || !ok {
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: c.Path,
				Msg: "the manifest names a change of no file of this repository: " + c.OldMode + " " + c.OldBlob}
		}
		edits[was] = object.TreeEntry{Mode: uint32(mode), Name: path.Base(was), OID: id}
	}
	var raw []string
	for _, p := range except {
		raw = append(raw, quote.Raw(p))
	}
	for p := range v.except {
		raw = append(raw, p)
	}
	return v.files.view(edits, raw), nil
}

// Entry returns the blob and the mode of a file or link, "" where there is none.
func (v *View) Entry(name string) (blob, mode string, err error) {
	if name = quote.Raw(name); !isPath(name) {
		return "", "", nil
	}
	for up := name; up != "."; up = path.Dir(up) {
		if v.except[up] {
			return "", "", nil
		}
	}
	dir, base := path.Dir(name), path.Base(name)
	entries, err := v.files.folder(dir)
	if err != nil {
		return "", "", err
	}
	var e object.TreeEntry
	if v.below[dir][base] {
		e, err = v.edited(name, entries)
	} else if i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == base }); i >= 0 {
		e = entries[i] // the edits beside it need not be made into trees
	}
	if err != nil || e.Mode == 0 || e.Mode == disk.ModeDir {
		return "", "", err
	}
	return string(v.files.src.Format.OID(e.OID)), modeText(e.Mode), nil
}

// Folder returns the tree of a folder, "." for the root, and the digest of the names in it; "" where there is none.
func (v *View) Folder(name string) (tree, names string, err error) {
	if name = quote.Raw(name); !isPath(name) {
		return "", "", nil
	}
	entries, err := v.folder(name)
	if err != nil || len(entries) == 0 {
		return "", "", err
	}
	f := v.files.src.Format
	return string(f.OID(object.NameTree(f, entries))), object.DigestNames(entries), nil
}

// Ignored returns the blob of a file of the checkout that Git ignores, or of what is installed in a folder of
// dependencies; ok is false in a commit.
func (v *View) Ignored(name string) (blob string, ok bool, err error) {
	if v.files.disk == nil {
		return "", false, nil
	}
	name = quote.Raw(name)
	e, err := v.files.entryOnDisk(name)
	if err != nil || e.Mode == 0 {
		return "", true, err
	}
	return string(v.files.src.Format.OID(e.OID)), true, nil
}

// Root is the root of the checkout; ok is false in a commit.
func (v *View) Root() (dir string, ok bool) { return v.files.src.Root(), v.files.disk != nil }

// Paths calls visit for each file and link, in the order of a tree.
func (v *View) Paths(visit func(name, blob string)) error { return v.paths(".", visit) }

func (v *View) paths(dir string, visit func(name, blob string)) error {
	entries, err := v.folder(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		if e.Mode != disk.ModeDir {
			visit(name, string(v.files.src.Format.OID(e.OID)))
		} else if err := v.paths(name, visit); err != nil {
			return err
		}
	}
	return nil
}

// folder returns the entries of a folder, sorted as in a tree.
func (v *View) folder(dir string) ([]object.TreeEntry, error) {
	if entries, ok := v.memo[dir]; ok {
		return entries, nil
	}
	for up := dir; up != "."; up = path.Dir(up) {
		if v.except[up] {
			return nil, nil
		}
	}
	entries, err := v.files.folder(dir)
	edited := v.below[dir]
	if err != nil || len(edited) == 0 {
		return entries, err
	}
	var out []object.TreeEntry
	for _, e := range entries {
		if !edited[e.Name] {
			out = append(out, e)
		}
	}
	for name := range edited {
		e, err := v.edited(path.Join(dir, name), entries)
		if err != nil {
			return nil, err
		}
		if e.Mode != 0 {
			out = append(out, e)
		}
	}
	object.SortTree(out)
	v.memo[dir] = out
	return out, nil
}

// edited is the entry of a path that has an edit, or that has one below it.
func (v *View) edited(name string, was []object.TreeEntry) (object.TreeEntry, error) {
	if v.except[name] {
		return object.TreeEntry{}, nil
	}
	if len(v.below[name]) > 0 {
		entries, err := v.folder(name)
		if err != nil {
			return object.TreeEntry{}, err
		}
		if len(entries) > 0 {
			return object.TreeEntry{Mode: disk.ModeDir, Name: path.Base(name),
				OID: object.NameTree(v.files.src.Format, entries)}, nil
		}
	}
	if e, ok := v.edits[name]; ok {
		return e, nil
	}
	if _, ok := v.files.dirty[name]; ok {
		return v.files.entryOnDisk(name)
	}
	for _, e := range was {
		if e.Name == path.Base(name) && e.Mode != disk.ModeDir {
			return e, nil
		}
	}
	return object.TreeEntry{}, nil
}

// Commit is that of the tree; "" of a tree without one.
func (v *View) Commit() object.OID { return v.files.Commit }

package repo

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

// Files are the regular files of a commit, or of the checkout as it is. One goroutine may use them at a time.
type Files struct {
	src  *Repo
	root object.Digest // the tree of the commit; of the checkout that of HEAD
	// Commit is that of the tree, of the checkout HEAD; "" of a tree without one.
	Commit object.OID
	trees  map[object.Digest][]object.TreeEntry // read so far
	// Of the checkout: what differs from HEAD. true is a file that is there, false one that is not.
	dirty map[string]bool
	disk  *os.Root // nil of a commit
	// Of the checkout: what was read of the files on disk.
	hashed map[string]object.TreeEntry
	attrs  *attributes
	read   func(kind string, d object.Digest) ([]byte, error)
}

// TreeFiles are the files of a tree. read reads its objects.
func (s *Repo) TreeFiles(root object.Digest, read func(kind string, d object.Digest) ([]byte, error)) *Files {
	return &Files{src: s, root: root, trees: map[object.Digest][]object.TreeEntry{}, read: read,
		attrs: newAttributes()}
}

// CommitFiles are the files of a commit.
func (s *Repo) CommitFiles(commit object.OID) (*Files, error) {
	id, ok := s.Format.Parse(commit)
	if !ok {
		return nil, fmt.Errorf("%q is no commit", commit)
	}
	root, err := s.TreeOf(id)
	if err != nil {
		return nil, err
	}
	files := s.TreeFiles(root, s.Read)
	files.Commit = commit
	return files, nil
}

// Close releases the checkout.
func (f *Files) Close() error {
	if f.disk == nil {
		return nil
	}
	return f.disk.Close()
}

// Uncommitted lists the paths of the checkout that differ from HEAD; none of a commit.
func (f *Files) Uncommitted() []string { return slices.Sorted(maps.Keys(f.dirty)) }

// tree reads the entries of a tree, once.
func (f *Files) tree(id object.Digest) ([]object.TreeEntry, error) {
	if entries, ok := f.trees[id]; ok {
		return entries, nil
	}
	data, err := f.read("tree", id)
	if err != nil {
		return nil, err
	}
	entries, err := object.ParseTree(f.src.Format, data)
	if err != nil {
		return nil, err
	}
	f.trees[id] = entries
	return entries, nil
}

// folder finds the entries of a folder of the tree; "" and "." are the top. A folder that is not there has none.
func (f *Files) folder(dir string) ([]object.TreeEntry, error) {
	if dir == "" || dir == "." {
		return f.tree(f.root)
	}
	e, err := f.at(dir)
	if err != nil || e.Mode != disk.ModeDir {
		return nil, err
	}
	return f.tree(e.OID)
}

// at is the entry of a path of the tree; the zero entry where nothing stands.
func (f *Files) at(name string) (object.TreeEntry, error) {
	if !isPath(name) {
		return object.TreeEntry{}, nil
	}
	entries, err := f.folder(path.Dir(name))
	if err != nil {
		return object.TreeEntry{}, err
	}
	for _, e := range entries {
		if e.Name == path.Base(name) {
			return e, nil
		}
	}
	return object.TreeEntry{}, nil
}

// isPath reports whether a name can be that of something in a tree. Manifests, which may name anything, are looked up.
func isPath(name string) bool {
	return name == path.Clean(name) && filepath.IsLocal(filepath.FromSlash(name))
}

// isFile reports whether a mode is that of a regular file. Old versions of Git wrote group-writable ones.
func isFile(mode uint32) bool { return mode&0o170000 == 0o100000 }

// In lists the names of the regular files in a folder, sorted; "" is the top.
func (f *Files) In(dir string) ([]string, error) {
	entries, err := f.folder(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isFile(e.Mode) {
			if there, known := f.dirty[path.Join(dir, e.Name)]; there || !known {
				names = append(names, e.Name)
			}
		}
	}
	for p, there := range f.dirty {
		if there && (path.Dir(p) == dir || dir == "" && path.Dir(p) == ".") {
			names = append(names, path.Base(p))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// All lists the paths of all regular files whose name want accepts, sorted.
func (f *Files) All(want func(name string) bool) ([]string, error) {
	var paths []string
	var walk func(id object.Digest, dir string) error
	walk = func(id object.Digest, dir string) error {
		entries, err := f.tree(id)
		if err != nil {
			return err
		}
		for _, e := range entries {
			switch at := path.Join(dir, e.Name); {
			case e.Mode == disk.ModeDir:
				if err := walk(e.OID, at); err != nil {
					return err
				}
			case isFile(e.Mode) && want(e.Name):
				if there, known := f.dirty[at]; there || !known {
					paths = append(paths, at)
				}
			}
		}
		return nil
	}
	if err := walk(f.root, ""); err != nil {
		return nil, err
	}
	for p, there := range f.dirty {
		if there && want(path.Base(p)) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Read reads a regular file of at most that many bytes. A missing one is fs.ErrNotExist; a larger one is an *Error of
// package notebooks.
func (f *Files) Read(name string, most int64) ([]byte, error) {
	if there, known := f.dirty[name]; known {
		if !there {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return f.readDisk(name, most)
	}
	e, err := f.at(name)
	if err != nil {
		return nil, err
	}
	if !isFile(e.Mode) {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return f.src.blob(name, e.OID, most)
}

func (f *Files) readDisk(name string, most int64) ([]byte, error) {
	file, err := f.disk.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = errTooLarge(name, most)
	}
	return data, err
}

func errTooLarge(name string, most int64) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: name,
		Msg: fmt.Sprintf("has more than %d bytes, the most that a notebook has", most)}
}

// blob reads a blob, unless it is too large.
func (s *Repo) blob(name string, id object.Digest, most int64) ([]byte, error) {
	data, err := s.Read("blob", id)
	if err == nil && int64(len(data)) > most {
		err = errTooLarge(name, most)
	}
	return data, err
}

// FilesOnDisk are the files of a commit, of which those at the paths of dirty are as they are on disk. Close releases
// it.
func (s *Repo) FilesOnDisk(commit object.OID, dirty []string) (*Files, error) {
	f, err := s.CommitFiles(commit)
	if err != nil {
		return nil, err
	}
	if f.disk, err = os.OpenRoot(s.root); err != nil {
		return nil, err
	}
	f.dirty, f.hashed = map[string]bool{}, map[string]object.TreeEntry{}
	for _, p := range dirty {
		info, err := f.disk.Lstat(filepath.FromSlash(p))
		f.dirty[p] = err == nil && info.Mode().IsRegular()
	}
	return f, nil
}

// Modes of the entries that File reads.
const (
	fileMode   = disk.ModeFile | 0o644
	scriptMode = disk.ModeFile | 0o755
)

// File reads a file of a commit. The path is slash-separated. A missing file is fs.ErrNotExist; a symbolic link, a
// folder or a submodule in its place is another error.
func (s *Repo) File(commit object.OID, path string) ([]byte, error) {
	files, err := s.CommitFiles(commit)
	if err != nil {
		return nil, err
	}
	entry, err := files.at(path)
	switch {
	case err != nil:
		return nil, err
	case entry.Mode == 0:
		return nil, fmt.Errorf("%s in commit %s: %w", path, commit, fs.ErrNotExist)
	case entry.Mode == disk.ModeDir:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: path,
			Msg:  fmt.Sprintf("is a folder in commit %s, and a file is expected", commit),
			Hint: "name a file in it, as REV:" + path + "/task.md"}
	case entry.Mode != fileMode && entry.Mode != scriptMode:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: path,
			Msg: fmt.Sprintf("is no regular file in commit %s", commit), Hint: "commit it as one"}
	}
	return s.Read("blob", entry.OID)
}

// Email is the user's address in Git's configuration, or "".
func (s *Repo) Email() string {
	email, _ := s.Config.Get("user", "", "email")
	return email
}

package worktree

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/notebooks"
)

// Files are the regular files of a commit, or of the checkout as it stands. They are for one goroutine.
type Files struct {
	src   *Source
	root  digest                 // the tree of the commit; of the checkout that of HEAD
	trees map[digest][]treeEntry // read so far
	// Of the checkout: what differs from HEAD. true is a file that is there, false one that is not.
	dirty map[string]bool
	disk  *os.Root // nil of a commit
}

// CommitFiles are the files of a commit.
func (s *Source) CommitFiles(commit OID) (*Files, error) {
	id, ok := s.fmt.parse(commit)
	if !ok {
		return nil, fmt.Errorf("%q is no commit", commit)
	}
	root, err := s.treeOf(id)
	if err != nil {
		return nil, err
	}
	return &Files{src: s, root: root, trees: map[digest][]treeEntry{}}, nil
}

// CheckoutFiles are the files of the checkout that Git has or would take up: those of HEAD as they are on disk, and
// untracked ones that are not ignored. Close gives it back.
func (s *Source) CheckoutFiles(ctx context.Context) (*Files, error) {
	head, err := s.Resolve("HEAD")
	if err != nil {
		return nil, err
	}
	f, err := s.CommitFiles(head)
	if err != nil {
		return nil, err
	}
	paths, err := s.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	if f.disk, err = os.OpenRoot(s.root); err != nil {
		return nil, err
	}
	f.dirty = map[string]bool{}
	for _, p := range paths {
		info, err := f.disk.Lstat(filepath.FromSlash(p))
		f.dirty[p] = err == nil && info.Mode().IsRegular()
	}
	return f, nil
}

// Close ends the use of a checkout's files.
func (f *Files) Close() error {
	if f.disk == nil {
		return nil
	}
	return f.disk.Close()
}

// tree reads the entries of a tree, once.
func (f *Files) tree(id digest) ([]treeEntry, error) {
	if entries, ok := f.trees[id]; ok {
		return entries, nil
	}
	data, err := f.src.read("tree", id)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(f.src.fmt, data)
	if err != nil {
		return nil, err
	}
	f.trees[id] = entries
	return entries, nil
}

// folder finds the entries of a folder of the tree; "" is the top. A folder that is not there has none.
func (f *Files) folder(dir string) ([]treeEntry, error) {
	if dir == "" {
		return f.tree(f.root)
	}
	e, err := f.at(dir)
	if err != nil || e.mode != modeDir {
		return nil, err
	}
	return f.tree(e.oid)
}

// at is the entry of a path of the tree; the zero entry where nothing stands.
func (f *Files) at(name string) (treeEntry, error) {
	entries, err := f.folder(strings.TrimPrefix(path.Dir(name), "."))
	if err != nil {
		return treeEntry{}, err
	}
	for _, e := range entries {
		if e.name == path.Base(name) {
			return e, nil
		}
	}
	return treeEntry{}, nil
}

// isFile says that a mode is that of a regular file. Old versions of Git wrote group-writable ones.
func isFile(mode uint32) bool { return mode&0o170000 == 0o100000 }

// In lists the names of the regular files in a folder, sorted; "" is the top.
func (f *Files) In(dir string) ([]string, error) {
	entries, err := f.folder(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isFile(e.mode) {
			if there, known := f.dirty[path.Join(dir, e.name)]; there || !known {
				names = append(names, e.name)
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

// All lists the paths of all regular files whose name want takes, sorted.
func (f *Files) All(want func(name string) bool) ([]string, error) {
	var paths []string
	var walk func(id digest, dir string) error
	walk = func(id digest, dir string) error {
		entries, err := f.tree(id)
		if err != nil {
			return err
		}
		for _, e := range entries {
			switch at := path.Join(dir, e.name); {
			case e.mode == modeDir:
				if err := walk(e.oid, at); err != nil {
					return err
				}
			case isFile(e.mode) && want(e.name):
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

// Read reads a regular file of at most so many bytes. One that is not there is fs.ErrNotExist; one that is larger is an
// *Error of package notebooks.
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
	if !isFile(e.mode) {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return f.src.blob(name, e.oid, most)
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
	return &notebooks.Error{Kind: notebooks.KindInput, File: name, Msg: fmt.Sprintf("has more than %d bytes, the most that a notebook has", most)}
}

// blob reads a blob, unless it is too large.
func (s *Source) blob(name string, id digest, most int64) ([]byte, error) {
	data, err := s.read("blob", id)
	if err == nil && int64(len(data)) > most {
		err = errTooLarge(name, most)
	}
	return data, err
}

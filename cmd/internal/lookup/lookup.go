// Package lookup reads what a word names: a notebook, a path of a Git revision (REV:PATH), a run that is kept, or a
// folder of notebooks. It gives documents that can be compared (Side, Folder, CompareFolders) and scraps (Scraps).
//
// What always holds: nothing is written, and a read is bounded in bytes. It may import everything but cmd/cmdtest.
package lookup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/render/documents"
	"markmill/runs"
)

// Reader reads what words name. Its zero value reads files and run directories, and finds no kept run by its id.
type Reader struct {
	In   files.Folder // where words name files
	Most int64        // bytes of a notebook of a revision; 0 is any number
	// Store gives the store of the runs that ids and "last" name.
	Store func() (runs.Store, error)
	// Read reads a file; nil is files.Notebook.
	Read func(path string) ([]byte, error)
	// Stream reports whether a word is no path but something else that Read understands, such as - or an address; nil
	// is never.
	Stream func(word string) bool
	// Name is how messages call a path; nil is filepath.ToSlash.
	Name func(path string) string
}

func (r Reader) read(path string) ([]byte, error) {
	if r.Read == nil {
		return files.Notebook(r.In.Path(path))
	}
	return r.Read(path)
}

func (r Reader) stream(word string) bool { return r.Stream != nil && r.Stream(word) }

func (r Reader) name(path string) string {
	if r.Name == nil {
		return filepath.ToSlash(path)
	}
	return r.Name(path)
}

// find loads the run that an id, a part of one or "last" names.
func (r Reader) find(word string) (dir string, err error) {
	if r.Store == nil {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: word,
			Msg: "is no file, and no store of runs is open"}
	}
	store, err := r.Store()
	if err != nil {
		return "", err
	}
	_, dir, err = store.Find(word)
	return dir, err
}

// Record opens the record that a word names: a run directory, a tar archive of one, or a run that is kept.
func (r Reader) Record(word string) (*runs.Record, error) {
	if _, err := os.Stat(r.In.Path(word)); err == nil || looksLikePath(word) {
		return runs.OpenRecord(r.In.Path(word))
	}
	dir, err := r.find(word)
	return runs.At(dir), err
}

// Side is one side of a comparison.
type Side struct {
	Doc    *diff.Document
	Source []byte // of a notebook; nil of a run
}

// Side reads the notebook or run that a word names.
func (r Reader) Side(word string) (Side, error) {
	at := r.In.Path(word)
	info, err := os.Stat(at)
	switch {
	case r.stream(word) || err == nil && !info.IsDir():
		src, err := r.read(word)
		if err != nil {
			return Side{}, err
		}
		var beside documents.Files
		if !r.stream(word) {
			beside = FilesBeside(at)
		}
		doc, err := documents.Read(r.name(word), src, beside)
		return Side{doc, src}, err
	case err == nil:
		side, err := runSide(r.name(word), at)
		if errors.Is(err, fs.ErrNotExist) {
			return Side{}, r.bad(word, "is a directory and holds no run (%s is not in it); name a notebook in it",
				runs.JournalFile)
		}
		return side, err
	}
	if rev, path, ok := strings.Cut(word, ":"); ok && rev != "" && path != "" {
		return r.revisionSide(word, rev, path)
	}
	if looksLikePath(word) {
		_, err := r.read(word)
		return Side{}, err
	}
	dir, err := r.find(word)
	if err != nil {
		return Side{}, err
	}
	return runSide("", dir)
}

// looksLikePath reports whether a word that names no file is rather a missing file than a run.
func looksLikePath(word string) bool {
	return filepath.Ext(word) != "" || strings.ContainsAny(word, `/\`)
}

func (r Reader) bad(path, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: r.name(path), Msg: fmt.Sprintf(format, args...)}
}

// runSide reads a run directory; "" names the run by its id.
func runSide(name, dir string) (Side, error) {
	run, src, err := runs.At(dir).Load()
	if err != nil {
		return Side{}, err
	}
	if name == "" {
		name = string(run.ID)
	}
	doc, err := documents.Run(name, run, src, runs.At(dir))
	return Side{doc, nil}, err
}

// FilesBeside reads the files in the folder of a notebook and below it, of the size of a notebook at most.
func FilesBeside(notebook string) documents.Files {
	return func(file string) ([]byte, error) {
		root, err := os.OpenRoot(filepath.Dir(notebook))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		info, err := root.Stat(filepath.FromSlash(file))
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() > files.MaxNotebook {
			return nil, fmt.Errorf("%s is no regular file, or larger than a notebook may be", file)
		}
		return root.ReadFile(filepath.FromSlash(file))
	}
}

// revisionSide reads a path of a revision.
func (r Reader) revisionSide(word, rev, name string) (Side, error) {
	repo, commit, name, err := r.revisionPath(rev, name)
	if err != nil {
		return Side{}, err
	}
	src, err := r.fileOf(repo, commit, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Side{}, notInRevision(rev, name)
	}
	if err != nil {
		return Side{}, err
	}
	beside := func(file string) ([]byte, error) { return r.fileOf(repo, commit, path.Join(path.Dir(name), file)) }
	doc, err := documents.Read(word, src, beside)
	return Side{doc, src}, err
}

// fileOf reads a file of a commit.
func (r Reader) fileOf(repo *worktree.Source, commit worktree.OID, name string) ([]byte, error) {
	src, err := repo.File(commit, name)
	if err == nil && r.Most > 0 && int64(len(src)) > r.Most {
		err = r.bad(name, "has %d bytes, and at most %d are read", len(src), r.Most)
	}
	return src, err
}

func notInRevision(rev, path string) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: path, Msg: "is not in " + rev,
		Hint: "`git ls-tree -r " + rev + "` lists its files; the path is relative to the top of the repository, " +
			"or with ./ to here"}
}

// revisionPath resolves the commit of REV:PATH, and the path from the top of the repository; "" is the top itself.
func (r Reader) revisionPath(rev, name string) (*worktree.Source, worktree.OID, string, error) {
	wd, err := r.In.Absolute()
	if err != nil {
		return nil, "", "", err
	}
	repo, err := worktree.Open(wd)
	if err != nil {
		return nil, "", "", err
	}
	if rest, relative := strings.CutPrefix(name, "./"); relative || name == "." || strings.HasPrefix(name, "../") {
		if !relative {
			rest = name
		}
		if name, err = below(repo.Root(), filepath.Join(wd, filepath.FromSlash(rest))); err != nil {
			return nil, "", "", err
		}
	}
	if name = path.Clean(name); name == "." {
		name = ""
	}
	commit, err := repo.Resolve(rev)
	return repo, commit, name, err
}

// below is a path relative to the root of the repository.
func below(root, path string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil { // a folder that only the revision has
		real = filepath.Dir(path)
	}
	rel, err := filepath.Rel(root, filepath.Join(real, filepath.Base(path)))
	if err != nil || !filepath.IsLocal(rel) {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: path, Msg: "is outside of the repository " + root}
	}
	return filepath.ToSlash(rel), nil
}

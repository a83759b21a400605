package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/percent"
)

// File is a file that the caller named, or that was found in a folder.
type File struct {
	Path  string
	Named bool // by the caller, by itself
}

// Find lists the files that paths name: files, folders (all notebooks below them), and patterns such as *.md, for
// shells that do not expand them. Of a folder it lists no hidden folders and no node_modules; a script counts only when
// it has cells.
func Find(paths []string) (found []File, err error) {
	seen := map[string]bool{}
	add := func(path string, named bool) {
		if abs := Absolute(path); !seen[abs] {
			seen[abs] = true
			found = append(found, File{path, named})
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		matches := []string{path}
		switch pattern := IsPattern(path); {
		case pattern && strings.Contains(path, "**"):
			return nil, fmt.Errorf("%s: ** is not supported; name the folder, and all of it is searched", path)
		case pattern:
			if matches, err = filepath.Glob(path); err != nil || len(matches) == 0 {
				return nil, fmt.Errorf("no file matches %s", path)
			}
		case err != nil:
			return nil, err
		case !info.IsDir():
			add(path, true)
			continue
		}
		for _, match := range matches {
			if err := walk(match, func(path string) { add(path, false) }); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// IsPattern reports whether a path is a pattern, and not a file with such a name.
func IsPattern(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[")
}

// walk calls add for every notebook at or below a path.
func walk(root string, add func(path string)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir():
		case notebooks.IsMarkdownName(path), notebooks.IsJupyterName(path), hasCells(path):
			add(path)
		}
		return nil
	})
}

// hasCells reports whether a file is a script with cells. A script without cells is a notebook only when it is named.
func hasCells(path string) bool {
	lang, ok := percent.LanguageOf(path)
	if info, err := os.Stat(path); !ok || err != nil || !info.Mode().IsRegular() || info.Size() > MaxNotebook {
		return false
	}
	src, err := os.ReadFile(path)
	return err == nil && percent.Marked(lang, src)
}

// WithoutIgnored removes the files that Git ignores, of files found in a folder. Outside a repository, and in one
// without a commit, Git ignores nothing.
func WithoutIgnored(ctx context.Context, folder string, found []File) []File {
	repo, err := worktree.Open(Absolute(folder))
	if err != nil {
		return found
	}
	checkout, err := repo.CheckoutFiles(ctx)
	if err != nil {
		return found
	}
	defer checkout.Close()
	known, err := checkout.All(func(string) bool { return true })
	if err != nil {
		return found
	}
	root, err := filepath.EvalSymlinks(repo.Root())
	if err != nil {
		return found
	}
	return slices.DeleteFunc(found, func(f File) bool {
		real, err := filepath.EvalSymlinks(Absolute(f.Path))
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(root, real)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		_, ok := slices.BinarySearch(known, filepath.ToSlash(rel))
		return !ok
	})
}

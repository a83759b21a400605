package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"markmill/cmd/internal/child"
	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
)

// inside is child.Root.Inside for the root of the server.
func (s *server) inside(name string) (string, error) { return child.Root(s.root).Inside(name) }

// existing is inside for a file that is there.
func (s *server) existing(name string) (string, error) {
	rel, err := s.inside(name)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(filepath.Join(s.root, rel)); err != nil {
		return "", fmt.Errorf("there is no file %s in %s", plain.OneLine(rel), s.root)
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", plain.OneLine(rel))
	}
	return rel, nil
}

// These are the words by which the command line names a run or a revision.
var (
	runWord      = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)
	revisionWord = lazyregexp.New(`^[A-Za-z0-9_@][A-Za-z0-9_./@^~{}+=-]{0,199}$`)
)

// run returns the word for a run: an id, a part of one, or last. A file of that name would be read in its place.
func (s *server) run(word string) (string, error) {
	if word == "" {
		return "last", nil
	}
	if !runWord.MatchString(word) {
		return "", fmt.Errorf("%s names no run; give an id, a part of one, or last",
			plain.OneLine(plain.Cut(word, 200)))
	}
	if _, err := os.Lstat(filepath.Join(s.root, word)); err == nil {
		return "", fmt.Errorf("%s names a file, too; give the whole id of the run", word)
	}
	return word, nil
}

// named is a run, or else a file below the root.
func (s *server) named(word string) (string, error) {
	if runWord.MatchString(word) {
		if _, err := os.Lstat(filepath.Join(s.root, word)); os.IsNotExist(err) {
			return word, nil
		}
	}
	return s.existing(word)
}

// compared is a run, a file, or a file of a revision, as REV:PATH.
func (s *server) compared(word string) (string, error) {
	if rev, path, is := strings.Cut(word, ":"); is && revisionWord.MatchString(rev) && filepath.IsLocal(path) {
		return word, nil
	}
	return s.named(word)
}

func revision(word string) (string, error) {
	if !revisionWord.MatchString(word) {
		return "", fmt.Errorf("%s names no revision of Git", plain.OneLine(plain.Cut(word, 200)))
	}
	return word, nil
}

func steps(ids []string) ([]string, error) {
	for _, id := range ids {
		if !notebooks.IsID(id) {
			return nil, fmt.Errorf("%s is no id of a step", plain.OneLine(plain.Cut(id, 200)))
		}
	}
	return ids, nil
}

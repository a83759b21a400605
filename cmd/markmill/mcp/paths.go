package mcp

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/plain"
)

// inside returns a path that the client named, relative to the root. It refuses what leads out of the root, symbolic
// links, Git's and Markmill's own folders, and names that the command line reads as something else.
func (s *server) inside(name string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", fmt.Errorf("the path %s %s; give one below %s", plain.OneLine(plain.Cut(name, 200)), why, s.root)
	}
	switch {
	case name == "" || name == "-":
		return refuse("names no file")
	case strings.ContainsAny(name, "\x00{}*?[]") || strings.Contains(name, "://"):
		return refuse("stands for something else")
	}
	rel := filepath.FromSlash(name)
	if filepath.IsAbs(rel) {
		var err error
		if rel, err = filepath.Rel(s.root, rel); err != nil {
			return refuse("is outside")
		}
	}
	if rel = filepath.Clean(rel); !filepath.IsLocal(rel) {
		return refuse("is outside")
	}
	at := s.root
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, ".markmill") {
			return refuse("is in a folder of Git's or Markmill's own")
		}
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return refuse("goes through a symbolic link")
		}
	}
	if strings.HasPrefix(rel, "-") || strings.Contains(rel, ":") {
		rel = "." + string(filepath.Separator) + rel // neither an option, nor an address, nor REV:PATH
	}
	return rel, nil
}

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

// output is inside for the output notebook of a run. A file that is there must be the output of a run already, or the
// notebook itself.
func (s *server) output(name, notebook string) (string, error) {
	rel, err := s.inside(name)
	if err != nil {
		return "", err
	}
	if form := notebooks.FormOfName(rel); form != notebooks.FormNative && form != notebooks.FormJupyter {
		return "", fmt.Errorf("an output notebook ends in .md or .ipynb, and %s does not", plain.OneLine(rel))
	}
	src, err := os.ReadFile(filepath.Join(s.root, rel))
	if os.IsNotExist(err) || rel == notebook {
		return rel, nil
	}
	if err != nil {
		return "", err
	}
	if notebooks.IsJupyterName(rel) {
		if nb, err := ipynb.Parse(rel, src); err == nil && nb.Manifest() != nil {
			return rel, nil
		}
	} else if region.Strip(rel, src).Manifest != nil {
		return rel, nil
	}
	return "", fmt.Errorf("%s is there and is no output of a run; give another output", plain.OneLine(rel))
}

// These are the words by which the command line names a run or a revision.
var (
	runWord      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)
	revisionWord = regexp.MustCompile(`^[A-Za-z0-9_@][A-Za-z0-9_./@^~{}+=-]{0,199}$`)
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

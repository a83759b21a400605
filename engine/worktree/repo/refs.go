package repo

import (
	"io/fs"
	"maps"
	"markmill/engine/worktree/disk"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Ref is a branch, a tag or a remote's branch of the source.
type Ref struct {
	Name   string
	OID    string // or "ref: name"
	Peeled string // of an annotated tag, where packed-refs says so
}

// Refs lists the source's refs by name. A linked worktree's own ones (refs/bisect, refs/worktree) are not among them.
func (s *Repo) Refs() ([]Ref, error) {
	byName := map[string]Ref{}
	last := ""
	for _, line := range readLines(filepath.Join(s.common, "packed-refs")) {
		if peeled, ok := strings.CutPrefix(line, "^"); ok {
			r := byName[last]
			r.Peeled = peeled
			byName[last] = r
		} else if oid, name, ok := strings.Cut(line, " "); ok && oid != "#" {
			byName[name] = Ref{Name: name, OID: oid}
			last = name
		}
	}
	top := filepath.Join(s.common, "refs")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			if disk.Gone(err) {
				return nil // removed meanwhile
			}
			return err
		}
		rel, err := filepath.Rel(s.common, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			if disk.Gone(err) {
				return nil
			}
			return err
		}
		name := filepath.ToSlash(rel)
		byName[name] = Ref{Name: name, OID: strings.TrimSpace(string(data))}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Ref) int { return strings.Compare(a.Name, b.Name) }), nil
}

// readLines gives the lines of a small file, none when it is missing.
func readLines(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// Branches lists the names of the branches, those of remotes, and the tags, for completion: what cannot be read is left
// out.
func (s *Repo) Branches() []string {
	refs, err := s.Refs()
	if err != nil {
		return nil
	}
	var out []string
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		for _, r := range refs {
			if name, ok := strings.CutPrefix(r.Name, prefix); ok && !strings.HasSuffix(name, "/HEAD") {
				out = append(out, name)
			}
		}
	}
	return out
}

// RunRefPrefix is where a run's last commit stands: in its bundle, and in a repository that Fetch wrote it to.
const RunRefPrefix = "refs/markmill/runs/"

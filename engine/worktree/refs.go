package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ref is a branch, a tag or a remote's branch of the source.
type ref struct {
	name   string
	oid    string // or "ref: name"
	peeled string // of an annotated tag, where packed-refs says so
}

// refs lists the source's refs by name. A linked worktree's own ones (refs/bisect, refs/worktree) are not among them.
func (s *Source) refs() ([]ref, error) {
	byName := map[string]ref{}
	last := ""
	for _, line := range readLines(filepath.Join(s.common, "packed-refs")) {
		if peeled, ok := strings.CutPrefix(line, "^"); ok {
			r := byName[last]
			r.peeled = peeled
			byName[last] = r
		} else if oid, name, ok := strings.Cut(line, " "); ok && oid != "#" {
			byName[name] = ref{name: name, oid: oid}
			last = name
		}
	}
	top := filepath.Join(s.common, "refs")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			if gone(err) {
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
			if gone(err) {
				return nil
			}
			return err
		}
		name := filepath.ToSlash(rel)
		byName[name] = ref{name: name, oid: strings.TrimSpace(string(data))}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]ref, 0, len(byName))
	for _, r := range byName {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b ref) int { return strings.Compare(a.name, b.name) })
	return out, nil
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
func (s *Source) Branches() []string {
	refs, err := s.refs()
	if err != nil {
		return nil
	}
	var out []string
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		for _, r := range refs {
			if name, ok := strings.CutPrefix(r.name, prefix); ok && !strings.HasSuffix(name, "/HEAD") {
				out = append(out, name)
			}
		}
	}
	return out
}

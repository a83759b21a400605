package repo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v6/plumbing"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks"
)

// Resolve finds the commit that a revision names; an annotated tag is peeled.
func (s *Repo) Resolve(rev string) (object.OID, error) {
	if rev == "HEAD" {
		if o, err := s.Head(); o != "" || err != nil {
			return o, err
		}
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: "HEAD has no commit yet",
			Hint: "commit something first, or run without a base"}
	}
	repo, err := s.git()
	if err != nil {
		return "", err
	}
	// go-git does not know every spelling ("branch@{upstream}"), and takes HEAD@{1} for HEAD: Git knows them.
	if !strings.Contains(rev, "@{") {
		if h, err := repo.ResolveRevision(plumbing.Revision(rev)); err == nil && !h.IsZero() {
			return object.OID(h.String()), nil
		}
	}
	if !strings.HasPrefix(rev, "-") && HaveGit() {
		out, err := RunGit(context.Background(), s.root, nil, nil, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
		if err == nil {
			return object.OID(strings.TrimSpace(string(out))), nil
		}
	}
	e := &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: fmt.Sprintf("no commit is named %q", rev)}
	if near := s.nearest(rev); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		e.Hint = "`git branch -a` and `git tag` list the names, `git log` the commits"
	}
	return "", e
}

// nearest returns the branch or tag whose name is most similar to rev.
func (s *Repo) nearest(rev string) string {
	refs, err := s.Refs()
	if err != nil {
		return ""
	}
	best, cost := "", len(rev)/3+2
	for _, r := range refs {
		for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/remotes/"} {
			if name, ok := strings.CutPrefix(r.Name, prefix); ok {
				if d := notebooks.EditDistance([]rune(rev), []rune(name)); d < cost {
					best, cost = name, d
				}
			}
		}
	}
	return best
}

// ObjectDirs are the source's object folder and its alternates, all of them, absolute: Git ignores
// relative alternates of alternates.
func (s *Repo) ObjectDirs() []string {
	var out []string
	seen := map[string]bool{}
	var add func(dir string)
	add = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		out = append(out, dir)
		for _, line := range readLines(filepath.Join(dir, "info", "alternates")) {
			if line == "" || line[0] == '#' {
				continue
			}
			if line[0] == '"' {
				if name, ok := quote.Unquote(line); ok {
					line = name
				}
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(dir, line)
			}
			add(filepath.Clean(line))
		}
	}
	add(filepath.Join(s.common, "objects"))
	return out
}

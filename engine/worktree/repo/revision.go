package repo

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v6/plumbing"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks"
)

// Warn tells the user of a name that means several things. The command line sets it.
var Warn = func(words string) {}

var warned sync.Map // by checkout and name

// Resolve finds the commit that a revision names; an annotated tag is peeled. Of several refs with that name it takes
// the one that Git takes, and warns as Git does.
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
	name, err := s.fullName(rev)
	if err != nil {
		return "", err
	}
	// go-git takes HEAD@{1} for HEAD, HEAD:file for its commit, and of commits that a few digits mean the first.
	_, isID := s.Format.Parse(object.OID(rev))
	if isID || !HaveGit() || name != rev && !strings.ContainsAny(rev, "{:") {
		if h, err := repo.ResolveRevision(plumbing.Revision(name)); err == nil && !h.IsZero() {
			return object.OID(h.String()), nil
		}
	}
	if !strings.HasPrefix(rev, "-") && HaveGit() {
		for _, peel := range []string{"", "^{commit}"} { // what is peeled cannot stand behind :/words
			out, gitErr := RunGit(context.Background(), s.root, nil, nil, "rev-parse", "--verify", "--quiet", name+peel)
			if name = strings.TrimSpace(string(out)); gitErr != nil || strings.HasPrefix(name, "^") {
				break
			}
			if peel != "" {
				return object.OID(name), nil
			}
		}
	}
	e := &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: fmt.Sprintf("no commit is named %q", rev)}
	near := s.nearest(rev)
	switch from, to, isRange := strings.Cut(strings.Replace(rev, "...", "..", 1), ".."); {
	case isRange:
		e.Msg = fmt.Sprintf("%q is a range of commits, and one commit is expected", rev)
		e.Hint = fmt.Sprintf("name an end of it, or the commit where both part: `git merge-base %s %s`",
			cmp.Or(from, "HEAD"), cmp.Or(to, "HEAD"))
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	default:
		e.Hint = "`git branch -a` and `git tag` list the names, `git log` the commits"
	}
	return "", e
}

// fullName returns a revision with the full name of the ref that it names, and as it is where it names none.
func (s *Repo) fullName(rev string) (string, error) {
	name, rest := rev, ""
	if i := strings.IndexAny(rev, "~^:"); i >= 0 {
		name, rest = rev[:i], rev[i:]
	}
	if _, isID := s.Format.Parse(object.OID(name)); isID || !object.ValidBranch(name) {
		return rev, nil
	}
	var found []string
	for _, form := range []string{"refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s",
		"refs/remotes/%s/HEAD"} {
		ref := fmt.Sprintf(form, name)
		if content, err := s.Ref(ref); err != nil {
			return "", err
		} else if content != "" {
			found = append(found, ref)
		}
	}
	if len(found) == 0 {
		return rev, nil
	}
	quiet, _ := s.Config.Get("core", "", "warnambiguousrefs")
	if _, before := warned.LoadOrStore([2]string{s.root, name}, true); !before && len(found) > 1 && quiet != "false" {
		Warn(fmt.Sprintf("%q is ambiguous: it is taken for %s; write %s for the other", name, found[0],
			strings.Join(found[1:], " or ")))
	}
	return found[0] + rest, nil
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

// DefaultBase finds the commit at which the checked-out work began: where it left the remote's default branch, or else
// its upstream, or else main or master. name is that branch.
func (s *Repo) DefaultBase() (name string, base object.OID, err error) {
	head, err := s.Resolve("HEAD")
	if err != nil {
		return "", "", err
	}
	for _, ref := range s.baseRefs() {
		content, err := s.Ref(ref)
		if err != nil || content == "" {
			continue
		}
		at, err := s.follow(content, 0)
		if err != nil || at == "" {
			continue
		}
		base, err := s.MergeBase(at, head)
		return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/remotes/"), base, err
	}
	return "", "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root,
		Msg: "it cannot be told what to compare with: origin/HEAD is not set, the branch has no upstream, and there " +
			"is no other branch main or master",
		Hint: "name it: markmill review BASE..HEAD, or markmill review BASE"}
}

// baseRefs are the refs that DefaultBase tries, the best first.
func (s *Repo) baseRefs() []string {
	refs := []string{"refs/remotes/origin/HEAD"}
	own := ""
	if data, err := os.ReadFile(filepath.Join(s.gitDir, "HEAD")); err == nil {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: "); ok {
			own = name
		}
	}
	if branch, ok := strings.CutPrefix(own, "refs/heads/"); ok {
		remote, _ := s.Config.Get("branch", branch, "remote")
		merge, _ := s.Config.Get("branch", branch, "merge")
		switch name, isBranch := strings.CutPrefix(merge, "refs/heads/"); {
		case remote == "." && merge != own && isBranch:
			refs = append(refs, merge)
		case remote != "" && isBranch:
			refs = append(refs, "refs/remotes/"+remote+"/"+name)
		}
	}
	for _, name := range []string{"refs/heads/main", "refs/heads/master"} {
		if name != own {
			refs = append(refs, name)
		}
	}
	return refs
}

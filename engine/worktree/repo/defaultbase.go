package repo

import (
	"os"
	"path/filepath"
	"strings"

	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

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

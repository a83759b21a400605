package repo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

// NewFiles says what CommitTo commits.
type NewFiles struct {
	Branch  string
	RunID   string            // of the run that the files come from
	Files   map[string][]byte // by their slash-separated paths in the repository
	Message string
	Program object.Identity // who commits where Git has no name for the user (see User)
	Now     time.Time       // of the commit
	Noted   func(object.OID) error
}

// CommitTo commits files on top of a branch, as the user, and returns the commit; "" if the branch has the very same
// files. A branch that is not there begins at HEAD. Neither checkout nor index change, so a branch that is checked out
// is an error. Noted gets each commit before the branch has it. If the branch moves meanwhile, it is tried again on top
// of that.
func (s *Repo) CommitTo(n NewFiles) (object.OID, error) {
	ref, err := s.branchRef(n.Branch)
	if err != nil {
		return "", err
	}
	who, known := s.User()
	if !known {
		who = n.Program
	}
	const tries = 100
	for try := 1; ; try++ {
		if at := s.checkedOut(ref); at != "" {
			return "", &notebooks.Error{Kind: notebooks.KindOption, File: s.root,
				Msg: fmt.Sprintf("the branch %s is checked out in %s, and a commit would leave that behind",
					n.Branch, at),
				Hint: "name another branch, or check another one out"}
		}
		held, err := s.Ref(ref)
		if err != nil {
			return "", err
		}
		tip := object.OID(held)
		if held == "" {
			if tip, err = s.Head(); err != nil {
				return "", err
			}
		}
		g := graft{repo: s, made: map[object.Digest]madeObject{}}
		var parent, before object.Digest
		if parent, known = s.Format.Parse(tip); known {
			if before, err = s.TreeOf(parent); err != nil {
				return "", err
			}
		}
		tree, err := g.onto(before, n.Files, "")
		if err != nil || tree == before {
			return "", err
		}
		commit := g.add("commit", object.NewCommit{Tree: tree, Parent: parent, Author: who, Committer: who, At: n.Now,
			Message: n.Message}.Encode(s.Format))
		if err := n.Noted(s.Format.OID(commit)); err != nil {
			return "", err
		}
		undo, err := s.addPack(g.order, g.get, n.RunID)
		if err != nil {
			return "", err
		}
		if err = s.setRef(n.RunID, ref, object.OID(held), s.Format.OID(commit)); err == nil {
			return s.Format.OID(commit), nil
		}
		undo()
		if now, rerr := s.Ref(ref); rerr != nil || now == held || try == tries {
			return "", err
		}
	}
}

// checkedOut is the Git directory of a worktree that has a branch checked out; "" for none.
func (s *Repo) checkedOut(ref string) string {
	linked, _ := filepath.Glob(filepath.Join(s.common, "worktrees", "*")) // the pattern is valid
	for _, dir := range append(linked, s.common) {
		head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
		if err == nil && strings.TrimSpace(string(head)) == "ref: "+ref {
			return dir
		}
	}
	return ""
}

// graft makes the objects of a commit.
type graft struct {
	repo  *Repo
	made  map[object.Digest]madeObject
	order []object.Digest
}

type madeObject struct {
	kind string
	data []byte
}

func (g *graft) add(kind string, data []byte) object.Digest {
	d := g.repo.Format.Sum(kind, data)
	if _, ok := g.made[d]; !ok {
		g.made[d] = madeObject{kind, data}
		g.order = append(g.order, d)
	}
	return d
}

func (g *graft) get(d object.Digest) (string, []byte, error) {
	return g.made[d].kind, g.made[d].data, nil
}

// onto puts files into a tree, the zero digest for an empty one, and returns what it becomes.
func (g *graft) onto(tree object.Digest, files map[string][]byte, in string) (object.Digest, error) {
	var entries []object.TreeEntry
	if !tree.IsZero() {
		data, err := g.repo.Read("tree", tree)
		if err == nil {
			entries, err = object.ParseTree(g.repo.Format, data)
		}
		if err != nil {
			return tree, err
		}
	}
	folders := map[string]map[string][]byte{}
	at := func(name string) *object.TreeEntry {
		i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name })
		if i < 0 {
			entries, i = append(entries, object.TreeEntry{Name: name}), len(entries)
		}
		return &entries[i]
	}
	fits := func(e *object.TreeEntry, ok bool, what string) error {
		if e.Mode == 0 || ok {
			return nil
		}
		return &notebooks.Error{Kind: notebooks.KindOption,
			Msg:  fmt.Sprintf("%s%s is no %s in the branch", in, e.Name, what),
			Hint: "name another path"}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		name, rest, deeper := strings.Cut(path, "/")
		if deeper {
			if folders[name] == nil {
				folders[name] = map[string][]byte{}
			}
			folders[name][rest] = files[path]
			continue
		}
		e := at(name)
		if err := fits(e, e.Mode&disk.ModeType == disk.ModeFile, "regular file"); err != nil {
			return tree, err
		}
		if e.OID = g.add("blob", files[path]); e.Mode == 0 {
			e.Mode = disk.ModeFile | 0o644
		}
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		e := at(name)
		if err := fits(e, e.Mode == disk.ModeDir, "folder"); err != nil {
			return tree, err
		}
		sub, err := g.onto(e.OID, folders[name], in+name+"/")
		if err != nil {
			return tree, err
		}
		e.OID, e.Mode = sub, disk.ModeDir
	}
	object.SortTree(entries)
	var data []byte
	for _, e := range entries {
		data = object.AppendTreeEntry(g.repo.Format, data, e.Mode, e.Name, e.OID)
	}
	if d := g.repo.Format.Sum("tree", data); d == tree {
		return d, nil
	}
	return g.add("tree", data), nil
}

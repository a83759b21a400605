package worktree

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
)

// Submodule is a submodule of a commit.
type Submodule struct {
	Path string // from the root of the repository
	Lack string // why it cannot be checked out, and what to do; "" if it can
	repo *Source
	base object.Digest
}

// Submodules lists the submodules of a commit, the nested ones behind the one that they are in, and whether the
// checkout has what they stand at: in a repository at the path, or in the Git directory's modules.
func (s *Source) Submodules(commit OID) ([]Submodule, error) {
	d, ok := s.Format.Parse(commit)
	if !ok {
		return nil, nil
	}
	tree, err := s.TreeOf(d)
	if err != nil {
		return nil, err
	}
	data, err := s.Read("tree", tree)
	if err != nil {
		return nil, err
	}
	top, err := object.ParseTree(s.Format, data)
	if err != nil || !slices.ContainsFunc(top, func(e object.TreeEntry) bool { return e.Name == modulesFile }) {
		return nil, err
	}
	t := &Tree{src: s, fmt: s.Format, root: &snapshot.Node{}}
	if err := t.loadTree(t.root, tree); err != nil {
		return nil, err
	}
	return t.findSubmodules()
}

// modulesFile says which submodules a repository has.
const modulesFile = ".gitmodules"

// findSubmodules lists the submodules of the base.
func (t *Tree) findSubmodules() ([]Submodule, error) {
	file := t.root.Find(modulesFile)
	if file == nil || file.Mode&disk.ModeType != disk.ModeFile {
		return nil, nil
	}
	text, err := t.src.Read("blob", file.OID)
	if err != nil {
		return nil, err
	}
	var out []Submodule
	names := rules.ParseSettings(text)
	for prefix, e := range t.root.Entries() {
		if e.Mode != disk.ModeGitlink {
			continue
		}
		one := Submodule{Path: prefix + e.Name, base: e.OID}
		one.repo = t.src.submodule(one.Path, names)
		switch {
		case one.repo == nil:
			one.Lack = "is not initialised in the checkout; git submodule update --init --recursive gets it"
		case one.repo.Format == t.fmt:
			if _, err := one.repo.TreeOf(one.base); err == nil {
				break
			}
			fallthrough
		default:
			one.Lack = "lacks the commit " + string(t.fmt.OID(one.base))[:12] + " in the checkout; " +
				"git submodule update --init --recursive gets it"
		}
		out = append(out, one)
		if one.Lack != "" {
			continue
		}
		nested, err := one.repo.Submodules(t.fmt.OID(one.base))
		if err != nil {
			return nil, err
		}
		for _, n := range nested {
			n.Path = path.Join(one.Path, n.Path)
			out = append(out, n)
		}
	}
	return out, nil
}

// submodule opens the repository of a submodule; nil where the checkout has none.
func (s *Source) submodule(at string, names rules.Settings) *Source {
	dir := filepath.Join(s.Root(), filepath.FromSlash(at))
	if found, err := repo.Open(dir); err == nil && found.Root() == disk.RealPath(dir) {
		return &Source{Repo: found}
	}
	for _, set := range names {
		if set.Section == "submodule" && set.Key == "path" && set.Value == at && filepath.IsLocal(set.Sub) {
			if found, err := repo.OpenModule(dir, filepath.Join(s.CommonDir(), "modules",
				filepath.FromSlash(set.Sub))); err == nil {
				return &Source{Repo: found}
			}
		}
	}
	return nil
}

// ModuleObjects are the object folders of the submodules of a commit, as ObjectDirs are those of the repository.
func (s *Source) ModuleObjects(commit OID) ([]string, error) {
	list, err := s.Submodules(commit)
	var out []string
	for _, one := range list {
		if one.Lack == "" {
			out = append(out, one.repo.ObjectDirs()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// checkoutSubmodules fills the submodules' folders, each with a Git directory of its own. Those that the checkout does
// not have stay empty, as after a clone.
func (t *Tree) checkoutSubmodules(ctx context.Context) error {
	if t.src == nil {
		return nil
	}
	list, err := t.findSubmodules()
	if err != nil {
		return err
	}
	for i, one := range list {
		if err := t.standIn(one); err != nil {
			return err
		}
		if one.Lack != "" || slices.ContainsFunc(list[:i], func(up Submodule) bool {
			return strings.HasPrefix(one.Path, up.Path+"/")
		}) {
			continue // those in a submodule are checked out with it
		}
		o := Options{Dir: filepath.Join(t.top, "run", "modules", filepath.FromSlash(one.Path), "store"),
			Base: t.fmt.OID(one.base), Author: t.opt.Author, Now: t.opt.Now, Objects: t.opt.Objects,
			ReadsOff: "it is a submodule"}
		sub, err := prepare(one.repo, o, false)
		if err != nil {
			return err
		}
		sub.dir = filepath.Join(t.dir, filepath.FromSlash(one.Path))
		if err := os.Remove(sub.dir); err != nil { // it is empty, and is made anew
			return err
		}
		if err := sub.make(ctx); err != nil {
			return err
		}
		t.modules = append(t.modules, module{one.Path + "/", sub})
		t.pristine = nil // the pool would have to prove what is in them
	}
	return nil
}

// standIn makes empty folders where a submodule's objects are in the checkout: Git complains of an alternate that is
// not there, as where the worktree is mounted over the checkout.
func (t *Tree) standIn(one Submodule) error {
	if one.Lack != "" {
		return nil
	}
	for _, dir := range one.repo.ObjectDirs() {
		rel, err := filepath.Rel(disk.RealPath(t.src.CommonDir()), disk.RealPath(dir))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if err := os.MkdirAll(filepath.Join(t.dir, ".git", rel), 0o777); err != nil {
			return err
		}
	}
	return nil
}

// module is a submodule that was checked out; its path ends in a slash.
type module struct {
	path string
	tree *Tree
}

// moduleOf returns the submodule that a path of the worktree is in; "" if it is in none.
func (t *Tree) moduleOf(p string) string {
	p = strings.TrimPrefix(p, "/")
	for _, m := range t.modules {
		if strings.HasPrefix(p, m.path) {
			return strings.TrimSuffix(m.path, "/")
		}
	}
	return ""
}

package worktree

import (
	"path"

	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
)

// findDependencies looks for folders of dependencies among the ignored ones that were copied.
func (t *Tree) findDependencies() {
	if len(t.opt.Copy) == 0 {
		return
	}
	var look func(n *snapshot.Node, at string)
	look = func(n *snapshot.Node, at string) {
		for _, d := range n.Dirs {
			name := path.Join(at, d.Name)
			if dir := t.src.Dependencies(name); dir == "" {
				look(d, name)
			} else if d, ok := repo.LookUpDependency(t.src.Root(), dir); ok {
				t.reading.dependencies[dir] = d
			}
		}
	}
	look(t.root, "")
}

// DependOn counts a folder of dependencies as read by the step that goes on: one input, with the file of the base that
// says what is to be installed.
func (t *Tree) DependOn(d repo.Dependency) {
	if !t.SeesReads() {
		return
	}
	t.reading.depended[d.Path] = d
	for _, lock := range repo.Locks(d.Path) {
		if e := t.root.Find(lock); e != nil && e.Mode != 0 {
			t.CountRead(lock)
			break
		}
	}
}

// dependReads replaces what was read in folders of dependencies by these.
func (t *Tree) dependReads() {
	r := t.reading
	var found []repo.Dependency
	for p := range r.pending {
		if len(r.dependencies) == 0 || t.ignored[p] {
			continue
		}
		if e := t.root.Find(p); e == nil || e.Mode != 0 || !e.Ignored {
			continue
		}
		for at := path.Dir(p); at != "."; at = path.Dir(at) {
			if d, ok := r.dependencies[at]; ok {
				delete(r.pending, p)
				found = append(found, d)
				break
			}
		}
	}
	for _, d := range found {
		t.DependOn(d)
	}
}

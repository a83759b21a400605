package worktree

import (
	"path"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
)

// dependency is a folder of dependencies. What was read in it is one input: what its installer says that it installed,
// with the file of the base that says what is to be installed.
type dependency struct {
	dir       string
	installed object.Digest
	lock      string // "": the base has none
}

// findDependencies looks for folders of dependencies among the ignored ones that were copied.
func (t *Tree) findDependencies() {
	if len(t.opt.Copy) == 0 {
		return
	}
	var look func(n *snapshot.Node, at string)
	look = func(n *snapshot.Node, at string) {
		for _, d := range n.Dirs {
			if name := path.Join(at, d.Name); t.dependency(name) == nil {
				look(d, name)
			}
		}
	}
	look(t.root, "")
}

// dependency returns the folder of dependencies in which a path of the checkout lies, as it is when it is asked for
// first; nil if it lies in none, or nobody can tell what is installed there.
func (t *Tree) dependency(p string) *dependency {
	r := t.reading
	for at := p; at != "."; at = path.Dir(at) {
		if d, known := r.dependencies[at]; known {
			return d
		}
	}
	dir, below, installed, ok := t.src.Dependencies(p)
	if !ok {
		return nil
	}
	if r.dependencies[dir] == nil {
		d := &dependency{dir: dir, installed: installed}
		for _, lock := range repo.Locks(dir) {
			if e := t.root.Find(lock); e != nil && e.Mode != 0 {
				d.lock = lock
				break
			}
		}
		r.dependencies[dir] = d
	}
	r.dependencies[below] = r.dependencies[dir]
	return r.dependencies[dir]
}

// DependOn counts the folder of dependencies in which a path of the checkout lies as read by the step that goes on.
func (t *Tree) DependOn(path string) {
	if t.SeesReads() {
		if d := t.dependency(path); d != nil {
			t.reading.depend(d)
		}
	}
}

func (r *reading) depend(d *dependency) {
	r.pending[d.dir] = true
	if d.lock != "" {
		r.pending[d.lock] = true
	}
}

// dependReads replaces what was read in folders of dependencies by these.
func (t *Tree) dependReads() {
	r := t.reading
	var found []*dependency
	for p := range r.pending {
		if len(r.dependencies) == 0 || t.ignored[p] {
			continue
		}
		if e := t.root.Find(p); e == nil || e.Mode != 0 || !e.Ignored {
			continue
		}
		for at := path.Dir(p); at != "."; at = path.Dir(at) {
			if d := r.dependencies[at]; d != nil {
				delete(r.pending, p)
				found = append(found, d)
				break
			}
		}
	}
	for _, d := range found {
		r.depend(d)
	}
}

package worktree

import (
	"cmp"
	"container/heap"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/listing"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// collapse puts what was read into a bounded number of entries: a folder stands for what was read in it.
type collapse struct {
	folders map[string]*readFolder
}

// readFolder is a folder in which something was read.
type readFolder struct {
	path  string
	files map[string]notebooks.StepID // names that were read
	step  notebooks.StepID            // the first that listed it, or read in it
	list  bool                        // it was listed
	of    []string                    // which names count, if it was listed or counts as a tree; nil is every one
	tree  bool                        // it counts as read with all that is in it
	has   int                         // how many files are in and below it

	entries, read int // in and below it: entries, and files that they stand for
}

// readEntry is one entry of a read set: a file, the list of a folder, or a folder with all that is in it.
type readEntry struct {
	path       string
	step       notebooks.StepID
	file, tree bool
	of         []string // of a folder: which names count
}

func newCollapse(root *snapshot.Node) *collapse {
	c := &collapse{folders: map[string]*readFolder{}}
	var count func(n *snapshot.Node, at string) int
	count = func(n *snapshot.Node, at string) int {
		f := &readFolder{path: at, files: map[string]notebooks.StepID{}, has: len(n.Files)}
		c.folders[at] = f
		for _, d := range n.Dirs {
			f.has += count(d, path.Join(at, d.Name))
		}
		return f.has
	}
	count(root, ".")
	return c
}

func (c *collapse) at(dir string) *readFolder {
	if c.folders[dir] == nil { // the run removed it
		c.folders[dir] = &readFolder{path: dir, files: map[string]notebooks.StepID{}}
	}
	return c.folders[dir]
}

func (c *collapse) file(p string, step notebooks.StepID) {
	c.at(path.Dir(p)).files[path.Base(p)] = step
}

func (c *collapse) listed(dir string, step notebooks.StepID, of []string) {
	f := c.at(dir)
	f.list, f.step, f.of = true, step, of
}

func (c *collapse) whole(step notebooks.StepID) {
	f := c.at(".")
	f.tree, f.step, f.of = true, step, nil
}

// entries returns at most so many. Folders are collapsed that add the fewest files that were not read, for each entry
// that they save.
func (c *collapse) entries(most int) []readEntry {
	list := c.list()
	count := len(list)
	if count <= most || c.folders["."].tree {
		return list
	}
	var next candidates
	for _, e := range list {
		for f := range c.around(e.dir()) {
			f.entries++
			if e.file {
				f.read++
			}
		}
	}
	for _, f := range c.folders {
		if f.entries > 1 {
			next = append(next, candidate{f, f.entries, f.read})
		}
	}
	heap.Init(&next)
	for count > most {
		f := heap.Pop(&next).(candidate)
		if f.folder.entries != f.entries || f.folder.read != f.read || c.inside(path.Dir(f.folder.path)) {
			continue // there is another of it, or nothing is left of it
		}
		saved, unread := f.entries-1, f.folder.has-f.read
		f.folder.tree = true
		count -= saved
		for above := range c.around(f.folder.path) {
			above.entries -= saved
			above.read += unread
			if above.entries > 1 {
				heap.Push(&next, candidate{above, above.entries, above.read})
			}
		}
	}
	of := map[*readFolder][]string{}
	for _, e := range list { // the first step by name is as good as another: a record has them all
		for f := range c.around(e.dir()) {
			if f.tree {
				f.step = cmp.Or(f.step, e.step)
				if was, known := of[f]; known {
					of[f] = listing.Union(was, e.names())
				} else {
					of[f] = e.names()
				}
			}
		}
	}
	for f, names := range of {
		f.of = names
	}
	return c.list()
}

// dir is the folder that an entry is in, or that it is.
func (e readEntry) dir() string {
	if e.file {
		return path.Dir(e.path)
	}
	return e.path
}

// names are those that count of an entry when a folder stands for it.
func (e readEntry) names() []string {
	if e.file {
		return listing.OfFile(path.Base(e.path))
	}
	return e.of
}

// around yields a folder and those above it.
func (c *collapse) around(dir string) iter.Seq[*readFolder] {
	return func(yield func(*readFolder) bool) {
		for ; yield(c.at(dir)) && dir != "."; dir = path.Dir(dir) {
		}
	}
}

// list returns the entries as they are now.
func (c *collapse) list() []readEntry {
	var out []readEntry
	for _, f := range c.folders {
		if c.inside(path.Dir(f.path)) && f.path != "." {
			continue
		}
		if f.tree || f.list {
			out = append(out, readEntry{path: f.path, step: f.step, tree: f.tree, of: f.of})
		}
		if f.tree {
			continue
		}
		for name, step := range f.files {
			out = append(out, readEntry{path: path.Join(f.path, name), step: step, file: true})
		}
	}
	slices.SortFunc(out, func(a, b readEntry) int { return strings.Compare(a.path, b.path) })
	return out
}

// inside reports whether a folder, or one above it, counts as read with all that is in it.
func (c *collapse) inside(dir string) bool {
	for ; ; dir = path.Dir(dir) {
		if f := c.folders[dir]; f != nil && f.tree {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// candidate is a folder that may become one entry, with its counts of that moment.
type candidate struct {
	folder        *readFolder
	entries, read int
}

// cost is how many files that were not read a folder adds, for each entry that it saves.
func (f candidate) cost() float64 { return float64(max(0, f.folder.has-f.read)) / float64(f.entries-1) }

// candidates is a heap; the one with the lowest cost is the first.
type candidates []candidate

func (l candidates) Len() int      { return len(l) }
func (l candidates) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *candidates) Push(x any)   { *l = append(*l, x.(candidate)) }
func (l *candidates) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}

// Less puts the deeper folder first where the costs are equal.
func (l candidates) Less(i, j int) bool {
	a, b := l[i].folder.path, l[j].folder.path
	return cmp.Or(cmp.Compare(l[i].cost(), l[j].cost()), strings.Count(b, "/")-strings.Count(a, "/"),
		strings.Compare(a, b)) < 0
}

// Visible says which paths of the checkout Git would take up, one by one and without a walk. It reads each .gitignore
// once. Paths of the Git directory, of .markmill and of repositories inside are not visible.
type Visible struct {
	root   string
	ign    *rules.Ignores
	chains map[string]*rules.Chain // by folder; nil of one that is not visible
}

// Visible reads the ignore rules of the checkout.
func (s *Source) Visible() *Visible {
	v := &Visible{root: s.Root(), ign: rules.NewIgnores(s.Config, s.CommonDir()), chains: map[string]*rules.Chain{}}
	v.chains["."] = v.read("", nil)
	return v
}

// Has reports whether Git would take up a path. It is slash-separated; "." is the root.
func (v *Visible) Has(name string, dir bool) bool {
	if dir {
		return v.folder(name) != nil
	}
	up := v.folder(path.Dir(name))
	return up != nil && !v.ign.Ignored(up, name, path.Base(name), false)
}

// folder returns the rules in a folder; nil if it is not visible.
func (v *Visible) folder(dir string) *rules.Chain {
	if r, ok := v.chains[dir]; ok {
		return r
	}
	up := v.folder(path.Dir(dir))
	var r *rules.Chain
	if base := path.Base(dir); up != nil && base != ".git" && dir != ".markmill" &&
		!v.ign.Ignored(up, dir, base, true) {
		if _, err := os.Lstat(filepath.Join(v.root, filepath.FromSlash(dir), ".git")); err != nil {
			r = v.read(dir+"/", up)
		}
	}
	v.chains[dir] = r
	return r
}

// read reads the .gitignore of a folder. Like Git it follows no link of that name.
func (v *Visible) read(prefix string, up *rules.Chain) *rules.Chain {
	r := &rules.Chain{Up: up, Prefix: len(prefix)}
	name := filepath.Join(v.root, filepath.FromSlash(prefix), ".gitignore")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return r
	}
	if text, err := os.ReadFile(name); err == nil {
		r.Ignore = rules.ParseIgnore(text)
	}
	return r
}

// Locked reports whether a Git command is changing the index, as while it checks files out.
func (s *Source) Locked() bool {
	_, err := os.Lstat(filepath.Join(s.GitDir(), "index.lock"))
	return err == nil
}

// InCheckout returns the slash-separated path of a file of this machine below the root; ok is false for one elsewhere.
// Unlike Relative it follows no links.
func (s *Source) InCheckout(file string) (name string, ok bool) {
	name, ok = strings.CutPrefix(file, s.Root()+string(filepath.Separator))
	return filepath.ToSlash(name), ok
}

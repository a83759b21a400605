package snapshot

import (
	"iter"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/rules"
	"slices"
	"strings"
)

// Entry is what is known of one file, link or submodule of the worktree.
type Entry struct {
	Name    string
	Stat    disk.Stat
	Mode    uint32        // as captured; 0: not captured (ignored, or not yet)
	OID     object.Digest // of the captured content
	Ignored bool
	Check   bool // its content must be read again
}

// Node is what is known of one folder: names and stats of the last walk, content of the last capture.
type Node struct {
	Name    string
	Stat    disk.Stat // of the last listing; zero: never listed
	Suspect bool      // a later change of the folder might leave the same times: list again
	Files   []Entry
	Dirs    []*Node
	Tree    object.Digest // valid when treeOK; zero for a folder without captured content
	TreeOK  bool
	shared  bool // Files are those of a clone, too: see Own
	ignored bool
	nested  bool // another repository, not looked into
	dotGit  bool // it is looked into, and has a .git, which no tree can hold
	Rules   *rules.Chain

	// What the last walk found and the capture has to work off.
	Touched     bool // something here or below
	Removed     []Entry
	RemovedDirs []*Node
}

func FindEntry(files []Entry, name string) (int, bool) {
	return slices.BinarySearchFunc(files, name, func(e Entry, n string) int { return strings.Compare(e.Name, n) })
}

func FindDir(dirs []*Node, name string) (int, bool) {
	return slices.BinarySearchFunc(dirs, name, func(d *Node, n string) int { return strings.Compare(d.Name, n) })
}

// tracked reports whether anything in or below the folder is captured.
func (n *Node) tracked() bool {
	for _, e := range n.Entries() {
		if e.Mode != 0 {
			return true
		}
	}
	return false
}

// Find returns the entry of a slash-separated path, or nil.
func (n *Node) Find(path string) *Entry {
	for {
		dir, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			if i, ok := FindEntry(n.Files, path); ok {
				return &n.Files[i]
			}
			return nil
		}
		i, ok := FindDir(n.Dirs, dir)
		if !ok {
			return nil
		}
		n, path = n.Dirs[i], rest
	}
}

// children yields what is in a folder, in the order of a tree object: a folder sorts as if its name ended in a slash.
func (n *Node) children() iter.Seq2[*Entry, *Node] {
	return func(yield func(*Entry, *Node) bool) {
		dirs := slices.SortedFunc(slices.Values(n.Dirs),
			func(a, b *Node) int { return strings.Compare(a.Name+"/", b.Name+"/") })
		for i := range n.Files {
			for len(dirs) > 0 && dirs[0].Name+"/" < n.Files[i].Name {
				if !yield(nil, dirs[0]) {
					return
				}
				dirs = dirs[1:]
			}
			if !yield(&n.Files[i], nil) {
				return
			}
		}
		for _, d := range dirs {
			if !yield(nil, d) {
				return
			}
		}
	}
}

// Entries yields all entries in and below a folder, captured or not, in the order of an index. Each comes with the path
// of its folder, "" or ending in a slash, so that only callers that need the whole path pay for it.
func (n *Node) Entries() iter.Seq2[string, *Entry] {
	return func(yield func(string, *Entry) bool) { n.entries("", yield) }
}

func (n *Node) entries(prefix string, yield func(string, *Entry) bool) bool {
	for e, d := range n.children() {
		if e != nil && !yield(prefix, e) || d != nil && !d.entries(prefix+d.Name+"/", yield) {
			return false
		}
	}
	return true
}

// Clone keeps names, stats and content as they are now. The copy is only read: it shares the entries of each folder
// until the original changes one.
func (n *Node) Clone() *Node {
	n.shared = true
	c := &Node{Name: n.Name, Stat: n.Stat, Files: n.Files, Dirs: make([]*Node, len(n.Dirs))}
	for i, d := range n.Dirs {
		c.Dirs[i] = d.Clone()
	}
	return c
}

// Own gives a folder entries of its own. Whoever changes one calls it before.
func (n *Node) Own() []Entry {
	if n.shared {
		n.Files, n.shared = slices.Clone(n.Files), false
	}
	return n.Files
}

// Shares reports whether no entry of a folder changed since it was cloned.
func (n *Node) Shares(clone *Node) bool {
	return n.shared && len(n.Files) == len(clone.Files) && (len(n.Files) == 0 || &n.Files[0] == &clone.Files[0])
}

// WriteTree writes the tree objects of the folders whose content changed, and returns the name of the folder's own.
func (n *Node) WriteTree(s *object.Store) (object.Digest, error) {
	if n.TreeOK {
		return n.Tree, nil
	}
	var buf []byte
	for e, d := range n.children() {
		switch {
		case e == nil:
			tree, err := d.WriteTree(s)
			if err != nil {
				return object.Digest{}, err
			}
			if !tree.IsZero() {
				buf = object.AppendTreeEntry(s.Format, buf, disk.ModeDir, d.Name, tree)
			}
		case e.Mode != 0:
			buf = object.AppendTreeEntry(s.Format, buf, e.Mode, e.Name, e.OID)
		}
	}
	s.Replaced(n.Tree)
	n.Tree = object.Digest{}
	if len(buf) > 0 {
		var err error
		if n.Tree, err = s.Put("tree", buf); err != nil {
			return object.Digest{}, err
		}
	}
	n.TreeOK = true
	return n.Tree, nil
}

func SortNode(n *Node) {
	slices.SortFunc(n.Files, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(n.Dirs, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
}

package snapshot

import (
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
	for i := range n.Files {
		if n.Files[i].Mode != 0 {
			return true
		}
	}
	for _, d := range n.Dirs {
		if d.tracked() {
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

// Each visits the captured entries in the order of an index.
func (n *Node) Each(prefix string, visit func(path string, e *Entry) error) error {
	i, j := 0, 0
	for i < len(n.Files) || j < len(n.Dirs) {
		// A folder sorts as if its name ended in a slash, as in a tree object.
		if j == len(n.Dirs) || i < len(n.Files) && n.Files[i].Name < n.Dirs[j].Name+"/" {
			if e := &n.Files[i]; e.Mode != 0 {
				if err := visit(prefix+e.Name, e); err != nil {
					return err
				}
			}
			i++
			continue
		}
		if err := n.Dirs[j].Each(prefix+n.Dirs[j].Name+"/", visit); err != nil {
			return err
		}
		j++
	}
	return nil
}

// Clone copies what a fingerprint needs.
func (n *Node) Clone() *Node {
	c := &Node{Name: n.Name, Stat: n.Stat, Files: slices.Clone(n.Files), Dirs: make([]*Node, len(n.Dirs))}
	for i, d := range n.Dirs {
		c.Dirs[i] = d.Clone()
	}
	return c
}

// WriteTree writes the tree objects of the folders whose content changed, and returns the name of the folder's own.
func (n *Node) WriteTree(s *object.Store) (object.Digest, error) {
	if n.TreeOK {
		return n.Tree, nil
	}
	var buf []byte
	i, j := 0, 0
	for i < len(n.Files) || j < len(n.Dirs) {
		if j == len(n.Dirs) || i < len(n.Files) && n.Files[i].Name < n.Dirs[j].Name+"/" {
			if e := &n.Files[i]; e.Mode != 0 {
				buf = appendEntry(s.Format, buf, e.Mode, e.Name, e.OID)
			}
			i++
			continue
		}
		d, err := n.Dirs[j].WriteTree(s)
		if err != nil {
			return object.Digest{}, err
		}
		if !d.IsZero() {
			buf = appendEntry(s.Format, buf, disk.ModeDir, n.Dirs[j].Name, d)
		}
		j++
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

func appendEntry(f *object.Format, buf []byte, mode uint32, name string, d object.Digest) []byte {
	buf = appendOctal(buf, mode)
	buf = append(buf, ' ')
	buf = append(buf, name...)
	buf = append(buf, 0)
	return append(buf, d[:f.Size]...)
}

// appendOctal writes a mode as tree objects have it: a folder's is 40000, without a leading zero.
func appendOctal(buf []byte, mode uint32) []byte {
	started := false
	for shift := 15; shift >= 0; shift -= 3 {
		if d := byte(mode >> shift & 7); d != 0 || started {
			buf = append(buf, '0'+d)
			started = true
		}
	}
	return buf
}

func SortNode(n *Node) {
	slices.SortFunc(n.Files, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(n.Dirs, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
}

// Count is the number of files captured in and below a folder.
func (n *Node) Count() int {
	c := len(n.Files)
	for _, d := range n.Dirs {
		c += d.Count()
	}
	return c
}

package worktree

import (
	"slices"
	"strings"
)

// entry is what is known of one file, link or submodule of the worktree.
type entry struct {
	name    string
	st      stat
	mode    uint32 // as captured; 0: not captured (ignored, or not yet)
	oid     digest // of the captured content
	ignored bool
	check   bool // its content must be read again
}

// node is what is known of one folder: the last walk's names and stats, the last capture's content.
type node struct {
	name    string
	st      stat // of the last listing; zero: never listed
	suspect bool // a later change of the folder might leave the same times: list again
	files   []entry
	dirs    []*node
	tree    digest // valid when treeOK; zero for a folder without captured content
	treeOK  bool
	ignored bool
	nested  bool // another repository, not looked into
	dotGit  bool // it is looked into, and has a .git, which no tree can hold
	rules   *rules

	// What the last walk found and the capture has to work off.
	touched     bool // something here or below
	removed     []entry
	removedDirs []*node
}

func findEntry(files []entry, name string) (int, bool) {
	return slices.BinarySearchFunc(files, name, func(e entry, n string) int { return strings.Compare(e.name, n) })
}

func findDir(dirs []*node, name string) (int, bool) {
	return slices.BinarySearchFunc(dirs, name, func(d *node, n string) int { return strings.Compare(d.name, n) })
}

// tracked tells whether anything captured lies in or below the folder.
func (n *node) tracked() bool {
	for i := range n.files {
		if n.files[i].mode != 0 {
			return true
		}
	}
	for _, d := range n.dirs {
		if d.tracked() {
			return true
		}
	}
	return false
}

// find gives the entry of a slash-separated path, nil when there is none.
func (n *node) find(path string) *entry {
	for {
		dir, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			if i, ok := findEntry(n.files, path); ok {
				return &n.files[i]
			}
			return nil
		}
		i, ok := findDir(n.dirs, dir)
		if !ok {
			return nil
		}
		n, path = n.dirs[i], rest
	}
}

// each visits the captured entries in the order of an index.
func (n *node) each(prefix string, visit func(path string, e *entry) error) error {
	i, j := 0, 0
	for i < len(n.files) || j < len(n.dirs) {
		// A folder sorts as if its name ended in a slash, as in a tree object.
		if j == len(n.dirs) || i < len(n.files) && n.files[i].name < n.dirs[j].name+"/" {
			if e := &n.files[i]; e.mode != 0 {
				if err := visit(prefix+e.name, e); err != nil {
					return err
				}
			}
			i++
			continue
		}
		if err := n.dirs[j].each(prefix+n.dirs[j].name+"/", visit); err != nil {
			return err
		}
		j++
	}
	return nil
}

// clone copies what a fingerprint keeps.
func (n *node) clone() *node {
	c := &node{name: n.name, st: n.st, files: slices.Clone(n.files), dirs: make([]*node, len(n.dirs))}
	for i, d := range n.dirs {
		c.dirs[i] = d.clone()
	}
	return c
}

// buildTree writes the tree objects of the folders whose content changed, and names the folder's own.
func (s *store) buildTree(n *node) (digest, error) {
	if n.treeOK {
		return n.tree, nil
	}
	var buf []byte
	i, j := 0, 0
	for i < len(n.files) || j < len(n.dirs) {
		if j == len(n.dirs) || i < len(n.files) && n.files[i].name < n.dirs[j].name+"/" {
			if e := &n.files[i]; e.mode != 0 {
				buf = s.appendEntry(buf, e.mode, e.name, e.oid)
			}
			i++
			continue
		}
		d, err := s.buildTree(n.dirs[j])
		if err != nil {
			return digest{}, err
		}
		if !d.zero() {
			buf = s.appendEntry(buf, modeDir, n.dirs[j].name, d)
		}
		j++
	}
	if !s.known[n.tree] {
		s.based[n.tree] = true
	}
	n.tree = digest{}
	if len(buf) > 0 {
		var err error
		if n.tree, err = s.put("tree", buf); err != nil {
			return digest{}, err
		}
	}
	n.treeOK = true
	return n.tree, nil
}

func (s *store) appendEntry(buf []byte, mode uint32, name string, d digest) []byte {
	buf = appendOctal(buf, mode)
	buf = append(buf, ' ')
	buf = append(buf, name...)
	buf = append(buf, 0)
	return append(buf, d[:s.fmt.size]...)
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

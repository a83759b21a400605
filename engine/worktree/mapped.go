package worktree

import "io"

// mappings are files that processes of the run have in their memory, shared and writable. A write through such a
// mapping changes the file's times only when its page is clean; what follows until the page is written back changes the
// content alone.
//
// On most file systems the first write is enough to find the file by: it is read again at every capture for as long as
// it is mapped, and once after that. See tellsOfMappings for the others.
type mappings struct {
	inodes map[uint64]bool
	paths  map[string]bool // absolute, for file systems whose numbers are others there
	unseen string          // why the mappings of some process are not known, "" when all are
}

// has says whether a file is mapped, or may be.
func (m *mappings) has(st stat, path string) bool {
	return m != nil && (m.unseen != "" || m.names(st, path))
}

// names says whether a file is known to be mapped.
func (m *mappings) names(st stat, path string) bool {
	return m != nil && (m.inodes[st.ino] || len(m.paths) > 0 && m.paths[path])
}

// quiet is what a record says of a file system that does not tell of mappings.
const quiet = "the worktree's file system does not tell of writes through memory mappings: those of a mapping that a step opened and closed may be missing"

// part reads of a regular file what it holds, but no more than size.
func (f *folder) part(name string, size int64) ([]byte, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, size))
}

// live are the processes of the run that go on while the tree is captured.
func (t *Tree) live() []int {
	if t.opt.Processes == nil {
		return nil
	}
	return t.opt.Processes()
}

// mappings looks at what live processes map now.
func (t *Tree) mappings() *mappings {
	m := &mappings{inodes: map[uint64]bool{}, paths: map[string]bool{}}
	for _, pid := range t.live() {
		m.add(pid)
	}
	return m
}

package snapshot

import "markmill/engine/worktree/disk"

// Mappings are files that processes of the run have in their memory, shared and writable. A write through such a
// mapping changes the file's times only when its page is clean; what follows until the page is written back changes the
// content alone.
//
// On most file systems the first write is enough to find the file by: it is read again at every capture for as long as
// it is mapped, and once after that. See ReportsMmapWrites for the others.
type Mappings struct {
	inodes  map[uint64]bool
	paths   map[string]bool // absolute, for file systems whose numbers are others there
	Unknown string          // why the mappings of some process are not known, "" when all are
}

// Has says whether a file is mapped, or may be.
func (m *Mappings) Has(st disk.Stat, path string) bool {
	return m != nil && (m.Unknown != "" || m.Names(st, path))
}

// Names says whether a file is known to be mapped.
func (m *Mappings) Names(st disk.Stat, path string) bool {
	return m != nil && (m.inodes[st.Inode] || len(m.paths) > 0 && m.paths[path])
}

// MmapNotice is what a record says of a file system that does not tell of mappings.
const MmapNotice = "the worktree's file system does not tell of writes through memory mappings: those of a mapping that a " +
	"step opened and closed may be missing"

// MappingsOf looks at what processes map now.
func MappingsOf(pids []int) *Mappings {
	m := &Mappings{inodes: map[uint64]bool{}, paths: map[string]bool{}}
	for _, pid := range pids {
		m.Add(pid)
	}
	return m
}

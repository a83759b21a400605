package snapshot

import "markmill/engine/worktree/disk"

// Mappings are the files that processes of the run have mapped, shared and writable. A write through such a mapping
// changes the file's times only if its page is clean; until the page is written back, later writes change the content
// alone.
//
// On most file systems the first write reveals the file: it is read again at every capture while it is mapped, and once
// more after that. See ReportsMmapWrites for the others.
type Mappings struct {
	inodes  map[uint64]bool
	paths   map[string]bool // absolute, for file systems whose numbers are others there
	Unknown string          // why the mappings of some process are not known, "" when all are
}

// Has reports whether a file is mapped, or may be.
func (m *Mappings) Has(st disk.Stat, path string) bool {
	return m != nil && (m.Unknown != "" || m.Names(st, path))
}

// Names reports whether a file is known to be mapped.
func (m *Mappings) Names(st disk.Stat, path string) bool {
	return m != nil && (m.inodes[st.Inode] || len(m.paths) > 0 && m.paths[path])
}

// MmapNotice is the note in a record for file systems that do not report writes through mappings.
const MmapNotice = "the worktree's file system does not tell of writes through memory mappings: those of a mapping " +
	"that a step opened and closed may be missing"

// MappingsOf returns what processes map now.
func MappingsOf(pids []int) *Mappings {
	m := &Mappings{inodes: map[uint64]bool{}, paths: map[string]bool{}}
	for _, pid := range pids {
		m.Add(pid)
	}
	return m
}

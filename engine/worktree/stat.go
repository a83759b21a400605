package worktree

import "errors"

// errChanged says that a file changed while it was read.
var errChanged = errors.New("the file changed while it was read")

// stat is what the file system says of an entry: equal stats on a file system with fine times
// mean equal content.
type stat struct {
	mtime, ctime int64 // nanoseconds since 1970
	size         int64
	ino, dev     uint64
	mode         uint32 // as POSIX lays it out, on every system
	uid, gid     uint32
}

// File types within stat.mode and within a Git mode.
const (
	modeType    = 0o170000
	modeFile    = 0o100000
	modeDir     = 0o040000
	modeLink    = 0o120000
	modeGitlink = 0o160000 // Git's only
)

type kind int

const (
	kindOther kind = iota // FIFO, socket, device: never opened, never captured
	kindFile
	kindDir
	kindLink
)

func (s stat) kind() kind {
	switch s.mode & modeType {
	case modeFile:
		return kindFile
	case modeDir:
		return kindDir
	case modeLink:
		return kindLink
	}
	return kindOther
}

// gitMode is the mode that Git would record.
func (s stat) gitMode() uint32 {
	switch s.kind() {
	case kindLink:
		return modeLink
	case kindFile:
		if s.mode&0o100 != 0 {
			return modeFile | 0o755
		}
		return modeFile | 0o644
	}
	return 0
}

package disk

import "errors"

// ErrChanged says that a file changed while it was read.
var ErrChanged = errors.New("the file changed while it was read")

// Stat is what the file system says of an entry: equal stats on a file system with fine times
// mean equal content.
type Stat struct {
	Mtime, Ctime int64 // nanoseconds since 1970
	Size         int64
	Inode, Dev   uint64
	Mode         uint32 // as POSIX lays it out, on every system
	Uid, Gid     uint32
}

// File types within stat.mode and within a Git mode.
const (
	ModeType    = 0o170000
	ModeFile    = 0o100000
	ModeDir     = 0o040000
	ModeLink    = 0o120000
	ModeGitlink = 0o160000 // Git's only
)

type kind int

const (
	KindOther kind = iota // FIFO, socket, device: never opened, never captured
	KindFile
	KindDir
	KindLink
)

func (s Stat) Kind() kind {
	switch s.Mode & ModeType {
	case ModeFile:
		return KindFile
	case ModeDir:
		return KindDir
	case ModeLink:
		return KindLink
	}
	return KindOther
}

// GitMode is the mode that Git would record.
func (s Stat) GitMode() uint32 {
	switch s.Kind() {
	case KindLink:
		return ModeLink
	case KindFile:
		if s.Mode&0o100 != 0 {
			return ModeFile | 0o755
		}
		return ModeFile | 0o644
	}
	return 0
}

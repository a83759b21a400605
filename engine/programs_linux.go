package engine

import (
	"io/fs"
	"syscall"
)

// statWords is what changes whenever a file does: size, device, inode and the time of the last change of any kind.
func statWords(info fs.FileInfo) any {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size()
	}
	return [...]int64{info.Size(), int64(st.Dev), int64(st.Ino), int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}
}

//go:build unix

package web

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// mayTrust reports whether nobody else can write a file that says who may do what, nor read it but its group.
func mayTrust(file string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", file)
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return fmt.Errorf("%s has the mode %04o: its group could write it, or others could use it; chmod 600 %[1]s",
			file, mode)
	}
	if stat, is := info.Sys().(*syscall.Stat_t); is && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user, who could name anybody in it; chown it", file)
	}
	return nil
}

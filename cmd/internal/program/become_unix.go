//go:build unix

package program

import (
	"os"
	"syscall"
)

// become runs another program in the place of this one.
func become(program string, args ...string) error {
	return &os.PathError{Op: "start", Path: program, Err: syscall.Exec(program, args, os.Environ())}
}

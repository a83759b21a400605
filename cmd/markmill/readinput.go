package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxParams is how large a file of parameters, rules or signatures may be, in bytes.
const maxParams = 64 << 20

// readInput reads a file that the user named, "-" standard input, of at most so many bytes. A folder, a device, a
// socket and a named pipe are refused: they have no end, or wait for one who writes. A pipe that the shell holds open
// for the program, as in <(command), is read. what says what is read, as "a notebook".
func (a *app) readInput(path, what string, most int64) ([]byte, error) {
	if path == "-" {
		return readAtMost(a.stdin, what, bytes.MinRead, most)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, fmt.Errorf("is a directory, and %s is a file", what)
	case mode.IsRegular() && info.Size() > most:
		return nil, tooLarge(fmt.Sprint("has ", info.Size(), " bytes"), what, most)
	case !mode.IsRegular() && path != os.DevNull && !isDescriptor(path):
		return nil, fmt.Errorf("is %s, and %s is a regular file; - reads standard input", kindOf(mode), what)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, what, info.Size()+bytes.MinRead, most)
}

// readAtMost reads to the end. room is how much is likely to come: a large file is not to be copied as it grows.
func readAtMost(in io.Reader, what string, room, most int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(room, most+bytes.MinRead)))
	if _, err := b.ReadFrom(io.LimitReader(in, most+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > most {
		return nil, tooLarge(fmt.Sprint("has more than ", most, " bytes"), what, most)
	}
	return b.Bytes(), nil
}

func tooLarge(has, what string, most int64) error {
	return fmt.Errorf("%s, and %s has at most %d", has, what, most)
}

// isDescriptor says whether a path names an open file of the program itself.
func isDescriptor(path string) bool {
	dir, base := filepath.Split(filepath.Clean(path))
	return slices.Contains([]string{"/dev/fd/", "/proc/self/fd/"}, dir) || dir == "/dev/" && base == "stdin"
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// badRead is the error of a file that cannot be read, with its name before it.
func badRead(path string, err error) error {
	var pathErr *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pathErr):
		return badInput(path, "cannot be read: %v", pathErr.Err)
	}
	return badInput(path, "%v", err)
}

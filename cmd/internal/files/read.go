package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
)

// Limits on the size of a file, in bytes.
const (
	// MaxNotebook limits Markdown and scripts. The output of each step is limited, so a larger file is a wrong path.
	MaxNotebook = 64 << 20
	// MaxJupyter limits Jupyter notebooks, which hold their pictures and tables.
	MaxJupyter = 1 << 30
)

// Notebook reads a notebook of any form and checks that it can be one. Errors are *notebooks.Error and name the file.
func Notebook(path string) ([]byte, error) {
	most := int64(MaxNotebook)
	if notebooks.IsJupyterName(path) {
		most = MaxJupyter
	}
	src, err := Read(path, "a notebook", most)
	if err != nil {
		return nil, ReadError(path, err)
	}
	return src, Check(path, src)
}

// Check returns an error when the bytes of a file cannot be a notebook. The parser of Jupyter notebooks does its own
// check.
func Check(path string, src []byte) error {
	switch {
	case forms.IsJupyter(filepath.ToSlash(path), src):
		return nil
	case len(src) > MaxNotebook:
		return inputError(path, "has %d bytes, and a notebook has at most %d", len(src), MaxNotebook)
	}
	return notebooks.CheckText(filepath.ToSlash(path), src)
}

// Read reads a regular file of at most so many bytes. It refuses folders, devices, sockets and named pipes: they have
// no end, or block until someone writes. A pipe that the shell opened for the program, as in <(command), is read. what
// names the content in errors: "a notebook".
func Read(path, what string, most int64) ([]byte, error) {
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
	return ReadAtMost(f, what, info.Size(), most)
}

// ReadAtMost reads to the end. expected is the likely size, so that the buffer of a large file need not grow.
func ReadAtMost(in io.Reader, what string, expected, most int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(expected, most) + bytes.MinRead))
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

// isDescriptor reports whether a path names an open file of the program itself.
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

// ReadError adds the name of the file to an error of Read.
func ReadError(path string, err error) error {
	if err == nil {
		return nil
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return inputError(path, "cannot be read: %v", pathErr.Err)
	}
	return inputError(path, "%v", err)
}

func inputError(path, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: filepath.ToSlash(path), Msg: fmt.Sprintf(format, args...)}
}

// Jupyter parses a Jupyter notebook. One of nbformat 3 or earlier is upgraded first.
func Jupyter(path string, src []byte) (*ipynb.Notebook, error) {
	name := filepath.ToSlash(path)
	nb, err := ipynb.Parse(name, src)
	if err != nil || nb.NBFormat >= 4 {
		return nb, err
	}
	if src, err = nb.Upgraded(); err != nil {
		return nil, err
	}
	return ipynb.Parse(name, src)
}

// IsJupyter reports whether a file is a Jupyter notebook: by its name or, where the name does not say, by its first
// bytes.
func IsJupyter(path string, src []byte) bool { return forms.IsJupyter(filepath.ToSlash(path), src) }

// IsScript reports whether a file is a script with cells, by its name or its first bytes.
func IsScript(path string, src []byte) bool { return forms.IsPercent(filepath.ToSlash(path), src) }

// Folder is where words name files. "" is the working directory.
type Folder string

// Path is where the file is that a word names.
func (f Folder) Path(word string) string {
	if f == "" || filepath.IsAbs(word) {
		return word
	}
	return filepath.Join(string(f), word)
}

// Word is the word that names a file in the folder, for what is found below it.
func (f Folder) Word(path string) string {
	if rel, err := filepath.Rel(string(f), path); f != "" && err == nil {
		return rel
	}
	return path
}

// Absolute is the folder as an absolute path.
func (f Folder) Absolute() (string, error) {
	if f == "" {
		return os.Getwd()
	}
	return string(f), nil
}

// Absolute is the absolute path, or the path itself where there is no working directory.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Short is the path relative to the working directory where that is shorter.
func Short(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
			return rel
		}
	}
	return path
}

// Same reports whether two paths are one file or folder. A path that does not exist is the same as none.
func Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Source reads a notebook without the outputs of earlier runs. If values are given, it also drops the cells with the
// values of an earlier run from a Jupyter notebook. It returns an error if outputs were edited.
func Source(notebook string, given bool) ([]byte, error) {
	src, err := os.ReadFile(notebook)
	if err != nil {
		return nil, err
	}
	if notebooks.IsJupyterName(notebook) {
		nb, err := Jupyter(notebook, src)
		if err != nil {
			return nil, err
		}
		return ipynb.Source(nb, given), nil
	}
	return forms.Source(filepath.ToSlash(notebook), src, given)
}

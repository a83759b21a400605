package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"markmill/runs"
)

// File is an output that was opened. Close gives its folder back.
type File struct {
	path   string   // as it was named
	dir    string   // the folder that root holds, without links
	root   *os.Root // nil for a device
	rest   []string // folders below dir that do not exist yet
	name   string
	device *os.File // a device or a pipe, which is written directly
}

// Open finds where an output goes and checks that it may be written there. It creates nothing, and waits for the reader
// of a named pipe.
func Open(path string, rules Rules) (*File, error) {
	f, at, err := rules.locate(path)
	switch {
	case err != nil:
		return nil, err
	case f.dir == "":
		f.device, err = os.OpenFile(at, os.O_WRONLY|os.O_APPEND, 0)
	default:
		f.root, err = os.OpenRoot(f.dir)
	}
	return f, err
}

// Check returns an error for a path that Open would refuse. It opens nothing.
func Check(path string, rules Rules) error {
	_, _, err := rules.locate(path)
	return err
}

// locate finds where an output goes, without links. The folder of a device is "".
func (r Rules) locate(path string) (f *File, at string, err error) {
	if base := filepath.Base(path); path == "" || os.IsPathSeparator(path[len(path)-1]) || base == "." || base == ".." {
		return nil, "", isFolder(path)
	}
	abs, err := filepath.Abs(path)
	if err != nil || isDescriptor(abs) {
		return &File{path: path}, abs, err
	}
	if err := r.reserved(path, abs); err != nil {
		return nil, "", err
	}
	f = &File{path: path, name: filepath.Base(abs)}
	if f.dir, f.rest, err = r.folder(path, filepath.Dir(abs)); err != nil {
		return nil, "", err
	}
	real := filepath.Join(f.dir, filepath.Join(f.rest...))
	if err = r.Held.check(path, filepath.Dir(abs), real); err != nil {
		return nil, "", err
	}
	at = filepath.Join(real, f.name)
	info, err := os.Lstat(at)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if at, err = r.link(path, at); err != nil {
			return nil, "", err
		}
		f.dir, f.name = filepath.Dir(at), filepath.Base(at)
		info, err = os.Lstat(at)
	}
	switch {
	case err == nil && info.IsDir():
		return nil, "", isFolder(path)
	case err == nil && !info.Mode().IsRegular():
		f.dir = ""
		return f, at, nil
	}
	return f, at, r.Allows(path, f.dir, at)
}

func isFolder(path string) error {
	return fmt.Errorf("%s is a folder; give the path of a file in it", path)
}

// isDescriptor reports whether a path names an open file of the program itself.
func isDescriptor(path string) bool {
	dir, base := filepath.Split(path)
	return dir == "/dev/fd/" || dir == "/proc/self/fd/" || dir == "/dev/" && (base == "stdout" || base == "stderr")
}

// Close gives the folder back. A nil file has none.
func (f *File) Close() error {
	switch {
	case f == nil:
		return nil
	case f.device != nil:
		return f.device.Close()
	}
	return f.root.Close()
}

// Device reports whether the output is a device or a pipe: bytes go there at once, and nothing is beside it.
func (f *File) Device() bool { return f != nil && f.device != nil }

// Make creates the folders that are missing, and checks that the others are still those that were found.
func (f *File) Make() error {
	held, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	if now, err := os.Stat(f.dir); err != nil || !os.SameFile(now, held) {
		return fmt.Errorf("%s is not written: the folder %s was replaced in the meantime", f.path, f.dir)
	}
	root, err := descend(f.root, f.rest)
	if err != nil {
		return fmt.Errorf("%s is not written: %w", f.path, err)
	}
	if root != f.root {
		err = f.root.Close()
		f.dir, f.root, f.rest = filepath.Join(f.dir, filepath.Join(f.rest...)), root, nil
	}
	return err
}

// descend opens a folder below another, makes what is missing and follows no link.
func descend(root *os.Root, parts []string) (*os.Root, error) {
	at := root
	for _, part := range parts {
		err := at.Mkdir(part, 0o755)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		var was, is fs.FileInfo
		var next *os.Root
		if err == nil {
			was, err = at.Lstat(part)
		}
		if err == nil && !was.IsDir() {
			err = fmt.Errorf("%s is no folder, or a symbolic link", filepath.Join(at.Name(), part))
		}
		if err == nil {
			next, err = at.OpenRoot(part)
		}
		if err == nil {
			if is, err = next.Stat("."); err == nil && !os.SameFile(was, is) {
				err = fmt.Errorf("the folder %s was replaced in the meantime", filepath.Join(at.Name(), part))
			}
		}
		if at != root {
			err = errors.Join(err, at.Close())
		}
		if err != nil {
			if next != nil {
				err = errors.Join(err, next.Close())
			}
			return nil, err
		}
		at = next
	}
	return at, nil
}

// Stage writes the bytes of a run to a temporary file beside the output. Commit renames it into place when the record
// is complete, so that the output never says more than the record does. The name of the temporary file has the id of
// the run, by which it is found after a crash. Staging again replaces the file. Into a device the bytes go at once.
func (f *File) Stage(id runs.RunID, data []byte) error {
	if f.device != nil {
		_, err := f.device.Write(data)
		return err
	}
	err := f.Make()
	if err == nil {
		err = fill(f.root, runs.StagedName(f.name, id), f.name, bytesOf(data))
	}
	return err
}

// Commit renames the staged file into place. Nothing staged is no error: the file is in place already, or staging has
// failed.
func (f *File) Commit(id runs.RunID) error {
	if f.device != nil {
		return nil
	}
	staged := runs.StagedName(f.name, id)
	if _, err := f.root.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := f.Make()
	if err == nil {
		err = f.root.Rename(staged, f.name)
	}
	return err
}

// Discard removes what a run staged in the folder of the output and did not commit.
func (f *File) Discard(id runs.RunID) error {
	if f.device != nil || len(f.rest) > 0 {
		return nil
	}
	return discard(f.root, id)
}

func discard(root *os.Root, id runs.RunID) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		if runs.StagedBy(entry.Name()) == id {
			if gone := root.Remove(entry.Name()); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}
	return err
}

// Write replaces the output.
func (f *File) Write(data []byte) error { return f.WriteStream(bytesOf(data)) }

// WriteStream replaces the output by bytes that write writes one after the other.
func (f *File) WriteStream(write func(io.Writer) error) error {
	if f.device != nil {
		return write(f.device)
	}
	err := f.Make()
	if err == nil {
		err = replace(f.root, runs.TempPrefix+rand.Text(), f.name, write)
	}
	return err
}

// Beside writes a file of a run in a folder beside the output, by a path with slashes, as a picture in out_files. It
// follows no link.
func (f *File) Beside(id runs.RunID, path string, data []byte) error {
	if f.device != nil {
		return nil
	}
	if err := f.Make(); err != nil {
		return err
	}
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	root, err := descend(f.root, parts[:last])
	if err != nil {
		return fmt.Errorf("%s is not written: %w", filepath.Join(filepath.Dir(f.path), filepath.FromSlash(path)), err)
	}
	err = replace(root, runs.StagedName(parts[last], id), parts[last], bytesOf(data))
	if root != f.root {
		err = errors.Join(err, root.Close())
	}
	return err
}

// Stream opens the output for bytes that are to be seen as they come. An old file is emptied.
func (f *File) Stream() (*os.File, error) {
	if f.device != nil {
		return f.device, nil
	}
	if err := f.Make(); err != nil {
		return nil, err
	}
	return f.root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

func bytesOf(data []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(data); return err }
}

// replace writes a temporary file and renames it: a reader finds the old bytes or the new ones.
func replace(root *os.Root, temp, name string, write func(io.Writer) error) error {
	err := fill(root, temp, name, write)
	if err == nil {
		if err = root.Rename(temp, name); err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}
	return err
}

// fill writes a temporary file that is to replace another, and gives it the mode of that one. What stands at its name
// is removed first: a link must not be followed.
func fill(root *os.Root, temp, name string, write func(io.Writer) error) error {
	mode := fs.FileMode(0o644)
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(write(file), file.Chmod(mode), file.Close()); err != nil {
		err = errors.Join(err, root.Remove(temp))
	}
	return err
}

// Tidy renames the staged output of a run that was killed into place if its record is complete, and removes what else
// it staged there and in the folder of its pictures, "" for none.
func Tidy(path, pictures string, id runs.RunID, complete bool) error {
	f, _, err := Rules{Force: true}.locate(path)
	if err != nil || f.dir == "" || len(f.rest) > 0 {
		return nil // nothing is staged there
	}
	if f.root, err = os.OpenRoot(f.dir); err != nil {
		return err
	}
	defer f.Close()
	if complete {
		err = f.Commit(id)
	}
	err = errors.Join(err, f.Discard(id))
	if info, none := f.root.Lstat(pictures); pictures != "" && none == nil && info.IsDir() {
		var folder *os.Root
		if folder, none = f.root.OpenRoot(pictures); none == nil {
			err = errors.Join(err, discard(folder, id), folder.Close())
		}
	}
	return err
}

// Place moves a file or link to a path below root, a folder of the user's, and makes the folders above it. It follows
// no link below root. What is there is replaced, but a folder.
func Place(from, root, path string) error {
	if err := (Rules{}).reserved(path, filepath.Join(root, filepath.FromSlash(path))); err != nil {
		return err
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer top.Close()
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	dir, err := descend(top, parts[:last])
	if err != nil {
		return err
	}
	if dir != top {
		defer dir.Close()
	}
	if info, err := dir.Lstat(parts[last]); err == nil && info.IsDir() {
		return isFolder(path)
	}
	return runs.Move(from, filepath.Join(dir.Name(), parts[last]))
}

// Setting writes a file that a command owns, through links, and makes its folder. No notebook, parameter or branch
// chooses its path.
func Setting(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return runs.WriteFile(path, data)
}

// New writes a setting that must not exist yet.
func New(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return runs.WriteNewFile(path, data)
}

package worktree

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
)

// Mark is the worktree as it was before a step, for Rewind.
type Mark struct {
	paths map[string]disk.Stat // all but the Git directory
	git   string               // a copy of the Git directory without its objects, which are only added to
}

// CanRewind reports whether Rewind may write: a folder or checkout of the user's may hold what others wrote meanwhile.
func (t *Tree) CanRewind() bool { return !t.inUse }

// Mark notes the worktree as it is now. The content of captured files is that of the last capture.
func (t *Tree) Mark() (*Mark, error) {
	t.gather()
	defer t.takeReads(func(string) bool { return false })
	m := &Mark{paths: map[string]disk.Stat{}, git: filepath.Join(t.top, "run", "before")}
	f, err := disk.Open(t.dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := m.list(f, ""); err != nil {
		return nil, unreadable(err)
	}
	if err := disk.RemoveAll(m.git); err != nil {
		return nil, err
	}
	return m, copyGitDir(t.GitDir(), m.git)
}

func (m *Mark) list(f *disk.Folder, path string) error {
	names, err := f.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if path == "" && name == ".git" {
			continue
		}
		st, err := f.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		m.paths[path+name] = st
		if st.Kind() != disk.KindDir {
			continue
		}
		sub, err := f.Sub(name)
		if disk.Gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		err = m.list(sub, path+name+"/")
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Rewind makes the worktree what it was at a mark: captured files with the content of the last capture, no path that
// was not there, permissions, empty folders, and the Git directory. It returns the paths that it could not restore,
// sorted: files that no capture keeps (ignored, in repositories inside, pipes) and that were changed or removed.
func (t *Tree) Rewind(ctx context.Context, m *Mark) (left []string, err error) {
	t.gather()
	defer t.takeReads(func(string) bool { return false })
	if err := m.tidy(t.dir, ""); err != nil { // first, so that what became unreadable can be read
		return nil, err
	}
	if _, err := t.Restore(ctx, nil, t.Last()); err != nil {
		return nil, err
	}
	if err := m.tidy(t.dir, ""); err != nil {
		return nil, err
	}
	for _, p := range slices.Sorted(maps.Keys(m.paths)) {
		was := m.paths[p]
		if e := t.root.Find(p); e != nil && e.Mode != 0 {
			continue
		}
		is, err := disk.StatAt(t.dir, p)
		switch {
		case was.Kind() == disk.KindDir && disk.Gone(err):
			full := filepath.Join(t.dir, filepath.FromSlash(p))
			if err := errors.Join(os.MkdirAll(full, 0o777), os.Chmod(full, fs.FileMode(was.Mode&0o777))); err != nil {
				return nil, err
			}
		case was.Kind() == disk.KindDir:
		case disk.Gone(err), err == nil && (is.Mtime != was.Mtime || is.Size != was.Size || is.Inode != was.Inode):
			left = append(left, p)
		}
		if err != nil && !disk.Gone(err) {
			return nil, err
		}
	}
	return left, m.restoreGitDir(t.GitDir())
}

// tidy removes what was not there at the mark, and restores permissions.
func (m *Mark) tidy(dir, path string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range entries {
		p, full := path+d.Name(), filepath.Join(dir, d.Name())
		if p == ".git" {
			continue
		}
		info, err := os.Lstat(full)
		if disk.Gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		was, there := m.paths[p]
		isDir, wasDir := info.IsDir(), was.Kind() == disk.KindDir
		if !there || isDir != wasDir {
			if err := disk.RemoveAll(full); err != nil {
				return err
			}
			continue
		}
		if info.Mode()&fs.ModeSymlink == 0 && was.Kind() != disk.KindLink &&
			uint32(info.Mode().Perm()) != was.Mode&0o777 {
			if err := os.Chmod(full, fs.FileMode(was.Mode&0o777)); err != nil {
				return err
			}
		}
		if isDir {
			if err := m.tidy(full, p+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Mark) restoreGitDir(dot string) error {
	if info, err := os.Lstat(filepath.Join(dot, "objects")); err != nil || !info.IsDir() {
		if err := disk.RemoveAll(dot); err != nil { // its objects are gone: those of the run have copies in its store
			return err
		}
		if err := os.MkdirAll(filepath.Join(dot, "objects", "pack"), 0o777); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dot)
	if err != nil {
		return err
	}
	for _, d := range entries {
		if d.Name() != "objects" {
			err = errors.Join(err, disk.RemoveAll(filepath.Join(dot, d.Name())))
		}
	}
	if err = errors.Join(err, disk.RemoveAll(filepath.Join(dot, "objects", "info"))); err != nil {
		return err
	}
	return copyGitDir(m.git, dot)
}

// copyGitDir copies a Git directory without its objects into a folder. The index keeps its time, by which Git tells the
// files that may have changed since.
func copyGitDir(from, to string) error {
	return filepath.WalkDir(from, func(full string, d fs.DirEntry, err error) error {
		if disk.Gone(err) {
			return nil // a step removed it: there is nothing to restore
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, full)
		if err != nil {
			return err
		}
		target, slashed := filepath.Join(to, rel), filepath.ToSlash(rel)
		switch {
		case d.IsDir() && strings.HasPrefix(slashed, "objects/") && slashed != "objects/info":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
			return nil
		}
		if err := disk.Copy(from, slashed, target); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		return os.Chtimes(target, info.ModTime(), info.ModTime())
	})
}

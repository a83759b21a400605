package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Bounds of the snapshot of a folder outside a repository. Above either, only names, sizes and times are compared.
const (
	maxFolderFiles = 50_000
	maxFolderBytes = 2 << 30
)

// InFolder takes a folder outside any repository as the worktree, as it is. Its content becomes the base, kept in a
// private store under o.Dir, so that each step's change can be told. A file of more than 8 MiB is hashed and not
// kept: a change of it is seen, and the patch leaves it out. Nothing but the steps writes to the folder.
//
// .gitignore files in the folder hold; the user's own ignore file and conversions of line ends do not.
func InFolder(ctx context.Context, folder string, o Options) (*Tree, error) {
	t, err := prepare(nil, o)
	if err != nil {
		return nil, err
	}
	t.dir, t.inUse = realPath(folder), true
	t.ign, t.conv, t.mode = &ignores{}, newConverter(nil, ""), newModeRules(nil)
	if err = t.takeFolder(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	return t, nil
}

func (t *Tree) takeFolder(ctx context.Context) error {
	if err := t.loadBase(); err != nil {
		return err
	}
	files, bytes, err := t.measure()
	if err != nil {
		return err
	}
	if files > maxFolderFiles || bytes > maxFolderBytes {
		t.unread = fmt.Sprintf("the folder has %d files of %d MiB in all, more than %d files or %d MiB: only names, sizes and times were compared",
			files, bytes>>20, maxFolderFiles, maxFolderBytes>>20)
	}
	t.large = map[digest]bool{}
	if err := t.settleBase(ctx); err != nil {
		return err
	}
	t.opaque = slices.Clone(t.nested)
	t.keepRules()
	return nil
}

// measure counts the files of the worktree and their bytes, without reading any. Folders that are closed to the user,
// and so to the steps, are left out from here on.
func (t *Tree) measure() (files int, bytes int64, err error) {
	w := newWalk(true)
	w.ign, w.conv, w.exclude, w.closed = t.ign, t.conv, t.excluded, map[string]bool{}
	f, err := openRoot(t.dir)
	if err != nil {
		return 0, 0, err
	}
	defer f.close()
	root := &node{}
	if err := w.folder(root, f, "", nil, true); err != nil {
		return 0, 0, unreadable(err)
	}
	var add func(n *node)
	add = func(n *node) {
		for i := range n.files {
			if e := &n.files[i]; !e.ignored {
				files++
				bytes += e.st.size
			}
		}
		for _, d := range n.dirs {
			add(d)
		}
	}
	add(root)
	t.closed = w.closed
	return files, bytes, nil
}

// excluded says which paths of a worktree in use are Markmill's own.
func (t *Tree) excluded(path string) bool {
	return path == ".markmill" || t.closed[path] || t.opt.Exclude != nil && t.opt.Exclude(path)
}

// Unread says why the content of files was not compared; "" when it was.
func (t *Tree) Unread() string { return t.unread }

// statDigest stands for content that is not read: another size, time or inode gives another.
func (t *Tree) statDigest(st stat) digest {
	return t.fmt.sum("blob", fmt.Appendf(nil, "stat %d %d %d %d", st.size, st.mtime, st.ctime, st.ino))
}

// hashFolderFile names the content of a file in a folder outside a repository without keeping it; ok is false for one
// that is small enough to be kept. part takes of a file that changes meanwhile as much as is there.
func (t *Tree) hashFolderFile(f *folder, e *entry, part bool) (oid digest, after stat, ok bool, err error) {
	switch {
	case t.unread != "":
		return t.statDigest(e.st), e.st, true, nil
	case t.large == nil || e.st.size < streamFrom:
		return digest{}, e.st, false, nil
	}
	file, err := f.file(e.name)
	if isPermission(err) {
		return t.closedFile(e), e.st, true, nil
	}
	if err != nil {
		return digest{}, stat{}, true, err
	}
	defer file.Close()
	h := t.fmt.new()
	h.Write(header("blob", e.st.size))
	n, err := io.Copy(h, io.LimitReader(file, e.st.size+1))
	if err == nil && n != e.st.size && !part {
		err = errChanged
	}
	if err != nil {
		return digest{}, stat{}, true, err
	}
	h.Sum(oid[:0])
	t.large[oid] = true
	after, err = f.lstat(e.name)
	return oid, after, true, err
}

// closedFile names the content of a file in a folder outside a repository that the user cannot read.
func (t *Tree) closedFile(e *entry) digest {
	oid := t.statDigest(e.st)
	t.large[oid] = true
	return oid
}

// notKept says why the patch cannot hold the change of a file whose content is not kept.
func (t *Tree) notKept(d delta) error {
	for _, e := range []entry{d.old, d.new} {
		if e.mode == 0 || e.mode == modeLink {
			continue
		}
		if t.unread != "" {
			return &patchError{d.path, "its content was not compared"}
		}
		if t.large[e.oid] {
			return &patchError{d.path, fmt.Sprintf("larger than %d MiB or not readable, and in no repository: the patch leaves it out", streamFrom>>20)}
		}
	}
	return nil
}

package worktree

import (
	"context"
	"errors"
	"fmt"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/patch"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"os"
	"slices"
)

// Bounds of the snapshot of a folder outside a repository. Above either, only names, sizes and times are compared.
const (
	maxFolderFiles = 50_000
	maxFolderBytes = 2 << 30
)

// InFolder uses a folder outside of any repository as the worktree. Its content becomes the base, kept in a private
// store under o.Dir, so that each step's change can be found. A file of more than 8 MiB is hashed and not stored: its
// changes are found, but are not in the patch. Only the steps write to the folder.
//
// The folder's .gitignore files apply; the user's own ignore file and line ending conversions do not.
func InFolder(ctx context.Context, folder string, o Options) (*Tree, error) {
	t, err := prepare(nil, o, false)
	if err != nil {
		return nil, err
	}
	t.dir, t.inUse = disk.RealPath(folder), true
	t.ign, t.conv, t.mode = &rules.Ignores{}, rules.NewConverter(nil, ""), newModeRules(nil)
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
		t.unread = fmt.Sprintf("the folder has %d files of %d MiB in all, more than %d files or %d MiB: only names, "+
			"sizes and times were compared", files, bytes>>20, maxFolderFiles, maxFolderBytes>>20)
	}
	t.large = map[object.Digest]bool{}
	if err := t.commitBase(ctx); err != nil {
		return err
	}
	t.opaque = slices.Clone(t.nested)
	t.keepIgnoreFiles()
	return nil
}

// measure counts the files of the worktree and their bytes, without reading any. Folders that the user, and so the
// steps, cannot read are left out from then on.
func (t *Tree) measure() (files int, bytes int64, err error) {
	w := snapshot.New(true)
	w.Ignores, w.Converter, w.Exclude, w.Closed = t.ign, t.conv, t.excluded, map[string]bool{}
	root := &snapshot.Node{}
	if err := w.Root(root, t.dir, true); err != nil {
		return 0, 0, unreadable(err)
	}
	for _, e := range root.Entries() {
		if !e.Ignored {
			files++
			bytes += e.Stat.Size
		}
	}
	t.closed = w.Closed
	return files, bytes, nil
}

// excluded reports whether a path of a worktree in use is Markmill's own.
func (t *Tree) excluded(path string) bool {
	return path == ".markmill" || t.closed[path] || t.opt.Exclude != nil && t.opt.Exclude(path)
}

// Unread is the reason why the content of files was not compared; "" if it was.
func (t *Tree) Unread() string { return t.unread }

// statDigest is a stand-in for content that is not read. It changes with size, times and inode.
func (t *Tree) statDigest(st disk.Stat) object.Digest {
	return t.fmt.Sum("blob", fmt.Appendf(nil, "stat %d %d %d %d", st.Size, st.Mtime, st.Ctime, st.Inode))
}

// notKept is the reason why the patch cannot hold a change whose content is not stored.
func (t *Tree) notKept(d patch.Delta) error {
	for _, e := range []patch.Side{d.Old, d.New} {
		if e.Mode == 0 || e.Mode == disk.ModeLink {
			continue
		}
		if t.unread != "" {
			return &patch.Error{Path: d.Path, Msg: "its content was not compared"}
		}
		if t.large[e.OID] {
			return &patch.Error{Path: d.Path,
				Msg: fmt.Sprintf("larger than %d MiB or not readable, and in no repository: the patch leaves it out",
					object.StreamFrom>>20)}
		}
	}
	return nil
}

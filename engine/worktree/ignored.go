package worktree

import (
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
)

// IgnoredWritten lists the files that Git ignores and that were written, as captures found them. With look it looks for
// more, and captures nothing.
func (t *Tree) IgnoredWritten(look bool) ([]string, error) {
	if look {
		w := snapshot.New(t.fine)
		w.Base, w.Lenient, w.Ignores, w.Converter, w.Forced = t.dir+"/", true, t.ign, t.conv, t.forced
		if err := w.Root(t.root, t.dir, t.recheck); err != nil {
			return nil, err
		}
		maps.Copy(t.ignored, w.IgnoredPaths)
	}
	return slices.Sorted(maps.Keys(t.ignored)), nil
}

// Ignores reports whether Git ignores a path of the worktree, by the rules that the last capture found. A captured one
// is not ignored, whatever the rules are.
func (t *Tree) Ignores(path string) bool {
	if e := t.root.Find(path); e != nil && e.Mode != 0 {
		return false
	}
	var chain *rules.Chain
	for n, i := t.root, 0; ; {
		if n != nil && n.Rules != nil {
			chain = n.Rules
		}
		end := strings.IndexByte(path[i:], '/')
		if end < 0 {
			return t.ign.Ignored(chain, path, path[i:], false)
		}
		at, name := path[:i+end], path[i:i+end]
		if t.ign.Ignored(chain, at, name, true) {
			return true
		}
		if n != nil {
			d, ok := snapshot.FindDir(n.Dirs, name)
			if ok {
				n = n.Dirs[d]
			} else {
				n = nil
			}
		}
		i += end + 1
	}
}

// Files are the files that the last capture has.
func (t *Tree) Files() iter.Seq[string] {
	return func(yield func(string) bool) {
		for prefix, e := range t.root.Entries() {
			if e.Mode != 0 && !yield(prefix+e.Name) {
				return
			}
		}
	}
}

// Captured lists the files in a folder that the last capture has.
func (t *Tree) Captured(folder string) (list []string) {
	for name := range t.Files() {
		if strings.HasPrefix(name, folder+"/") {
			list = append(list, name)
		}
	}
	return list
}

// Bring makes a path of the worktree the same as in another folder, in which its path is from.
func (t *Tree) Bring(root, from, path string) error {
	st, err := disk.StatAt(root, from)
	if err != nil {
		return err
	}
	if err := disk.MakeWay(t.dir, path); err != nil {
		return err
	}
	to := filepath.Join(t.dir, filepath.FromSlash(path))
	if err := disk.Copy(root, from, to); err != nil || st.Kind() == disk.KindLink {
		return err
	}
	return os.Chtimes(to, time.Time{}, time.Unix(0, st.Mtime))
}

package worktree

import (
	"cmp"
	"context"
	"fmt"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Restored is a file that begins with another content and mode than the base has.
type Restored struct {
	Path string
	Blob object.OID // "" is no file
	Mode string     // as ChangedFile has it; "" is a file that is not executable
	// Text is the content if the repository has no such blob; nil leaves it to Blob.
	Text []byte `json:",omitempty"`
}

// restore gives a file the content of a blob of the repository.
func (t *Tree) restore(ctx context.Context, r Restored) error {
	if r.Blob == "" && r.Text == nil {
		return disk.RemoveUp(t.dir, r.Path)
	}
	id, ok := t.fmt.Parse(r.Blob)
	if r.Text != nil {
		var err error
		if id, err = t.store.Put("blob", r.Text); err != nil {
			return err
		}
		ok = true
	}
	mode, err := strconv.ParseUint(cmp.Or(r.Mode, "100644"), 8, 32)
	if !ok || err != nil {
		return fmt.Errorf("%q with the mode %q is no file of this repository", r.Blob, r.Mode)
	}
	return t.writeOne(ctx, r.Path, snapshot.Entry{Mode: uint32(mode), OID: id})
}

// HasBlob reports whether the repository has a blob.
func (s *Source) HasBlob(blob object.OID) bool {
	id, ok := s.Format.Parse(blob)
	if !ok {
		return false
	}
	_, err := s.Read("blob", id)
	return err == nil
}

// copyDirty copies what the options ask for: the user's uncommitted changes, earlier contents, and ignored files.
func (t *Tree) copyDirty(ctx context.Context) error {
	if t.src == nil {
		return nil
	}
	if t.opt.IncludeDirty {
		paths, err := t.src.Dirty(ctx)
		if err != nil {
			return err
		}
		for _, p := range paths {
			if err := t.copyFile(p); err != nil {
				return fmt.Errorf("taking the uncommitted %s along: %w", p, err)
			}
		}
	}
	for _, r := range t.opt.Reverse {
		if err := t.restore(ctx, r); err != nil {
			return fmt.Errorf("taking the change of %s back: %w", r.Path, err)
		}
	}
	if len(t.opt.Copy) == 0 {
		return nil
	}
	paths, err := ignoredFiles(t.src.Root(), t.ign, t.opt.Copy)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if _, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(p))); err == nil {
			continue // the base has it
		}
		if err := t.copyFile(p); err != nil {
			return fmt.Errorf("copying %s: %w", p, err)
		}
	}
	return nil
}

// copyFile makes a path of the worktree the same as in the user's checkout. It removes what is missing there.
func (t *Tree) copyFile(path string) error {
	st, err := disk.StatAt(t.src.Root(), path)
	if disk.Gone(err) || err == nil && st.Kind() == disk.KindOther {
		return disk.RemoveUp(t.dir, path)
	}
	if err != nil || st.Kind() == disk.KindDir { // a submodule, or a repository inside
		return err
	}
	return t.Bring(t.src.Root(), path, path) // with its time: a build folder is not older than what it was made of
}

// IgnoredIn lists the files that Git ignores in what was a worktree of the source.
func (s *Source) IgnoredIn(dir string) ([]string, error) {
	return ignoredFiles(dir, rules.NewIgnores(s.Config, s.CommonDir()), []string{"*"})
}

// ignoredFiles lists the ignored files below a folder that match patterns, in folders of dependencies only if a pattern
// names the folder.
func ignoredFiles(dir string, ign *rules.Ignores, patterns []string) ([]string, error) {
	w := snapshot.New(true)
	w.Ignores, w.Converter = ign, rules.NewConverter(nil, "")
	w.Exclude = func(path string) bool { return path == ".markmill" }
	root := &snapshot.Node{}
	if err := w.Root(root, dir, true); err != nil {
		return nil, err
	}
	want := rules.Ignores{Global: []rules.IgnoreFile{rules.ParseIgnore([]byte(strings.Join(patterns, "\n")))},
		Fold: ign.Fold}
	var out []string
	var visit func(n *snapshot.Node, path string, taken bool)
	visit = func(n *snapshot.Node, path string, taken bool) {
		for i := range n.Files {
			e := &n.Files[i]
			if e.Ignored && (taken || want.Ignored(nil, path+e.Name, e.Name, false)) {
				out = append(out, path+e.Name)
			}
		}
		for _, d := range n.Dirs {
			all := taken || want.Ignored(nil, path+d.Name, d.Name, true)
			named := func(pattern string) bool { return strings.Contains(pattern, d.Name) }
			if all || !isInstalled(d) || slices.ContainsFunc(patterns, named) {
				visit(d, path+d.Name+"/", all)
			}
		}
	}
	visit(root, "", false)
	return out, nil
}

// isInstalled reports whether a folder is one of dependencies. A pattern that does not name it, such as build or *.log,
// means none of its files: a part of it would be in the way of the whole.
func isInstalled(n *snapshot.Node) bool {
	_, environment := snapshot.FindEntry(n.Files, repo.EnvironmentFile)
	return environment || n.Name == repo.Modules
}

// readForced finds the ignored paths that a step added to its index with --force: it means to keep those. It reads the
// index only when that changed.
func (t *Tree) readForced() {
	index := filepath.Join(t.GitDir(), "index")
	st, err := disk.StatAt(filepath.Dir(index), "index")
	if err != nil || st == t.indexSt {
		return
	}
	list, err := snapshot.ReadIndex(index, t.fmt)
	if err != nil {
		return // a step broke it, or it is split: what is ignored stays so
	}
	t.indexSt = st
	forced := map[string]bool{}
	for p := range list {
		if e := t.root.Find(p); e == nil || e.Mode == 0 {
			forced[p] = true
		}
	}
	for p := range t.forced { // once taken, taken: capturing it made it none of the above
		forced[p] = true
	}
	t.recheck = t.recheck || len(forced) > len(t.forced)
	t.forced = forced
}

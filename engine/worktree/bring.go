package worktree

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Restored is a file with the content and the mode that it is to begin with.
type Restored struct {
	Path string
	Blob OID    // "" is no file
	Mode string // as ChangedFile has it; "" is a file that is not executable
}

// restore gives a file the content of a blob of the repository.
func (t *Tree) restore(r Restored) error {
	if r.Blob == "" {
		return removeUp(t.dir, r.Path)
	}
	id, ok := t.fmt.parse(r.Blob)
	if !ok {
		return fmt.Errorf("%q is no blob of this repository", r.Blob)
	}
	data, err := t.src.read("blob", id)
	if err != nil {
		return err
	}
	if err := makeWay(t.dir, r.Path); err != nil {
		return err
	}
	to := filepath.Join(t.dir, filepath.FromSlash(r.Path))
	if r.Mode == "120000" {
		return os.Symlink(string(data), to)
	}
	mode := os.FileMode(0o644)
	if r.Mode == "100755" {
		mode = 0o755
	}
	return os.WriteFile(to, data, mode)
}

// HasBlob says that a blob is in the repository.
func (s *Source) HasBlob(blob OID) bool {
	id, ok := s.fmt.parse(blob)
	if !ok {
		return false
	}
	_, err := s.read("blob", id)
	return err == nil
}

// bring takes along what the options ask for: the user's uncommitted changes, earlier contents, and ignored files.
func (t *Tree) bring(ctx context.Context) error {
	if t.src == nil {
		return nil
	}
	if t.opt.IncludeDirty {
		paths, err := t.src.Dirty(ctx)
		if err != nil {
			return err
		}
		for _, p := range paths {
			if err := t.bringFile(p); err != nil {
				return fmt.Errorf("taking the uncommitted %s along: %w", p, err)
			}
		}
	}
	for _, r := range t.opt.Reverse {
		if err := t.restore(r); err != nil {
			return fmt.Errorf("taking the change of %s back: %w", r.Path, err)
		}
	}
	if len(t.opt.Copy) == 0 {
		return nil
	}
	paths, err := t.src.ignoredFiles(t.ign, t.opt.Copy)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if _, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(p))); err == nil {
			continue // the base has it
		}
		if err := t.bringFile(p); err != nil {
			return fmt.Errorf("copying %s: %w", p, err)
		}
	}
	return nil
}

// bringFile makes a path of the worktree what it is in the user's checkout: also gone.
func (t *Tree) bringFile(path string) error {
	to := filepath.Join(t.dir, filepath.FromSlash(path))
	from, name, err := reach(t.src.root, path)
	if err != nil && !gone(err) {
		return err
	}
	var st stat
	if err == nil {
		defer from.close()
		st, err = from.lstat(name)
	}
	if gone(err) || err == nil && st.kind() == kindOther {
		return removeUp(t.dir, path)
	}
	if err != nil || st.kind() == kindDir { // a submodule, or a repository inside
		return err
	}
	if err := makeWay(t.dir, path); err != nil {
		return err
	}
	if st.kind() == kindLink {
		target, err := from.readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	src, err := from.file(name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, os.FileMode(st.mode&0o777))
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if e := dst.Close(); err == nil {
		err = e
	}
	return err
}

// reach opens the folder that a path lies in, through no symbolic link.
func reach(root, path string) (*folder, string, error) {
	f, err := openRoot(root)
	if err != nil {
		return nil, "", err
	}
	for {
		dir, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			return f, path, nil
		}
		sub, err := f.sub(dir)
		f.close()
		if err != nil {
			return nil, "", err
		}
		f, path = sub, rest
	}
}

// statAt looks at a path below root, through no symbolic link.
func statAt(root, path string) (stat, error) {
	f, name, err := reach(root, path)
	if err != nil {
		return stat{}, err
	}
	defer f.close()
	return f.lstat(name)
}

// removeUp removes a file, and the folders that it leaves empty.
func removeUp(root, path string) error {
	full := filepath.Join(root, filepath.FromSlash(path))
	if err := os.Remove(full); err != nil && !gone(err) {
		if isFolder(full) {
			return nil
		}
		return err
	}
	for dir := filepath.Dir(full); dir != root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

// makeWay removes what stands at a path and makes the folders above it, replacing files that stand in their place.
func makeWay(root, path string) error {
	at := root
	parts := strings.Split(path, "/")
	for i, p := range parts {
		at = filepath.Join(at, p)
		fi, err := os.Lstat(at)
		last := i == len(parts)-1
		switch {
		case err == nil && (last || !fi.IsDir()):
			if err := os.RemoveAll(at); err != nil {
				return err
			}
		case err != nil && !gone(err):
			return err
		}
		if !last {
			if err := os.Mkdir(at, 0o777); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	return nil
}

// ignoredFiles lists the files of the checkout that are ignored and that the patterns name.
func (s *Source) ignoredFiles(ign *ignores, patterns []string) ([]string, error) {
	w := newWalk(true)
	w.ign, w.conv = ign, newConverter(nil, "")
	w.exclude = func(path string) bool { return path == ".markmill" }
	f, err := openRoot(s.root)
	if err != nil {
		return nil, err
	}
	defer f.close()
	root := &node{}
	if err := w.folder(root, f, "", nil, true); err != nil {
		return nil, err
	}
	want := ignores{global: []ignoreFile{parseIgnore([]byte(strings.Join(patterns, "\n")))}, fold: ign.fold}
	var out []string
	var visit func(n *node, path string, taken bool)
	visit = func(n *node, path string, taken bool) {
		for i := range n.files {
			e := &n.files[i]
			if e.ignored && (taken || want.ignored(nil, path+e.name, e.name, false)) {
				out = append(out, path+e.name)
			}
		}
		for _, d := range n.dirs {
			visit(d, path+d.name+"/", taken || want.ignored(nil, path+d.name, d.name, true))
		}
	}
	visit(root, "", false)
	return out, nil
}

// readForced finds the ignored paths that a step added to its index all the same: those it means to
// keep. It is read only when the index changed.
func (t *Tree) readForced() {
	index := filepath.Join(t.GitDir(), "index")
	st, err := statAt(filepath.Dir(index), "index")
	if err != nil || st == t.indexSt {
		return
	}
	list, err := readIndex(index, t.fmt)
	if err != nil {
		return // a step broke it, or it is split: what is ignored stays so
	}
	t.indexSt = st
	forced := map[string]bool{}
	for p := range list {
		if e := t.root.find(p); e == nil || e.mode == 0 {
			forced[p] = true
		}
	}
	for p := range t.forced { // once taken, taken: capturing it made it none of the above
		forced[p] = true
	}
	t.recheck = t.recheck || len(forced) > len(t.forced)
	t.forced = forced
}

// signature is a person and a time as commits hold them.
func signature(who Identity, at time.Time) string {
	clean := strings.NewReplacer("<", "", ">", "", "\n", " ", "\x00", "").Replace
	name, email := strings.TrimSpace(clean(who.Name)), strings.TrimSpace(clean(who.Email))
	if name == "" {
		name = "markmill"
	}
	return fmt.Sprintf("%s <%s> %d %s", name, email, at.Unix(), at.Format("-0700"))
}

func realPath(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}

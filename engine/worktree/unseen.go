package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Unseen lists what was written in the worktree and what no capture holds: repositories that were made
// inside it, and submodules whose files differ from their own commit. Git keeps of both a commit's name
// at most. A path ends in a slash. What stood there before the run is in Opaque.
func (t *Tree) Unseen(ctx context.Context) ([]string, error) {
	var out []string
	for _, path := range t.nested {
		if !slices.Contains(t.opaque, path) {
			out = append(out, path)
		}
	}
	for _, path := range t.submodules() {
		if slices.Contains(t.opaque, path) {
			continue
		}
		changed, err := t.submoduleChanged(ctx, path)
		if err != nil {
			return nil, err
		}
		if changed {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Opaque lists the repositories inside the user's checkout that a run in place began with. What is written
// in them is not captured; a Fingerprint sees it.
func (t *Tree) Opaque() []string { return t.opaque }

// submodules lists the paths of submodules, each with a slash at its end.
func (t *Tree) submodules() []string {
	var out []string
	_ = t.root.each("", func(path string, e *entry) error { // visit never fails
		if e.mode == modeGitlink {
			out = append(out, path+"/")
		}
		return nil
	})
	return out
}

// submoduleChanged compares the files of a submodule with the commit that it has checked out. A step
// may have written its settings: none of them is read, no program is started for it, and a conversion that
// it asks for makes it differ.
func (t *Tree) submoduleChanged(ctx context.Context, path string) (bool, error) {
	dir := filepath.Join(t.dir, filepath.FromSlash(path))
	entries, err := os.ReadDir(dir)
	if gone(err) || err == nil && len(entries) == 0 {
		return false, nil // not checked out
	}
	if err != nil {
		return true, nil // a file or a link in its place is a change that the capture has
	}
	found, err := Open(dir)
	if err != nil || found.root != realPath(dir) {
		return true, nil // files, and no repository: their commit cannot be found
	}
	plain := &Source{root: found.root, gitDir: found.gitDir, common: found.common, fmt: found.fmt, pause: found.pause}
	paths, err := plain.dirtyWalk(ctx, "")
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return err != nil || len(paths) > 0, nil
}

// keepRules remembers which .gitignore hold before any step has run.
func (t *Tree) keepRules() {
	t.ignoreFiles = map[string]func() ([]byte, error){}
	var visit func(n *node, prefix string)
	visit = func(n *node, prefix string) {
		if i, ok := findEntry(n.files, ".gitignore"); ok {
			e := n.files[i]
			switch {
			case e.mode&modeType == modeFile:
				t.ignoreFiles[prefix] = func() ([]byte, error) { return t.blob(e.oid) }
			case e.mode == 0 && e.st.kind() == kindFile: // in place: a folder that hides itself
				data, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(prefix+e.name)))
				t.ignoreFiles[prefix] = func() ([]byte, error) { return data, err }
			}
		}
		for _, d := range n.dirs {
			visit(d, prefix+d.name+"/")
		}
	}
	visit(t.root, "")
}

// Hidden lists the files that were written, that .gitignore hides from the capture, and that the rules
// of the beginning did not hide: those that the run's own rules hide.
func (t *Tree) Hidden() ([]string, error) {
	chains := map[string]*rules{}
	var chain func(prefix string) (*rules, error)
	chain = func(prefix string) (*rules, error) {
		if r, ok := chains[prefix]; ok {
			return r, nil
		}
		r := &rules{prefix: len(prefix)}
		if prefix != "" {
			up := prefix[:strings.LastIndexByte(prefix[:len(prefix)-1], '/')+1]
			var err error
			if r.up, err = chain(up); err != nil {
				return nil, err
			}
		}
		if read := t.ignoreFiles[prefix]; read != nil {
			data, err := read()
			if err != nil {
				return nil, err
			}
			r.ignore = parseIgnore(data)
		}
		chains[prefix] = r
		return r, nil
	}
	var out []string
	for path := range t.ignored {
		hidden := true
		for i := 0; i < len(path) && hidden; {
			end := strings.IndexByte(path[i:], '/')
			at, dir := path, end >= 0
			if dir {
				at = path[:i+end]
			}
			r, err := chain(path[:i])
			if err != nil {
				return nil, err
			}
			hidden = !t.ign.ignored(r, at, at[i:], dir)
			i = len(at) + 1
		}
		if hidden {
			shownPath, _ := shown(path)
			out = append(out, shownPath)
		}
	}
	slices.Sort(out)
	return out, nil
}

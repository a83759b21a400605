package worktree

import (
	"context"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Uncaptured lists what was written in the worktree and is in no capture: repositories that were created inside it, and
// submodules whose files differ from their own commit. Git stores at most the name of a commit of either. Paths end in
// a slash. What was there before the run is in Opaque.
func (t *Tree) Uncaptured(ctx context.Context) ([]string, error) {
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

// Opaque lists the repositories inside the user's checkout that were there when a run in place began. Changes in them
// are not captured, but a Fingerprint shows them.
func (t *Tree) Opaque() []string { return t.opaque }

// submodules lists the paths of submodules, each with a slash at its end.
func (t *Tree) submodules() []string {
	var out []string
	for prefix, e := range t.root.Entries() {
		if e.Mode == disk.ModeGitlink {
			out = append(out, prefix+e.Name+"/")
		}
	}
	return out
}

// submoduleChanged compares the files of a submodule with the commit that it has checked out. A step may have written
// its settings, so none of them is read and no program is started; content that would need a conversion counts as
// changed.
func (t *Tree) submoduleChanged(ctx context.Context, path string) (bool, error) {
	dir := filepath.Join(t.dir, filepath.FromSlash(path))
	entries, err := os.ReadDir(dir)
	if disk.Gone(err) || err == nil && len(entries) == 0 {
		return false, nil // not checked out
	}
	if err != nil {
		return true, nil // a file or a link in its place is a change that the capture has
	}
	found, err := repo.Open(dir)
	if err != nil || found.Root() != disk.RealPath(dir) {
		return true, nil // files, and no repository: their commit cannot be found
	}
	plain := Source{Repo: found.WithoutSettings()}
	paths, err := plain.dirtyWalk(ctx, "")
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return err != nil || len(paths) > 0, nil
}

// keepIgnoreFiles remembers the .gitignore files that apply before any step has run.
func (t *Tree) keepIgnoreFiles() {
	t.ignoreFiles = map[string]func() ([]byte, error){}
	for prefix, e := range t.root.Entries() {
		if e.Name != ".gitignore" {
			continue
		}
		switch d := e.OID; {
		case e.Mode&disk.ModeType == disk.ModeFile:
			t.ignoreFiles[prefix] = func() ([]byte, error) { return t.blob(d) }
		case e.Mode == 0 && e.Stat.Kind() == disk.KindFile: // in place: a folder that hides itself
			data, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(prefix+e.Name)))
			t.ignoreFiles[prefix] = func() ([]byte, error) { return data, err }
		}
	}
}

// Hidden lists the files that were written and that only .gitignore rules added by the run itself hide from the
// capture.
func (t *Tree) Hidden() ([]string, error) {
	chains := map[string]*rules.Chain{}
	var chain func(prefix string) (*rules.Chain, error)
	chain = func(prefix string) (*rules.Chain, error) {
		if r, ok := chains[prefix]; ok {
			return r, nil
		}
		r := &rules.Chain{Prefix: len(prefix)}
		if prefix != "" {
			up := prefix[:strings.LastIndexByte(prefix[:len(prefix)-1], '/')+1]
			var err error
			if r.Up, err = chain(up); err != nil {
				return nil, err
			}
		}
		if read := t.ignoreFiles[prefix]; read != nil {
			data, err := read()
			if err != nil {
				return nil, err
			}
			r.Ignore = rules.ParseIgnore(data)
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
			hidden = !t.ign.Ignored(r, at, at[i:], dir)
			i = len(at) + 1
		}
		if hidden {
			shownPath, _ := quote.Shown(path)
			out = append(out, shownPath)
		}
	}
	slices.Sort(out)
	return out, nil
}

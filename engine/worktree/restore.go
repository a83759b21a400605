package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/patch"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// Restore makes the worktree hold what a step of an earlier run left: the content of the last capture with the step's
// patch applied, which must give the tree want; "" is any tree. Other changes since the last capture (by the same step,
// when it ran again) are removed. held reports whether the worktree was so already. Ignored files are left alone.
//
// The next Capture finds the step's change; nothing else is committed or published.
func (t *Tree) Restore(ctx context.Context, text []byte, want object.OID) (held bool, err error) {
	mark := len(t.store.Order)
	if _, err := t.refresh(ctx); err != nil {
		return false, err
	}
	tree, err := t.writeTree()
	if err != nil {
		return false, err
	}
	if t.fmt.OID(tree) == want {
		return true, nil
	}
	before := tree
	target, err := t.targetOf(text)
	if err != nil {
		return false, cannotRestore(want, err)
	}
	for known := -1; known < len(target); {
		known = len(target)
		if err := t.writeTarget(ctx, target); err != nil {
			return false, cannotRestore(want, err)
		}
		for p, was := range t.step { // what rules that were restored hide no more
			if _, there := target[p]; !there {
				target[p] = was
			}
		}
	}
	if tree, err = t.writeTree(); err != nil {
		return false, err
	}
	if got := t.fmt.OID(tree); want != "" && got != want {
		return false, cannotRestore(want,
			fmt.Errorf("its changes give the tree %s here: what it began with was another", got))
	}
	t.dropObjects(mark, tree)
	return tree == before, nil
}

// ErrNotRestored is wrapped by the error of a Restore that cannot produce the requested tree.
var ErrNotRestored = errors.New("not restored")

func cannotRestore(want object.OID, cause error) error {
	return &notebooks.Error{Kind: notebooks.KindInput,
		Msg:  fmt.Sprintf("the worktree cannot be made as it was (tree %s): %v", want, cause),
		Err:  fmt.Errorf("%w: %w", ErrNotRestored, cause),
		Hint: "run the notebook again from its beginning"}
}

// targetOf returns what each path must hold that changed since the last capture or that the patch changes. An entry of
// mode 0 is a path that must not exist.
func (t *Tree) targetOf(text []byte) (map[string]snapshot.Entry, error) {
	target := maps.Clone(t.step)
	before := func(path string) snapshot.Entry {
		if was, changed := t.step[path]; changed {
			return was
		}
		if e := t.root.Find(path); e != nil {
			return *e
		}
		return snapshot.Entry{}
	}
	parts, err := patch.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("its patch cannot be read: %w", err)
	}
	comes := map[string]snapshot.Entry{}
	for _, p := range parts {
		var was patch.State
		if p.OldPath != "" {
			e := before(p.OldPath)
			if e.Mode == 0 {
				return nil, fmt.Errorf("its patch changes %s, which is not there", quote.Path(p.OldPath))
			}
			was.Mode = e.Mode
			if was.Data, err = t.content(sideOf(e)); err != nil {
				return nil, err
			}
		}
		next, err := p.On(was)
		if err != nil {
			return nil, fmt.Errorf("its patch does not fit at %s: %w", quote.Path(cmp.Or(p.NewPath, p.OldPath)), err)
		}
		if was.Mode == disk.ModeGitlink || next.Mode == disk.ModeGitlink {
			return nil, fmt.Errorf("it changed the submodule %s", quote.Path(cmp.Or(p.NewPath, p.OldPath)))
		}
		if p.Goes() {
			target[p.OldPath] = snapshot.Entry{}
		}
		if p.NewPath == "" {
			continue
		}
		e := snapshot.Entry{Mode: next.Mode}
		if e.OID, err = t.store.Put("blob", next.Data); err != nil {
			return nil, err
		}
		t.store.Remember(e.OID, next.Data)
		comes[p.NewPath] = e
	}
	maps.Copy(target, comes) // after what goes: a path may be renamed and made anew
	return target, nil
}

// writeTarget writes to the worktree where target differs from the snapshot. Attributes come first: they determine how
// the rest is written.
func (t *Tree) writeTarget(ctx context.Context, target map[string]snapshot.Entry) error {
	var goes, attributes, comes []string
	for _, p := range slices.Sorted(maps.Keys(target)) {
		var is snapshot.Entry
		if e := t.root.Find(p); e != nil {
			is = *e
		}
		switch want := target[p]; {
		case is.Mode == want.Mode && is.OID == want.OID:
		case want.Mode == disk.ModeGitlink || is.Mode == disk.ModeGitlink:
			return fmt.Errorf("the submodule %s changed", quote.Path(p))
		case want.Mode == 0:
			goes = append(goes, p)
		case path.Base(p) == ".gitattributes":
			attributes = append(attributes, p)
		default:
			comes = append(comes, p)
		}
	}
	for _, p := range goes {
		if err := t.removeOne(p); err != nil {
			return err
		}
	}
	for _, list := range [][]string{attributes, comes} {
		for _, p := range list {
			if err := t.writeOne(ctx, p, target[p]); err != nil {
				return err
			}
		}
		if _, err := t.refresh(ctx); err != nil {
			return err
		}
	}
	return nil
}

// removeOne removes a file of the worktree, without following links on the way.
func (t *Tree) removeOne(p string) error {
	f, _, err := disk.Reach(t.dir, p)
	if disk.Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Close()
	return disk.RemoveUp(t.dir, p)
}

// writeOne writes a file of the worktree and replaces what is there.
func (t *Tree) writeOne(ctx context.Context, p string, e snapshot.Entry) error {
	if err := disk.MakeWay(t.dir, p); err != nil {
		return err
	}
	f, name, err := disk.Reach(t.dir, p)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := t.blob(e.OID)
	if err != nil {
		return err
	}
	if t.forced == nil {
		t.forced = map[string]bool{}
	}
	t.forced[p], t.recheck = true, true // also where .gitignore hides it: it was captured then
	if e.Mode&disk.ModeType == disk.ModeLink && t.mode.symlinks {
		return f.Symlink(string(data), name)
	}
	perm := uint32(0o666)
	if e.Mode&disk.ModeType == disk.ModeFile {
		conv := t.conv.Of(t.rulesOf(p), p, name)
		if conv.External {
			if data, err = t.gitSmudge(ctx, p, e.OID); err != nil {
				return err
			}
		} else {
			data = conv.Smudge(data)
		}
		perm |= e.Mode & 0o111
	}
	_, err = f.Create(name, data, perm, 0)
	return err
}

// rulesOf returns the rules of the nearest walked folder of a path.
func (t *Tree) rulesOf(p string) *rules.Chain {
	n, r := t.root, t.root.Rules
	for {
		dir, rest, deeper := strings.Cut(p, "/")
		if !deeper {
			return r
		}
		i, ok := snapshot.FindDir(n.Dirs, dir)
		if !ok {
			return r
		}
		if n = n.Dirs[i]; n.Rules != nil {
			r = n.Rules
		}
		p = rest
	}
}

// dropObjects drops the objects since mark that the snapshot does not hold: what a step made when it ran again is not
// part of the run.
func (t *Tree) dropObjects(mark int, tree object.Digest) {
	live := map[object.Digest]bool{tree: true}
	for p := range t.step {
		if e := t.root.Find(p); e != nil {
			live[e.OID] = true
		}
		n := t.root
		for rest := p; ; {
			dir, below, deeper := strings.Cut(rest, "/")
			i, ok := snapshot.FindDir(n.Dirs, dir)
			if !deeper || !ok {
				break
			}
			n, rest = n.Dirs[i], below
			live[n.Tree] = true
		}
	}
	kept := t.store.Order[:mark:mark]
	for _, d := range t.store.Order[mark:] {
		if live[d] {
			kept = append(kept, d)
		} else {
			delete(t.store.Known, d)
			delete(t.store.Recent, d)
		}
	}
	t.store.Order = kept
}

// ChangedSinceBase lists the captured paths that differ from the base, sorted.
func (t *Tree) ChangedSinceBase() []string { return slices.Sorted(maps.Keys(t.sinceBase())) }

// sinceBase returns the base's entry of each path that differs now.
func (t *Tree) sinceBase() map[string]snapshot.Entry {
	target := map[string]snapshot.Entry{}
	for p, was := range t.total {
		is := snapshot.Entry{}
		if e := t.root.Find(p); e != nil {
			is = *e
		}
		if is.Mode != was.Mode || is.OID != was.OID {
			target[p] = was
		}
	}
	return target
}

// RestoreBase restores changed paths to their content in the base, and removes those that the base lacks. Restore
// undoes it.
func (t *Tree) RestoreBase(ctx context.Context, paths []string) error {
	target := t.sinceBase()
	maps.DeleteFunc(target, func(p string, _ snapshot.Entry) bool { return !slices.Contains(paths, p) })
	return t.writeTarget(ctx, target)
}

// Last is the tree of the last capture.
func (t *Tree) Last() object.OID { return t.fmt.OID(t.lastTree) }

package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
)

// Restore makes the worktree hold what a step of an earlier run left: the content of the last capture with the
// step's patch applied to it, which must give the tree want. What was changed since the last capture (by the same
// step, when it ran again) and is not in that tree goes; held says that the worktree was so already. Files that
// .gitignore hides are left alone.
//
// Capture then finds the step's change, and nothing else of it is committed or published.
func (t *Tree) Restore(ctx context.Context, patch []byte, want OID) (held bool, err error) {
	mark := len(t.store.order)
	if _, err := t.absorb(ctx); err != nil {
		return false, err
	}
	tree, err := t.writeTree()
	if err != nil {
		return false, err
	}
	if t.fmt.oid(tree) == want {
		return true, nil
	}
	target, err := t.wanted(patch)
	if err != nil {
		return false, cannotRestore(want, err)
	}
	for known := -1; known < len(target); {
		known = len(target)
		if err := t.bringAbout(ctx, target); err != nil {
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
	if got := t.fmt.oid(tree); got != want {
		return false, cannotRestore(want, fmt.Errorf("its changes give the tree %s here: what it began with was another", got))
	}
	t.forget(mark, tree)
	return false, nil
}

// ErrNotRestored is wrapped by the error of a Restore that cannot lead to the tree that was wanted.
var ErrNotRestored = errors.New("not restored")

func cannotRestore(want OID, cause error) error {
	return &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("the worktree cannot be made as it was (tree %s): %v", want, cause), Err: fmt.Errorf("%w: %w", ErrNotRestored, cause),
		Hint: "run the notebook again from its beginning"}
}

// wanted says what each path must hold that was changed since the last capture or that the patch changes: an
// entry of mode 0 is a path that must not be there.
func (t *Tree) wanted(patch []byte) (map[string]entry, error) {
	target := maps.Clone(t.step)
	before := func(path string) entry {
		if was, changed := t.step[path]; changed {
			return was
		}
		if e := t.root.find(path); e != nil {
			return *e
		}
		return entry{}
	}
	parts, err := parsePatch(patch)
	if err != nil {
		return nil, fmt.Errorf("its patch cannot be read: %w", err)
	}
	comes := map[string]entry{}
	for i := range parts {
		p := &parts[i]
		var was entry
		var content []byte
		if p.oldPath != "" {
			if was = before(p.oldPath); was.mode == 0 {
				return nil, fmt.Errorf("its patch changes %s, which is not there", quote(p.oldPath))
			}
			if was.mode != modeGitlink {
				if content, err = t.blob(was.oid); err != nil {
					return nil, err
				}
			}
			if p.newPath == "" || p.rename {
				target[p.oldPath] = entry{}
			}
		}
		if p.newPath == "" {
			continue
		}
		mode := p.newMode
		if mode == 0 {
			mode = was.mode
		}
		if mode == modeGitlink || was.mode == modeGitlink {
			return nil, fmt.Errorf("it changed the submodule %s", quote(p.newPath))
		}
		next, err := p.apply(content)
		if err != nil {
			return nil, fmt.Errorf("its patch does not fit at %s: %w", quote(p.newPath), err)
		}
		e := entry{mode: mode}
		if e.oid, err = t.store.put("blob", next); err != nil {
			return nil, err
		}
		t.store.remember(e.oid, next)
		comes[p.newPath] = e
	}
	maps.Copy(target, comes) // after what goes: a path may be renamed and made anew
	return target, nil
}

// bringAbout writes into the worktree what target wants and the snapshot does not have. Attributes go first: they
// say how the rest is written.
func (t *Tree) bringAbout(ctx context.Context, target map[string]entry) error {
	var goes, attributes, comes []string
	for _, p := range slices.Sorted(maps.Keys(target)) {
		var is entry
		if e := t.root.find(p); e != nil {
			is = *e
		}
		switch want := target[p]; {
		case is.mode == want.mode && is.oid == want.oid:
		case want.mode == modeGitlink || is.mode == modeGitlink:
			return fmt.Errorf("the submodule %s changed", quote(p))
		case want.mode == 0:
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
		if _, err := t.absorb(ctx); err != nil {
			return err
		}
	}
	return nil
}

// removeOne removes a file of the worktree. The folder that it is in is reached without following a link.
func (t *Tree) removeOne(p string) error {
	f, _, err := reach(t.dir, p)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.close()
	return removeUp(t.dir, p)
}

// writeOne writes a file of the worktree anew, in place of what stands there.
func (t *Tree) writeOne(ctx context.Context, p string, e entry) error {
	if err := makeWay(t.dir, p); err != nil {
		return err
	}
	f, name, err := reach(t.dir, p)
	if err != nil {
		return err
	}
	defer f.close()
	data, err := t.blob(e.oid)
	if err != nil {
		return err
	}
	if t.forced == nil {
		t.forced = map[string]bool{}
	}
	t.forced[p], t.recheck = true, true // also where .gitignore hides it: it was captured then
	if e.mode&modeType == modeLink && t.mode.symlinks {
		return f.symlink(string(data), name)
	}
	perm := uint32(0o666)
	if e.mode&modeType == modeFile {
		conv := t.conv.of(t.rulesOf(p), p, name)
		if conv.external {
			if data, err = t.gitSmudge(ctx, p, e.oid); err != nil {
				return err
			}
		} else {
			data = conv.smudge(data)
		}
		perm |= e.mode & 0o111
	}
	_, err = f.create(name, data, perm)
	return err
}

// rulesOf are the rules of the nearest folder of a path that was walked.
func (t *Tree) rulesOf(p string) *rules {
	n, r := t.root, t.root.rules
	for {
		dir, rest, deeper := strings.Cut(p, "/")
		if !deeper {
			return r
		}
		i, ok := findDir(n.dirs, dir)
		if !ok {
			return r
		}
		if n = n.dirs[i]; n.rules != nil {
			r = n.rules
		}
		p = rest
	}
}

// forget drops the objects since mark that the snapshot does not hold: what a step made when it ran again is no
// part of the run.
func (t *Tree) forget(mark int, tree digest) {
	live := map[digest]bool{tree: true}
	for p := range t.step {
		if e := t.root.find(p); e != nil {
			live[e.oid] = true
		}
		n := t.root
		for rest := p; ; {
			dir, below, deeper := strings.Cut(rest, "/")
			i, ok := findDir(n.dirs, dir)
			if !deeper || !ok {
				break
			}
			n, rest = n.dirs[i], below
			live[n.tree] = true
		}
	}
	kept := t.store.order[:mark:mark]
	for _, d := range t.store.order[mark:] {
		if live[d] {
			kept = append(kept, d)
		} else {
			delete(t.store.known, d)
			delete(t.store.recent, d)
		}
	}
	t.store.order = kept
}

// ChangedSinceBase lists the captured paths that differ from the base and that match takes, sorted.
func (t *Tree) ChangedSinceBase(match func(path string) bool) []string {
	var out []string
	for p := range t.sinceBase(match) {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// sinceBase says what each path that match takes was in the base, where it is another now.
func (t *Tree) sinceBase(match func(path string) bool) map[string]entry {
	target := map[string]entry{}
	for p, was := range t.total {
		is := entry{}
		if e := t.root.find(p); e != nil {
			is = *e
		}
		if match(p) && (is.mode != was.mode || is.oid != was.oid) {
			target[p] = was
		}
	}
	return target
}

// RestoreBase gives the paths that match takes the content that they have in the base: what was changed is put back,
// and what came goes. Restore undoes it.
func (t *Tree) RestoreBase(ctx context.Context, match func(path string) bool) error {
	return t.bringAbout(ctx, t.sinceBase(match))
}

// Last is the tree of the last capture.
func (t *Tree) Last() OID { return t.fmt.oid(t.lastTree) }

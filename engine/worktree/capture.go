package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/runs"
)

// Change is what one capture found.
type Change struct {
	Parent, Commit, Tree OID
	Files                []runs.ChangedFile
	Patch                []byte   // as `git apply` reads it; may be empty
	PatchErr             error    // why Patch does not give Tree; nil: it was applied in memory and does
	IgnoredWritten       int      // files that .gitignore hides and that the step wrote
	Unseen               string   // what may have been written without being found, "" when nothing may
	Skipped              []string // folders not looked into: nested repositories that are no submodules, and a .git elsewhere than at the root
}

// Capture finds what changed since the last capture, by whatever means the step changed it, and
// commits the content of the worktree as a child of the run's last commit, also when nothing
// changed. Where processes of the run live (Options.Processes), what they change at this very moment is in this
// capture or in the next one. After an error nothing is lost: the next capture finds the same changes.
func (t *Tree) Capture(ctx context.Context, step, message string) (*Change, error) {
	w, err := t.absorb(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for what step %q changed: %w", step, err)
	}
	tree, err := t.writeTree()
	if err != nil {
		return nil, err
	}
	c := &Change{
		Parent: t.fmt.oid(t.last), Tree: t.fmt.oid(tree),
		IgnoredWritten: int(w.ignored.Load()), Skipped: w.skipped,
	}
	if w.mapped != nil {
		c.Unseen = w.mapped.unseen
	}
	if !t.tells && c.Unseen == "" && t.opt.Processes != nil {
		c.Unseen = quiet
	}
	slices.Sort(c.Skipped)
	if err := t.describe(c, t.step); err != nil {
		return nil, err
	}
	commit, err := t.addCommit(t.commit(tree, t.last, message), len(c.Files) > 0)
	if err != nil {
		return nil, err
	}
	c.Commit = t.fmt.oid(commit)
	t.last, t.lastTree = commit, tree
	t.changed = t.changed || len(c.Files) > 0
	clear(t.step)
	return c, nil
}

// addCommit stores a step's commit: at once when the step changed something, else when a later one does.
func (t *Tree) addCommit(data []byte, changed bool) (digest, error) {
	if !changed {
		return t.store.hold("commit", data), nil
	}
	if err := t.store.release(); err != nil {
		return digest{}, err
	}
	return t.store.put("commit", data)
}

// Total is the change from the base to the last captured tree.
func (t *Tree) Total(ctx context.Context) (*Change, error) {
	c := &Change{Parent: t.fmt.oid(t.base), Commit: t.fmt.oid(t.last), Tree: t.fmt.oid(t.lastTree)}
	return c, t.describe(c, t.total)
}

// absorb brings the snapshot up to what the worktree holds now.
func (t *Tree) absorb(ctx context.Context) (*walk, error) {
	for try := 0; ; try++ {
		// What processes of the run never leave alone is taken as it is found.
		lenient := try >= 4 && len(t.live()) > 0
		w, err := t.walkAndRead(ctx, lenient)
		if !errors.Is(err, errChanged) {
			return w, err
		}
		if try == 4 && !lenient || try == 20 {
			return nil, fmt.Errorf("%w, again and again", err)
		}
	}
}

func (t *Tree) walkAndRead(ctx context.Context, lenient bool) (*walk, error) {
	w := newWalk(t.fine)
	w.base, w.lenient = t.dir+"/", lenient
	if !t.tells && t.opt.Processes != nil {
		w.mapped = t.mappings()
	}
	w.ign, w.conv, w.fault = t.ign, t.conv, t.fault
	if t.inUse {
		w.exclude = t.excluded
	}
	t.readForced()
	w.forced = t.forced
	f, err := openRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if err := w.folder(t.root, f, "", nil, t.recheck); err != nil {
		return nil, unreadable(err)
	}
	t.recheck = false
	t.nested = w.skipped
	for path := range w.ignoredPaths {
		t.ignored[path] = true
	}
	// Mappings are looked at between the stat of a file and its hash: one that is made later changes the file's times.
	if t.root.touched && w.mapped == nil && t.opt.Processes != nil {
		w.mapped = t.mappings()
	}
	if err := t.capture(ctx, w, t.root, f, ""); err != nil {
		return nil, unreadable(err)
	}
	return w, nil
}

// unreadable says what a closed folder or file means for a run.
func unreadable(err error) error {
	if !isPermission(err) {
		return err
	}
	return &notebooks.Error{Kind: notebooks.KindArtifact, Msg: "the worktree cannot be read whole: " + err.Error(), Err: err,
		Hint: "what is closed is not taken for deleted: let the step open it again (chmod u+rwx)"}
}

// capture works off what a walk found in a folder: reads, stores and notes it.
func (t *Tree) capture(ctx context.Context, w *walk, n *node, f *folder, path string) error {
	if !n.touched {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, e := range n.removed {
		t.note(path+e.name, e)
		n.treeOK = false
	}
	n.removed = nil
	for _, d := range n.removedDirs {
		t.removeAll(d, path+d.name+"/")
		n.treeOK = false
	}
	n.removedDirs = nil
	for i := 0; i < len(n.files); i++ {
		e := &n.files[i]
		if !e.check {
			continue
		}
		err := t.captureFile(ctx, w, n, e, f, path)
		if errors.Is(err, errChanged) && w.lenient {
			if e.mode != 0 {
				t.note(path+e.name, *e)
				n.treeOK = false
			}
			n.files = slices.Delete(n.files, i, i+1)
			i--
			continue
		}
		if err != nil {
			return err
		}
	}
	var lost []*node
	for _, d := range n.dirs {
		if !d.touched {
			continue
		}
		sub, err := f.sub(d.name)
		if gone(err) && w.lenient {
			n.st = stat{}
			t.removeAll(d, path+d.name+"/")
			lost = append(lost, d)
			n.treeOK = false
			continue
		}
		if gone(err) {
			n.st = stat{}
			return errChanged
		}
		if err != nil {
			return err
		}
		err = t.capture(ctx, w, d, sub, path+d.name+"/")
		sub.close()
		if !d.treeOK {
			n.treeOK = false
		}
		if err != nil {
			return err
		}
	}
	n.dirs = slices.DeleteFunc(n.dirs, func(d *node) bool { return slices.Contains(lost, d) })
	n.touched = false
	return nil
}

// removeAll notes everything captured in a folder that is gone.
func (t *Tree) removeAll(n *node, prefix string) {
	for _, e := range n.removed {
		t.note(prefix+e.name, e)
	}
	for i := range n.files {
		if e := n.files[i]; e.mode != 0 {
			t.note(prefix+e.name, e)
		}
	}
	for _, list := range [][]*node{n.removedDirs, n.dirs} {
		for _, d := range list {
			t.removeAll(d, prefix+d.name+"/")
		}
	}
}

// captureFile reads one entry and takes its content over.
func (t *Tree) captureFile(ctx context.Context, w *walk, n *node, e *entry, f *folder, path string) error {
	was := e.st
	mode, oid, err := t.hash(ctx, w, n, e, f, path)
	if gone(err) || errors.Is(err, errChanged) {
		n.st = stat{} // it went or changed its kind meanwhile: look again
		return errChanged
	}
	if err != nil {
		return err
	}
	if mode != e.mode || oid != e.oid {
		t.note(path+e.name, *e)
		e.mode, e.oid = mode, oid
		n.treeOK = false
	}
	e.check = w.suspect(e.st) || e.st != was || w.mapped.has(e.st, w.base+path+e.name)
	return nil
}

// hash stores an entry's content as Git would.
func (t *Tree) hash(ctx context.Context, w *walk, n *node, e *entry, f *folder, path string) (uint32, digest, error) {
	if e.mode == modeGitlink && e.st.kind() != kindFile && e.st.kind() != kindLink {
		return modeGitlink, t.linkHead(f, e), nil
	}
	if e.st.kind() == kindLink {
		target, err := f.readlink(e.name)
		if err != nil {
			return 0, digest{}, err
		}
		oid, err := t.store.put("blob", []byte(target))
		return modeLink, oid, err
	}
	mode := e.st.gitMode()
	if !t.mode.fileMode {
		mode = modeFile | 0o644
		if e.mode&modeType == modeFile {
			mode = e.mode
		}
	}
	if !t.mode.symlinks && e.mode == modeLink {
		mode = modeLink
	}
	if t.known != nil {
		if oid, ok := t.known(path+e.name, e.st); ok {
			return mode, oid, nil
		}
	}
	conv := conversion{}
	if mode != modeLink {
		conv = t.conv.of(n.rules, path+e.name, e.name)
	}
	if conv.external {
		oid, err := t.gitHash(ctx, path+e.name)
		return mode, oid, err
	}
	for range 4 {
		oid, after, err := t.hashOnce(f, e, conv, false)
		if err != nil && !errors.Is(err, errChanged) {
			return 0, digest{}, err
		}
		if err == nil && after == e.st {
			return mode, oid, nil
		}
		if e.st, err = f.lstat(e.name); err != nil {
			return 0, digest{}, err
		}
		if e.st.kind() != kindFile {
			break
		}
	}
	for tries := 0; w.lenient && e.st.kind() == kindFile && tries < 8; tries++ {
		oid, _, err := t.hashOnce(f, e, conv, true)
		if !errors.Is(err, errChanged) {
			return mode, oid, err
		}
		if e.st, err = f.lstat(e.name); err != nil {
			return 0, digest{}, err
		}
	}
	return 0, digest{}, errChanged
}

// hashOnce reads a file; part takes of one that changes meanwhile as much as is there.
func (t *Tree) hashOnce(f *folder, e *entry, conv conversion, part bool) (digest, stat, error) {
	if oid, after, ok, err := t.hashFolderFile(f, e, part); ok {
		return oid, after, err
	}
	if e.st.size >= streamFrom && !conv.text {
		file, err := f.file(e.name)
		if err != nil {
			return digest{}, stat{}, err
		}
		defer file.Close()
		var in io.Reader = file
		if part {
			in = io.LimitReader(file, e.st.size)
		}
		oid, err := t.store.putStream(in, e.st.size)
		if err != nil {
			return digest{}, stat{}, err
		}
		after, err := f.lstat(e.name)
		return oid, after, err
	}
	var data []byte
	var after stat
	var err error
	if part {
		data, err = f.part(e.name, e.st.size)
	} else {
		data, after, err = f.content(e.name, e.st.size)
	}
	if t.large != nil && isPermission(err) {
		return t.closedFile(e), e.st, nil
	}
	if err != nil || !part && after != e.st {
		return digest{}, after, err
	}
	data, err = conv.clean(data, func() ([]byte, error) {
		if e.mode&modeType != modeFile {
			return nil, nil
		}
		return t.blob(e.oid)
	})
	if err != nil {
		return digest{}, after, err
	}
	oid, err := t.store.put("blob", data)
	t.store.remember(oid, data)
	return oid, after, err
}

// linkHead is the commit that a submodule has checked out; the one captured before when it has none.
func (t *Tree) linkHead(f *folder, e *entry) digest {
	sub, err := Open(f.path + "/" + e.name)
	if err != nil || sub.root != realPath(f.path+"/"+e.name) {
		return e.oid
	}
	head, err := sub.Head()
	if d, ok := t.fmt.parse(head); ok && err == nil {
		return d
	}
	return e.oid
}

// writeTree writes the trees along the changed paths; the root's is written even when it is empty.
func (t *Tree) writeTree() (digest, error) {
	tree, err := t.store.buildTree(t.root)
	if err == nil && tree.zero() {
		tree, err = t.store.put("tree", nil)
	}
	return tree, err
}

// RunTrailer is the line of a commit's message that names the run.
const RunTrailer = "Markmill-Run"

// commit composes a commit object.
func (t *Tree) commit(tree, parent digest, message string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", t.fmt.oid(tree))
	if !parent.zero() {
		fmt.Fprintf(&b, "parent %s\n", t.fmt.oid(parent))
	}
	now, committer := t.opt.Now(), t.opt.Committer
	if committer == (Identity{}) {
		committer = t.opt.Author
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", signature(t.opt.Author, now), signature(committer, now), message)
	if !strings.HasSuffix(message, "\n") {
		b.WriteByte('\n')
	}
	if t.opt.RunID != "" {
		fmt.Fprintf(&b, "\n%s: %s\n", RunTrailer, t.opt.RunID)
	}
	return []byte(b.String())
}

package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
	"markmill/runs"
)

// Change is what one capture found.
type Change struct {
	Parent, Commit, Tree object.OID
	Files                []runs.ChangedFile
	Patch                []byte // as `git apply` reads it; may be empty
	PatchErr             error  // why Patch does not give Tree; nil: it was applied in memory and does
	IgnoredWritten       int    // files that .gitignore hides and that the step wrote
	MayMiss              string // what may have been written without being found, "" when nothing may
	// folders not looked into: nested repositories that are no submodules, and a .git elsewhere than at the root
	Skipped []string
	Reads   Reads // what was read for the first time
	// Opened is all that was opened since the last capture, not only for the first time; nil where that is not known.
	Opened    Opened
	Artifacts []string // that were read, and that an earlier step had written
	Unseen    []string // folders that came, and in which it is not known what was opened
}

// Capture finds what changed since the last capture, however the step changed it, and commits the worktree's content as
// a child of the run's last commit, even if nothing changed. A change that a process of the run (Options.Processes)
// makes meanwhile is in this capture or in the next. After an error nothing is lost: the next capture finds the same
// changes.
func (t *Tree) Capture(ctx context.Context, step, message string) (*Change, error) {
	w, err := t.refresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for what step %q changed: %w", step, err)
	}
	tree, err := t.writeTree()
	if err != nil {
		return nil, err
	}
	c := &Change{
		Parent: t.fmt.OID(t.last), Tree: t.fmt.OID(tree),
		IgnoredWritten: int(w.Ignored.Load()) + len(t.over), Skipped: w.Skipped,
	}
	if w.Mappings != nil {
		c.MayMiss = w.Mappings.Unknown
	}
	if !t.reportsMmap && c.MayMiss == "" && t.opt.Processes != nil {
		c.MayMiss = snapshot.MmapNotice
	}
	slices.Sort(c.Skipped)
	if err := t.describe(c, t.step); err != nil {
		return nil, err
	}
	if t.SeesReads() {
		c.Artifacts = t.readArtifacts()
	}
	if c.Reads, c.Opened, err = t.stepReads(notebooks.StepID(step)); err != nil {
		return nil, err
	}
	commit, err := t.addCommit(t.commit(tree, t.last, message), len(c.Files) > 0)
	if err != nil {
		return nil, err
	}
	c.Commit = t.fmt.OID(commit)
	t.last, t.lastTree = commit, tree
	t.changed = t.changed || len(c.Files) > 0
	t.forget() // the engine has opened what changed
	c.Unseen = t.watchNew()
	clear(t.step)
	clear(t.stepIgnored)
	return c, nil
}

// addCommit stores a step's commit: immediately if the step changed something, otherwise together with the next one
// that did.
func (t *Tree) addCommit(data []byte, changed bool) (object.Digest, error) {
	if !changed {
		return t.store.Hold("commit", data), nil
	}
	if err := t.store.Release(); err != nil {
		return object.Digest{}, err
	}
	return t.store.Put("commit", data)
}

// Total is the change from the base to the last captured tree.
func (t *Tree) Total(ctx context.Context) (*Change, error) {
	c := &Change{Parent: t.fmt.OID(t.base), Commit: t.fmt.OID(t.last), Tree: t.fmt.OID(t.lastTree)}
	return c, t.describe(c, t.total)
}

// refresh updates the snapshot to what the worktree holds now.
func (t *Tree) refresh(ctx context.Context) (*snapshot.Walk, error) {
	t.gather()
	defer t.forget()
	for try := 0; ; try++ {
		// What processes of the run never leave alone is taken as it is found.
		lenient := try >= 4 && len(t.live()) > 0
		w, err := t.walkAndRead(ctx, lenient)
		if !errors.Is(err, disk.ErrChanged) {
			return w, err
		}
		if try == 4 && !lenient || try == 20 {
			return nil, fmt.Errorf("%w, again and again", err)
		}
	}
}

func (t *Tree) walkAndRead(ctx context.Context, lenient bool) (*snapshot.Walk, error) {
	w := snapshot.New(t.fine)
	w.Base, w.Lenient = t.dir+"/", lenient
	if !t.reportsMmap && t.opt.Processes != nil {
		w.Mappings = t.mappings()
	}
	w.Ignores, w.Converter, w.Fault = t.ign, t.conv, t.fault
	if t.inUse {
		w.Exclude = t.excluded
	}
	t.looked = false
	if t.reading != nil && t.reading.watch != nil {
		w.Read = map[string]bool{}
		defer func() {
			t.walkedReads(w.Read)
			t.reading.doubted = w.Doubted
		}()
	}
	t.readForced()
	w.Forced = t.forced
	f, err := disk.Open(t.dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := w.Folder(t.root, f, "", nil, t.recheck); err != nil {
		return nil, unreadable(err)
	}
	t.recheck, t.over, t.room = false, nil, t.opt.MaxBytes
	t.nested = w.Skipped
	for path := range w.IgnoredPaths {
		t.ignored[path], t.stepIgnored[path] = true, true
	}
	// Mappings are looked at between the stat of a file and its hash: one that is made later changes the file's times.
	if t.root.Touched && w.Mappings == nil && t.opt.Processes != nil {
		w.Mappings = t.mappings()
	}
	if err := t.capture(ctx, w, t.root, f, ""); err != nil {
		return nil, unreadable(err)
	}
	t.looked = true
	return w, nil
}

// unreadable explains what an unreadable folder or file means for a run.
func unreadable(err error) error {
	if !disk.IsPermission(err) {
		return err
	}
	return &notebooks.Error{Kind: notebooks.KindArtifact, Msg: "the worktree cannot be read whole: " + err.Error(),
		Err:  err,
		Hint: "what is closed is not taken for deleted: let the step open it again (chmod u+rwx)"}
}

// capture reads, stores and notes the files of a folder that a walk has marked.
func (t *Tree) capture(ctx context.Context, w *snapshot.Walk, n *snapshot.Node, f *disk.Folder, path string) error {
	if !n.Touched {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, e := range n.Removed {
		t.note(path+e.Name, e)
		n.TreeOK = false
	}
	n.Removed = nil
	for _, d := range n.RemovedDirs {
		t.removeAll(d, path+d.Name+"/")
		n.TreeOK = false
	}
	n.RemovedDirs = nil
	n.Own()
	for i := 0; i < len(n.Files); i++ {
		e := &n.Files[i]
		if !e.Check || t.overLimit(n, e, path) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := t.captureFile(ctx, w, n, e, f, path)
		if errors.Is(err, disk.ErrChanged) && w.Lenient {
			if e.Mode != 0 {
				t.note(path+e.Name, *e)
				n.TreeOK = false
			}
			n.Files = slices.Delete(n.Files, i, i+1)
			i--
			continue
		}
		if err != nil {
			return err
		}
	}
	var lost []*snapshot.Node
	for _, d := range n.Dirs {
		if !d.Touched {
			continue
		}
		sub, err := f.Sub(d.Name)
		if disk.Gone(err) {
			n.Stat = disk.Stat{}
			if !w.Lenient {
				return disk.ErrChanged
			}
			t.removeAll(d, path+d.Name+"/")
			lost = append(lost, d)
			n.TreeOK = false
			continue
		}
		if err != nil {
			return err
		}
		err = t.capture(ctx, w, d, sub, path+d.Name+"/")
		sub.Close()
		n.TreeOK = n.TreeOK && d.TreeOK
		if err != nil {
			return err
		}
	}
	n.Dirs = slices.DeleteFunc(n.Dirs, func(d *snapshot.Node) bool { return slices.Contains(lost, d) })
	n.Touched = false
	return nil
}

// TooLarge is a file that is in no capture, because its size alone breaks Options.MaxBytes.
type TooLarge struct {
	Path string // as in a Change
	Size int64
}

// TooLarge lists the files that the last capture left out.
func (t *Tree) TooLarge() []TooLarge { return t.over }

// overLimit leaves a new or grown file out of a capture that its size makes too large, before any of it is read: it
// counts as written and not kept, as an ignored one does. What a filter makes of a file has another size.
func (t *Tree) overLimit(n *snapshot.Node, e *snapshot.Entry, path string) bool {
	if t.opt.MaxBytes == 0 || e.Stat.Kind() != disk.KindFile || e.Mode == disk.ModeLink || e.Mode == disk.ModeGitlink {
		return false
	}
	conv, size := t.conv.Of(n.Rules, path+e.Name, e.Name), e.Stat.Size
	if conv.External {
		return false
	}
	if conv.Text {
		size /= 2 // the least that is left of empty lines
	}
	if e.Mode != 0 { // the base may have this very content
		if size <= t.opt.MaxBytes || size <= t.sizeOf(e.OID) {
			return false
		}
	} else if size <= t.room {
		t.room -= size
		return false
	}
	shown, _ := quote.Shown(path + e.Name)
	t.over = append(t.over, TooLarge{shown, e.Stat.Size})
	return true
}

// removeAll notes that everything captured in a folder is gone.
func (t *Tree) removeAll(n *snapshot.Node, prefix string) {
	for _, e := range n.Removed {
		t.note(prefix+e.Name, e)
	}
	for i := range n.Files {
		if e := n.Files[i]; e.Mode != 0 {
			t.note(prefix+e.Name, e)
		}
	}
	for _, list := range [][]*snapshot.Node{n.RemovedDirs, n.Dirs} {
		for _, d := range list {
			t.removeAll(d, prefix+d.Name+"/")
		}
	}
}

// captureFile reads one entry and records its content.
func (t *Tree) captureFile(ctx context.Context, w *snapshot.Walk, n *snapshot.Node, e *snapshot.Entry, f *disk.Folder,
	path string) error {
	was := e.Stat
	mode, oid, err := t.hash(ctx, w, n, e, f, path)
	if disk.Gone(err) || errors.Is(err, disk.ErrChanged) {
		n.Stat = disk.Stat{} // it went or changed its kind meanwhile: look again
		return disk.ErrChanged
	}
	if err != nil {
		return err
	}
	if mode != e.Mode || oid != e.OID {
		t.note(path+e.Name, *e)
		e.Mode, e.OID = mode, oid
		n.TreeOK = false
	}
	e.Check = w.Suspect(e.Stat) || e.Stat != was || w.Mappings.Has(e.Stat, w.Base+path+e.Name)
	return nil
}

// hash stores an entry's content as Git would, and returns its mode and name.
func (t *Tree) hash(ctx context.Context, w *snapshot.Walk, n *snapshot.Node, e *snapshot.Entry, f *disk.Folder,
	path string) (uint32, object.Digest, error) {
	if e.Mode == disk.ModeGitlink && e.Stat.Kind() != disk.KindFile && e.Stat.Kind() != disk.KindLink {
		return disk.ModeGitlink, t.linkHead(f, e), nil
	}
	if e.Stat.Kind() == disk.KindLink {
		target, err := f.Readlink(e.Name)
		if err != nil {
			return 0, object.Digest{}, err
		}
		oid, err := t.store.Put("blob", []byte(target))
		return disk.ModeLink, oid, err
	}
	mode := e.Stat.GitMode()
	if !t.mode.fileMode {
		mode = disk.ModeFile | 0o644
		if e.Mode&disk.ModeType == disk.ModeFile {
			mode = e.Mode
		}
	}
	if !t.mode.symlinks && e.Mode == disk.ModeLink {
		mode = disk.ModeLink
	}
	if t.known != nil {
		if oid, ok := t.known(path+e.Name, e.Stat); ok {
			return mode, oid, nil
		}
	}
	conv := rules.Conversion{}
	if mode != disk.ModeLink {
		conv = t.conv.Of(n.Rules, path+e.Name, e.Name)
	}
	if conv.External {
		oid, err := t.gitHash(ctx, path+e.Name, e, conv)
		return mode, oid, err
	}
	for range 4 {
		oid, after, err := t.hashOnce(ctx, f, e, conv, false)
		if err != nil && !errors.Is(err, disk.ErrChanged) {
			return 0, object.Digest{}, err
		}
		if err == nil && after == e.Stat {
			return mode, oid, nil
		}
		if e.Stat, err = f.Lstat(e.Name); err != nil {
			return 0, object.Digest{}, err
		}
		if e.Stat.Kind() != disk.KindFile {
			break
		}
	}
	for tries := 0; w.Lenient && e.Stat.Kind() == disk.KindFile && tries < 8; tries++ {
		oid, _, err := t.hashOnce(ctx, f, e, conv, true)
		if !errors.Is(err, disk.ErrChanged) {
			return mode, oid, err
		}
		if e.Stat, err = f.Lstat(e.Name); err != nil {
			return 0, object.Digest{}, err
		}
	}
	return 0, object.Digest{}, disk.ErrChanged
}

// hashOnce reads a file once. With part, it reads as much as is there of a file that keeps changing.
func (t *Tree) hashOnce(ctx context.Context, f *disk.Folder, e *snapshot.Entry, conv rules.Conversion, part bool) (
	oid object.Digest, after disk.Stat, err error) {
	switch {
	case t.unread != "":
		return t.statDigest(e.Stat), e.Stat, nil
	case e.Stat.Size >= object.StreamFrom && (t.large != nil || !conv.Text):
		oid, after, err = t.hashLarge(ctx, f, e, part)
	default:
		oid, after, err = t.hashContent(f, e, conv, part)
	}
	if t.large != nil && disk.IsPermission(err) { // in a folder outside a repository, the user cannot read the file
		oid = t.statDigest(e.Stat)
		t.large[oid] = true
		return oid, e.Stat, nil
	}
	return oid, after, err
}

// hashLarge stores a file as it is read; in a folder outside a repository, it only names the content.
func (t *Tree) hashLarge(ctx context.Context, f *disk.Folder, e *snapshot.Entry, part bool) (oid object.Digest,
	after disk.Stat, err error) {
	file, err := f.File(e.Name)
	if err != nil {
		return oid, after, err
	}
	defer file.Close()
	in := object.Until(ctx, file)
	if part {
		in = io.LimitReader(in, e.Stat.Size)
	}
	if t.large == nil {
		oid, err = t.store.PutStream(in, e.Stat.Size)
	} else if oid, err = t.fmt.SumStream(in, e.Stat.Size, io.Discard); err == nil {
		t.large[oid] = true
	}
	if err != nil {
		return oid, after, err
	}
	after, err = f.Lstat(e.Name)
	return oid, after, err
}

func (t *Tree) hashContent(f *disk.Folder, e *snapshot.Entry, conv rules.Conversion, part bool) (oid object.Digest,
	after disk.Stat, err error) {
	var data []byte
	if part {
		data, err = f.Part(e.Name, e.Stat.Size)
	} else {
		data, after, err = f.Content(e.Name, e.Stat.Size)
	}
	if err != nil || !part && after != e.Stat {
		return oid, after, err
	}
	data, err = conv.Clean(data, func() ([]byte, error) { return t.stored(e) })
	if err != nil {
		return oid, after, err
	}
	oid, err = t.store.Put("blob", data)
	t.store.Remember(oid, data)
	return oid, after, err
}

// stored returns what is stored of a file so far; nil if nothing is.
func (t *Tree) stored(e *snapshot.Entry) ([]byte, error) {
	if e.Mode&disk.ModeType != disk.ModeFile {
		return nil, nil
	}
	return t.blob(e.OID)
}

// linkHead returns the commit that a submodule has checked out, or the one captured before if it has none.
func (t *Tree) linkHead(f *disk.Folder, e *snapshot.Entry) object.Digest {
	sub, err := repo.Open(f.Path + "/" + e.Name)
	if err != nil || sub.Root() != disk.RealPath(f.Path+"/"+e.Name) {
		return e.OID
	}
	head, err := sub.Head()
	if d, ok := t.fmt.Parse(head); ok && err == nil {
		return d
	}
	return e.OID
}

// writeTree writes the trees along the changed paths, and the root's even if it is empty.
func (t *Tree) writeTree() (object.Digest, error) {
	tree, err := t.root.WriteTree(t.store)
	if err == nil && tree.IsZero() {
		tree, err = t.store.Put("tree", nil)
	}
	return tree, err
}

// commit composes a commit object of the run.
func (t *Tree) commit(tree, parent object.Digest, message string) []byte {
	if t.opt.RunID != "" {
		message = fmt.Sprintf("%s\n\n%s: %s\n", strings.TrimSuffix(message, "\n"), object.RunTrailer, t.opt.RunID)
	}
	return object.NewCommit{Tree: tree, Parent: parent, Author: t.opt.Author, Committer: t.opt.Author, At: t.opt.Now(),
		Message: message}.Encode(t.fmt)
}

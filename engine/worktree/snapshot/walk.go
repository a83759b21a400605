package snapshot

import (
	"cmp"
	"errors"
	"io/fs"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/rules"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// coarseTick is the longest time between two changes that carry the same time, on file systems with coarse times.
const coarseTick = 20 * time.Millisecond

// Walk looks at a folder and everything below it, and marks the nodes whose content has to be read again. It does not
// list a folder again whose own times did not change, but looks at each of its files.
type Walk struct {
	Plain     bool // for a fingerprint: nothing is ignored, nothing nested, .git is left out
	Ignores   *rules.Ignores
	Converter *rules.Converter
	Forced    map[string]bool             // ignored paths that a step put in its index all the same
	Exclude   func(path string) bool      // paths that are not part of the worktree
	Fault     func(op, path string) error // tests make calls fail
	racy      int64                       // times from here on prove nothing; see disk.FineClock
	Base      string                      // absolute, ends in a slash
	Mappings  *Mappings                   // nil: not looked for yet
	// what changes while it is read is taken as it was read, what vanishes as removed
	Lenient bool
	spare   chan struct{} // a second goroutine
	Ignored atomic.Int64  // ignored files that are new or changed
	mu      sync.Mutex
	Skipped []string // nested repositories
	// Closed collects the folders that cannot be read; nil makes them an error.
	Closed map[string]bool
	// IgnoredPaths are the files that ignored counts.
	IgnoredPaths map[string]bool
	// Read collects what was read since it was marked (disk.Folder.Mark): files, and listed folders, whose paths end in
	// a slash; that of the root is "/". nil: nobody asks.
	Read map[string]bool
	// Doubted are the files to read again although their stat is the same: it may be so after a change (Suspect).
	Doubted map[string]bool
}

// note adds a path to one of the sets.
func (w *Walk) note(set map[string]bool, path string) {
	w.mu.Lock()
	set[path] = true
	w.mu.Unlock()
}

// New prepares one walk. fine says that equal times prove that nothing changed.
func New(fine bool) *Walk {
	w := &Walk{racy: 1<<63 - 1, spare: make(chan struct{}, 1), IgnoredPaths: map[string]bool{},
		Doubted: map[string]bool{}}
	if !fine {
		w.racy = time.Now().Add(-coarseTick).UnixNano()
	}
	return w
}

// Suspect reports whether a later change might leave the same times.
func (w *Walk) Suspect(st disk.Stat) bool { return st.Mtime >= w.racy || st.Ctime >= w.racy }

// Root walks n, the folder dir. recheck says that the rules changed.
func (w *Walk) Root(n *Node, dir string, recheck bool) error {
	f, err := disk.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.Folder(n, f, "", nil, recheck)
}

// Folder walks n. path is "" or ends in a slash; up are the rules above; recheck says that they changed.
func (w *Walk) Folder(n *Node, f *disk.Folder, path string, up *rules.Chain, recheck bool) error {
	if err := w.inject("open", path); err != nil {
		return err
	}
	st, read, err := f.StatRead()
	if err != nil {
		return err
	}
	if read && w.Read != nil {
		w.note(w.Read, cmp.Or(path, "/"))
	}
	fresh := n.Stat == (disk.Stat{})
	if n.nested && st == n.Stat && !n.Suspect {
		w.skip(n, path)
		return nil
	}
	relist := st != n.Stat || n.Suspect
	if relist {
		err = w.list(n, f, path)
	} else {
		err = w.look(n, f, path)
	}
	if err != nil {
		return err
	}
	if n.nested {
		n.Stat, n.Suspect = st, w.Suspect(st)
		w.skip(n, path)
		return nil
	}
	if n.dotGit {
		w.skip(n, path+".git/")
	}
	if !w.Plain {
		changed, err := w.readRules(n, f, path, up)
		if err != nil {
			n.Stat = disk.Stat{} // look again: what follows from the rules is not settled
			return err
		}
		w.settle(n, path, recheck || changed)
		recheck = recheck || changed || fresh
	}
	n.Stat, n.Suspect = st, w.Suspect(st)
	return w.below(n, f, path, recheck)
}

// below walks the folders in n, one of them at a time on a second goroutine.
func (w *Walk) below(n *Node, f *disk.Folder, path string, recheck bool) error {
	var wg sync.WaitGroup
	errs := make([]error, 2)
	var lost []*Node
	for _, d := range n.Dirs {
		sub, ok, err := w.enter(d, f, path)
		if err != nil {
			errs[0] = err
			break
		}
		if !ok {
			w.mu.Lock()
			lost = append(lost, d)
			w.mu.Unlock()
			continue
		}
		if !w.Plain && (recheck || d.Stat == (disk.Stat{})) {
			d.ignored = w.isIgnored(n, path+d.Name, d.Name, true)
		}
		visit := func() error {
			defer sub.Close()
			err := w.Folder(d, sub, path+d.Name+"/", n.Rules, recheck)
			if disk.Gone(err) { // removed since it was opened
				w.mu.Lock()
				lost = append(lost, d)
				w.mu.Unlock()
				return nil
			}
			return err
		}
		select {
		case w.spare <- struct{}{}:
			wg.Go(func() {
				err := visit()
				<-w.spare
				w.mu.Lock()
				errs[1] = errors.Join(errs[1], err)
				w.mu.Unlock()
			})
		default:
			errs[0] = visit()
		}
		if errs[0] != nil {
			break
		}
	}
	wg.Wait()
	for _, d := range lost { // removed since the folder was listed: list it again next time
		w.dropDir(n, d)
		n.Stat = disk.Stat{}
	}
	for _, d := range n.Dirs {
		n.Touched = n.Touched || d.Touched
	}
	return errors.Join(errs...)
}

// enter opens a folder in n; ok is false if it no longer exists.
func (w *Walk) enter(d *Node, f *disk.Folder, path string) (sub *disk.Folder, ok bool, err error) {
	if err := w.inject("enter", path+d.Name); err != nil {
		return nil, false, err
	}
	if !d.Suspect {
		if sub = f.SubIf(d.Name, d.Stat); sub != nil {
			return sub, true, nil
		}
	}
	sub, err = f.Sub(d.Name)
	if w.Closed != nil && disk.IsPermission(err) {
		w.note(w.Closed, path+d.Name)
		return nil, false, nil
	}
	if disk.Gone(err) {
		return nil, false, nil
	}
	return sub, err == nil, err
}

func (w *Walk) inject(op, path string) error {
	if w.Fault == nil {
		return nil
	}
	return w.Fault(op, path)
}

func (w *Walk) wroteIgnored(path string) {
	w.Ignored.Add(1)
	w.note(w.IgnoredPaths, path)
}

func (w *Walk) skip(n *Node, path string) {
	if n.ignored {
		return
	}
	w.mu.Lock()
	w.Skipped = append(w.Skipped, path)
	w.mu.Unlock()
}

// look compares the stats of the known files of a folder whose list of names still holds.
func (w *Walk) look(n *Node, f *disk.Folder, path string) error {
	for i := 0; i < len(n.Files); i++ {
		e := &n.Files[i]
		st, read, err := f.LstatRead(e.Name)
		if read && err == nil && w.Read != nil {
			w.note(w.Read, path+e.Name)
		}
		if err == nil && (st.Kind() == disk.KindFile || st.Kind() == disk.KindLink) {
			if !w.unchanged(e, st, path) {
				w.compare(n, &n.Own()[i], st, path)
			}
			continue
		}
		if err == nil && st.Kind() == disk.KindDir && e.Mode == disk.ModeGitlink {
			n.Touched = true
			n.Own()[i].Check = true
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return w.list(n, f, path) // changed since the folder was looked at
	}
	return nil
}

func (w *Walk) unchanged(e *Entry, st disk.Stat, path string) bool {
	return st == e.Stat && !e.Check && (w.Mappings == nil || !w.Mappings.Names(st, w.Base+path+e.Name))
}

// compare marks an entry whose stat differs from the one that its content was read under.
func (w *Walk) compare(n *Node, e *Entry, st disk.Stat, path string) {
	if w.unchanged(e, st, path) {
		return
	}
	if e.Ignored && st != e.Stat {
		w.wroteIgnored(path + e.Name)
	}
	if st == e.Stat {
		w.note(w.Doubted, path+e.Name)
	}
	e.Stat = st
	if !e.Ignored {
		e.Check = true
		n.Touched = true
	}
}

// list reads the names of a folder and merges them into what is known.
func (w *Walk) list(n *Node, f *disk.Folder, path string) error {
	names, err := f.Names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	if !w.Plain && path != "" && slices.Contains(names, ".git") && isRepository(f) && !n.tracked() {
		n.nested = true
		w.clear(n)
		return nil
	}
	n.nested, n.dotGit = false, !w.Plain && path != "" && slices.Contains(names, ".git")
	files := make([]Entry, 0, len(names))
	dirs := make([]*Node, 0, len(n.Dirs))
	for _, name := range names {
		if name == ".git" || w.Exclude != nil && w.Exclude(path+name) {
			continue
		}
		st, read, err := f.LstatRead(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if read && w.Read != nil && st.Kind() != disk.KindDir {
			w.note(w.Read, path+name)
		}
		i, known := FindEntry(n.Files, name)
		switch k := st.Kind(); {
		case k == disk.KindDir && known && n.Files[i].Mode == disk.ModeGitlink:
			e := n.Files[i]
			e.Check = true
			n.Touched = true
			files = append(files, e)
		case k == disk.KindDir:
			if j, ok := FindDir(n.Dirs, name); ok {
				dirs = append(dirs, n.Dirs[j])
			} else {
				dirs = append(dirs, &Node{Name: name})
			}
		case k == disk.KindOther:
		case known:
			e := n.Files[i]
			w.compare(n, &e, st, path)
			files = append(files, e)
		default:
			files = append(files, Entry{Name: name, Stat: st, Check: true})
			n.Touched = true
		}
	}
	for _, e := range n.Files {
		if _, ok := FindEntry(files, e.Name); !ok && e.Mode != 0 {
			n.Removed = append(n.Removed, e)
			n.Touched = true
		}
	}
	for _, d := range n.Dirs {
		if _, ok := FindDir(dirs, d.Name); !ok && !w.Plain {
			n.RemovedDirs = append(n.RemovedDirs, d)
			n.Touched = true
		}
	}
	n.Files, n.Dirs, n.shared = files, dirs, false
	return nil
}

// clear drops what was known of a folder that became another repository.
func (w *Walk) clear(n *Node) {
	n.Files, n.Dirs, n.Removed, n.RemovedDirs, n.shared = nil, nil, nil, nil, false
	n.TreeOK, n.Tree = true, object.Digest{}
}

func (w *Walk) dropDir(n, d *Node) {
	if i, ok := FindDir(n.Dirs, d.Name); ok {
		n.Dirs = slices.Delete(n.Dirs, i, i+1)
		n.RemovedDirs = append(n.RemovedDirs, d)
		n.Touched = true
	}
}

// isRepository reports whether a folder's .git makes it a repository.
func isRepository(f *disk.Folder) bool {
	st, err := f.Lstat(".git")
	if err != nil || st.Kind() != disk.KindDir {
		return err == nil && st.Kind() == disk.KindFile
	}
	dot, err := f.Sub(".git")
	if err != nil {
		return true // not to be looked into: opaque all the more
	}
	defer dot.Close()
	_, err = dot.Lstat("HEAD")
	return err == nil
}

// readRules reads the folder's own .gitignore and .gitattributes if they changed, and reports whether ignore rules did.
// Like Git it does not follow symbolic links of these names.
func (w *Walk) readRules(n *Node, f *disk.Folder, path string, up *rules.Chain) (changed bool, err error) {
	r := &rules.Chain{Up: up, Prefix: len(path)}
	if n.Rules != nil {
		r.Ignore, r.Attrs = n.Rules.Ignore, n.Rules.Attrs
	}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		i, ok := FindEntry(n.Files, name)
		isFile := ok && n.Files[i].Stat.Kind() == disk.KindFile
		had := n.Rules != nil && (name == ".gitignore" && r.Ignore != nil || name == ".gitattributes" && r.Attrs != nil)
		if !isFile {
			if had {
				r.Set(name, nil, w.Converter)
				changed = changed || name == ".gitignore"
			}
			continue
		}
		if n.Rules != nil && !n.Files[i].Check && !(n.Files[i].Ignored) {
			continue
		}
		data, _, err := f.Content(name, n.Files[i].Stat.Size)
		if errors.Is(err, disk.ErrChanged) || disk.Gone(err) {
			return false, disk.ErrChanged
		}
		if err != nil {
			return false, err
		}
		r.Set(name, data, w.Converter)
		changed = changed || name == ".gitignore"
	}
	n.Rules = r
	return changed, nil
}

func (w *Walk) isIgnored(n *Node, path, name string, dir bool) bool {
	return n.ignored || w.Ignores.Ignored(n.Rules, path, name, dir)
}

// settle decides which of the entries that are not captured yet are ignored.
func (w *Walk) settle(n *Node, path string, all bool) {
	for i := range n.Files {
		e := &n.Files[i]
		if e.Mode != 0 || !all && !e.Check {
			continue
		}
		e = &n.Own()[i]
		was, known := e.Ignored, !e.Check
		e.Ignored = !w.Forced[path+e.Name] && w.isIgnored(n, path+e.Name, e.Name, false)
		switch {
		case !e.Ignored:
			e.Check = true
			n.Touched = true
		case !known && !was:
			w.wroteIgnored(path + e.Name)
			e.Check = false
		default:
			e.Check = false
		}
	}
}

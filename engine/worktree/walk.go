package worktree

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// coarseTick is how far apart two changes may be and still carry the same time, where times are coarse.
const coarseTick = 20 * time.Millisecond

// walk looks at a folder and everything below it and marks on the nodes what has to be read again.
// A folder whose own times did not change is not listed again; each of its files is looked at.
type walk struct {
	plain   bool // for a fingerprint: nothing is ignored, nothing nested, .git is left out
	ign     *ignores
	conv    *converter
	forced  map[string]bool             // ignored paths that a step put in its index all the same
	exclude func(path string) bool      // paths that are not part of the worktree
	fault   func(op, path string) error // tests make calls fail
	racy    int64                       // times from here on prove nothing; see fineClock
	base    string                      // absolute, ends in a slash
	mapped  *mappings                   // nil: not looked for yet
	lenient bool                        // what changes while it is read is taken as it was read, what vanishes as removed
	spare   chan struct{}               // a second goroutine
	ignored atomic.Int64                // ignored files that are new or changed
	mu      sync.Mutex
	skipped []string // nested repositories
	// closed collects the folders that cannot be read; nil makes them an error.
	closed map[string]bool
	// ignoredPaths are the files that ignored counts.
	ignoredPaths map[string]bool
}

// newWalk prepares one walk. fine says that equal times prove that nothing changed.
func newWalk(fine bool) *walk {
	w := &walk{racy: 1<<63 - 1, spare: make(chan struct{}, 1), ignoredPaths: map[string]bool{}}
	if !fine {
		w.racy = time.Now().Add(-coarseTick).UnixNano()
	}
	return w
}

// suspect tells whether a later change might leave the same times.
func (w *walk) suspect(st stat) bool { return st.mtime >= w.racy || st.ctime >= w.racy }

// folder walks n. path is "" or ends in a slash; up are the rules above; recheck says that they changed.
func (w *walk) folder(n *node, f *folder, path string, up *rules, recheck bool) error {
	if err := w.inject("open", path); err != nil {
		return err
	}
	st, err := f.stat()
	if err != nil {
		return err
	}
	fresh := n.st == (stat{})
	if n.nested && st == n.st && !n.suspect {
		w.skip(n, path)
		return nil
	}
	relist := st != n.st || n.suspect
	if relist {
		err = w.list(n, f, path)
	} else {
		err = w.look(n, f, path)
	}
	if err != nil {
		return err
	}
	if n.nested {
		n.st, n.suspect = st, w.suspect(st)
		w.skip(n, path)
		return nil
	}
	if n.dotGit {
		w.skip(n, path+".git/")
	}
	if !w.plain {
		changed, err := w.readRules(n, f, path, up)
		if err != nil {
			n.st = stat{} // look again: what follows from the rules is not settled
			return err
		}
		w.settle(n, path, recheck || changed)
		recheck = recheck || changed || fresh
	}
	n.st, n.suspect = st, w.suspect(st)
	return w.below(n, f, path, recheck)
}

// below walks the folders in n, one of them at a time on the second goroutine.
func (w *walk) below(n *node, f *folder, path string, recheck bool) error {
	var wg sync.WaitGroup
	errs := make([]error, 2)
	var lost []*node
	for _, d := range n.dirs {
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
		if !w.plain && (recheck || d.st == (stat{})) {
			d.ignored = w.isIgnored(n, path+d.name, d.name, true)
		}
		visit := func() error {
			defer sub.close()
			err := w.folder(d, sub, path+d.name+"/", n.rules, recheck)
			if gone(err) { // removed since it was opened
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
		n.st = stat{}
	}
	for _, d := range n.dirs {
		n.touched = n.touched || d.touched
	}
	return errors.Join(errs...)
}

// enter opens a folder in n; ok is false when it is not there any more.
func (w *walk) enter(d *node, f *folder, path string) (sub *folder, ok bool, err error) {
	if err := w.inject("enter", path+d.name); err != nil {
		return nil, false, err
	}
	sub, err = f.sub(d.name)
	if w.closed != nil && isPermission(err) {
		w.mu.Lock()
		w.closed[path+d.name] = true
		w.mu.Unlock()
		return nil, false, nil
	}
	if gone(err) {
		return nil, false, nil
	}
	return sub, err == nil, err
}

func (w *walk) inject(op, path string) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(op, path)
}

func (w *walk) wroteIgnored(path string) {
	w.ignored.Add(1)
	w.mu.Lock()
	w.ignoredPaths[path] = true
	w.mu.Unlock()
}

func (w *walk) skip(n *node, path string) {
	if n.ignored {
		return
	}
	w.mu.Lock()
	w.skipped = append(w.skipped, path)
	w.mu.Unlock()
}

// look stats the known files of a folder whose listing holds.
func (w *walk) look(n *node, f *folder, path string) error {
	for i := 0; i < len(n.files); i++ {
		e := &n.files[i]
		st, err := f.lstat(e.name)
		if err == nil && (st.kind() == kindFile || st.kind() == kindLink) {
			w.compare(n, e, st, path)
			continue
		}
		if err == nil && st.kind() == kindDir && e.mode == modeGitlink {
			n.touched = true
			e.check = true
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return w.list(n, f, path) // changed since the folder was looked at
	}
	return nil
}

// compare marks an entry whose stat is not the one that its content was read under.
func (w *walk) compare(n *node, e *entry, st stat, path string) {
	if st == e.st && !e.check && !w.mapped.names(st, w.base+path+e.name) {
		return
	}
	if e.ignored && st != e.st {
		w.wroteIgnored(path + e.name)
	}
	e.st = st
	if !e.ignored {
		e.check = true
		n.touched = true
	}
}

// list reads the names of a folder and merges them into what is known.
func (w *walk) list(n *node, f *folder, path string) error {
	names, err := f.names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	if !w.plain && path != "" && slices.Contains(names, ".git") && isRepository(f) && !n.tracked() {
		n.nested = true
		w.clear(n)
		return nil
	}
	n.nested, n.dotGit = false, !w.plain && path != "" && slices.Contains(names, ".git")
	files := make([]entry, 0, len(names))
	dirs := make([]*node, 0, len(n.dirs))
	for _, name := range names {
		if name == ".git" || w.exclude != nil && w.exclude(path+name) {
			continue
		}
		st, err := f.lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		i, known := findEntry(n.files, name)
		switch k := st.kind(); {
		case k == kindDir && known && n.files[i].mode == modeGitlink:
			e := n.files[i]
			e.check = true
			n.touched = true
			files = append(files, e)
		case k == kindDir:
			if j, ok := findDir(n.dirs, name); ok {
				dirs = append(dirs, n.dirs[j])
			} else {
				dirs = append(dirs, &node{name: name})
			}
		case k == kindOther:
		case known:
			e := n.files[i]
			w.compare(n, &e, st, path)
			files = append(files, e)
		default:
			files = append(files, entry{name: name, st: st, check: true})
			n.touched = true
		}
	}
	for _, e := range n.files {
		if _, ok := findEntry(files, e.name); !ok && e.mode != 0 {
			n.removed = append(n.removed, e)
			n.touched = true
		}
	}
	for _, d := range n.dirs {
		if _, ok := findDir(dirs, d.name); !ok && !w.plain {
			n.removedDirs = append(n.removedDirs, d)
			n.touched = true
		}
	}
	n.files, n.dirs = files, dirs
	return nil
}

// clear drops what was known of a folder that became another repository; nothing of it was captured.
func (w *walk) clear(n *node) {
	n.files, n.dirs, n.removed, n.removedDirs = nil, nil, nil, nil
	n.treeOK, n.tree = true, digest{}
}

func (w *walk) dropDir(n, d *node) {
	if i, ok := findDir(n.dirs, d.name); ok {
		n.dirs = slices.Delete(n.dirs, i, i+1)
		n.removedDirs = append(n.removedDirs, d)
		n.touched = true
	}
}

// isRepository tells whether a folder with a .git is a repository and not just a folder of that name.
func isRepository(f *folder) bool {
	st, err := f.lstat(".git")
	if err != nil || st.kind() != kindDir {
		return err == nil && st.kind() == kindFile
	}
	dot, err := f.sub(".git")
	if err != nil {
		return true // not to be looked into: opaque all the more
	}
	defer dot.close()
	_, err = dot.lstat("HEAD")
	return err == nil
}

// readRules reads the folder's own .gitignore and .gitattributes when they changed, and says whether they did.
// A symbolic link of that name is not followed, as in Git.
func (w *walk) readRules(n *node, f *folder, path string, up *rules) (changed bool, err error) {
	r := &rules{up: up, prefix: len(path)}
	if n.rules != nil {
		r.ignore, r.attrs = n.rules.ignore, n.rules.attrs
	}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		i, ok := findEntry(n.files, name)
		isFile := ok && n.files[i].st.kind() == kindFile
		had := n.rules != nil && (name == ".gitignore" && r.ignore != nil || name == ".gitattributes" && r.attrs != nil)
		if !isFile {
			if had {
				r.set(name, nil, w.conv)
				changed = changed || name == ".gitignore"
			}
			continue
		}
		if n.rules != nil && !n.files[i].check && !(n.files[i].ignored) {
			continue
		}
		data, _, err := f.content(name, n.files[i].st.size)
		if errors.Is(err, errChanged) || gone(err) {
			return false, errChanged
		}
		if err != nil {
			return false, err
		}
		r.set(name, data, w.conv)
		changed = changed || name == ".gitignore"
	}
	n.rules = r
	return changed, nil
}

// set parses one of the two files of a folder.
func (r *rules) set(name string, data []byte, conv *converter) {
	switch {
	case name == ".gitignore" && data == nil:
		r.ignore = nil
	case name == ".gitignore":
		r.ignore = parseIgnore(data)
	case data == nil:
		r.attrs = nil
	default:
		conv.mu.Lock()
		r.attrs = conv.parse(data)
		conv.mu.Unlock()
	}
}

func (w *walk) isIgnored(n *node, path, name string, dir bool) bool {
	return n.ignored || w.ign.ignored(n.rules, path, name, dir)
}

// settle decides for the entries that are not captured yet whether they are ignored.
func (w *walk) settle(n *node, path string, all bool) {
	for i := range n.files {
		e := &n.files[i]
		if e.mode != 0 || !all && !e.check {
			continue
		}
		was, known := e.ignored, !e.check
		e.ignored = !w.forced[path+e.name] && w.isIgnored(n, path+e.name, e.name, false)
		switch {
		case !e.ignored:
			e.check = true
			n.touched = true
		case !known && !was:
			w.wroteIgnored(path + e.name)
			e.check = false
		default:
			e.check = false
		}
	}
}

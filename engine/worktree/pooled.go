package worktree

import (
	"cmp"
	"errors"
	"math"
	"path/filepath"
	"sync"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/pool"
	"markmill/engine/worktree/snapshot"
)

// unused is the age at which a worktree leaves the pool.
const unused = 7 * 24 * time.Hour

// take takes the worktree's folder from the pool if one is there, and reads the base's trees meanwhile.
func (t *Tree) take() {
	if t.opt.Pool == nil || t.src == nil || t.base.IsZero() {
		return
	}
	tree, err := t.src.TreeOf(t.base)
	if err != nil {
		return // it is told where it is needed
	}
	var base sync.WaitGroup
	base.Go(func() { t.loadErr, t.loaded = t.loadBase(), true })
	t.past = t.opt.Pool.Take(t.poolKey(), filepath.Base(t.dir), string(t.fmt.OID(tree)), t.top)
	base.Wait()
}

func (t *Tree) poolKey() string {
	return t.src.CommonDir() + "\x00" + filepath.Base(t.dir) + "\x00" + t.fmt.Name
}

// poolFrom is the number of files from which a worktree is worth keeping.
func (t *Tree) poolFrom() int {
	if t.opt.Pool == nil || t.src == nil || t.base.IsZero() {
		return math.MaxInt
	}
	return t.opt.Pool.From()
}

// clear removes from a folder of the pool what the base does not have there. listed says that the names in it were
// those that the pool knows.
func (c *checkout) clear(n, had *snapshot.Node, f *disk.Folder) (listed bool, err error) {
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	var names []string
	if listed = st == had.Stat; !listed {
		if names, err = f.Names(); err != nil {
			return false, err
		}
	} else {
		for i := range had.Files {
			names = append(names, had.Files[i].Name)
		}
		for _, d := range had.Dirs {
			names = append(names, d.Name)
		}
	}
	for _, name := range names {
		_, file := snapshot.FindEntry(n.Files, name)
		_, dir := snapshot.FindDir(n.Dirs, name)
		if !file && !dir {
			if err := f.Remove(name); err != nil {
				return false, err
			}
		}
	}
	return listed, nil
}

// stays reports whether a file in a folder of the pool is proven to be what the base has there, and gives it the time
// of a new one. Otherwise nothing is left of it. listed says that no name in the folder was made, removed or replaced.
func (c *checkout) stays(n, had *snapshot.Node, e *snapshot.Entry, f *disk.Folder, path string, listed bool) (bool,
	error) {
	i, ok := snapshot.FindEntry(had.Files, e.Name)
	if !ok || !c.usable(n, &had.Files[i], e, path) {
		return false, f.Remove(e.Name)
	}
	was := had.Files[i].Stat
	st, err := c.renew(was, e, f, listed)
	if err != nil {
		return false, err
	}
	want := was
	if want.Mtime, want.Ctime = st.Mtime, st.Ctime; want != st {
		return false, f.Remove(e.Name)
	}
	e.Stat, e.Check = st, c.w.Suspect(st)
	return true, nil
}

// usable reports whether a file of the pool would be what the base has, if it is as it was written.
func (c *checkout) usable(n *snapshot.Node, was, e *snapshot.Entry, path string) bool {
	t := c.t
	switch {
	case was.Check || was.OID != e.OID || was.Mode != e.Mode || e.Mode == disk.ModeGitlink:
		return false
	case e.Mode == disk.ModeLink:
		return t.mode.symlinks
	}
	return t.conv.Of(n.Rules, path+e.Name, e.Name).Plain()
}

// renew gives a file a new time if it is as it was written, and returns what the file system says of it then, zeros
// where it is another.
func (c *checkout) renew(was disk.Stat, e *snapshot.Entry, f *disk.Folder, listed bool) (disk.Stat, error) {
	if !c.past.New(was, e.Mode&0o100 != 0) {
		return disk.Stat{}, nil
	}
	at := cmp.Or(e.Stat.Mtime, c.stamp)
	read := c.past.Hash && was.Kind() == disk.KindFile
	// A file that is read is opened, and a device that took its place must not be. In a folder whose own times have not
	// changed the name still is the file's: then the descriptor tells all that a look at the name would.
	if !read || !listed {
		st, err := f.Lstat(e.Name)
		if err != nil || st != was {
			return disk.Stat{}, nil //nolint:nilerr // whatever is there is replaced
		}
	}
	if read {
		buf, _ := c.buffers.Get().(*[]byte)
		if buf == nil {
			buf = new([]byte)
		}
		defer c.buffers.Put(buf)
		data, st, err := f.TouchSame(*buf, e.Name, was, at, func(data []byte) bool {
			return c.t.fmt.Sum("blob", data) == e.OID
		})
		if cap(data) <= object.StreamFrom {
			*buf = data
		}
		return st, err
	}
	if err := f.Touch(e.Name, at); err != nil {
		return disk.Stat{}, err
	}
	return f.Lstat(e.Name)
}

// enter opens a folder below one of the pool: the proven one, with what is known of it, or a new one in its place.
func (c *checkout) enter(had *snapshot.Node, f *disk.Folder, name string) (*disk.Folder, *snapshot.Node, error) {
	if had != nil {
		if i, ok := snapshot.FindDir(had.Dirs, name); ok {
			if sub, err := c.past.Enter(f, name, had.Dirs[i], nil); sub != nil || err != nil {
				return sub, had.Dirs[i], err
			}
		}
		if err := f.Remove(name); err != nil {
			return nil, nil, err
		}
	}
	if err := f.Mkdir(name); err != nil {
		return nil, nil, err
	}
	sub, err := f.Sub(name)
	return sub, nil, err
}

// convert notes a file whose bytes are not those of its blob.
func (c *checkout) convert(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.converted[path] = true
}

// notePristine keeps what the pool is told when the run ends: what the file system says of every file now, just after
// it was written, and not what it will say of what steps did to it.
func (t *Tree) notePristine(converted map[string]bool) {
	if tells, _ := disk.TellsChanges(t.top); !tells {
		return
	}
	boot, ahead, err := disk.Epoch()
	if err != nil {
		return
	}
	table := &pool.Table{Boot: boot, Ahead: ahead, Name: filepath.Base(t.dir)}
	table.Root, table.Converted = t.root.Clone(), converted
	last := max(t.root.Stat.Mtime, t.root.Stat.Ctime, time.Now().UnixNano())
	table.Second = last / int64(time.Second)
	t.pristine = table
}

// release puts the worktree into the pool, without what the run wrote.
func (t *Tree) release() error {
	defer func() { _, _ = t.opt.Pool.Remove(t.opt.Pool.Now().Add(-unused)) }() // the next run tries again
	if live := t.live(); len(live) > 0 {
		return errors.New("processes of the run are alive")
	}
	table := t.pristine
	for _, dir := range []string{filepath.Join(t.dir, ".git"), filepath.Join(t.top, "run")} {
		if err := disk.RemoveAll(dir); err != nil {
			return err
		}
	}
	top, err := disk.Open(t.top)
	if err != nil {
		return err
	}
	defer top.Close()
	f, err := top.SubInside(filepath.Base(t.dir))
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Inode != table.Root.Stat.Inode {
		return errors.New("the worktree's folder is another")
	}
	var now *snapshot.Node
	if t.looked {
		now = t.root
	}
	if err := table.Clean(f, now); err != nil {
		return err
	}
	tree, err := t.src.TreeOf(t.start)
	if err != nil {
		return err
	}
	return t.opt.Pool.Put(t.poolKey(), string(t.fmt.OID(tree)), t.opt.RunID, t.top, table, t.fmt)
}

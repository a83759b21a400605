package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/snapshot"
)

// Bounds of a pool.
const (
	MinFiles = 2000 // a smaller tree is written as fast as it is checked
	maxTrees = 4    // of a repository
	maxAll   = 16   // of all repositories
	maxBytes = 16 << 30
)

// Pool is a folder of worktrees: <repository>/<second>-<bytes>-<tree>-<run>/ holds a table and the tree's folder.
type Pool struct {
	Dir string // absolute, on the file system of the worktrees
	Min int    // files of a tree that is worth keeping; 0 is MinFiles
	Now func() time.Time
}

// New is a pool in a folder.
func New(dir string) *Pool { return &Pool{Dir: dir, Now: time.Now} }

// Works reports whether worktrees below a folder can be proven to be unchanged.
func Works(dir string) bool {
	tells, _ := disk.TellsChanges(dir)
	return tells
}

// From is the number of files from which a tree is worth keeping.
func (p *Pool) From() int { return cmp.Or(p.Min, MinFiles) }

const (
	tableFile = "table"
	oldPrefix = ".old-" // trees that nobody takes any more
)

// drift is by how much the clock may be moved, as time servers do, while a tree is in the pool.
const drift = int64(time.Second)

// Tree is a worktree that was taken.
type Tree struct {
	*Table
	Hash bool // times do not prove the content of files: it must be read
	kind [3]disk.Stat
}

func key(repository string) string {
	sum := sha256.Sum256([]byte(repository))
	return hex.EncodeToString(sum[:8])
}

// Take moves a worktree of a repository to the folder to, which must not exist. name is the name that the tree's folder
// must have. One that was made of the tree base is preferred. It returns nil where there is none. The tree is proven
// file by file by who uses it: a stat that is the table's.
func (p *Pool) Take(repository, name, base, to string) *Tree {
	now := p.Now()
	dir := filepath.Join(p.Dir, key(repository))
	entries, err := os.ReadDir(dir) // sorted: the one that was used least recently comes first
	if err != nil {
		return nil
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Compare(preference(a.Name(), base), preference(b.Name(), base))
	})
	for _, d := range entries {
		second, _, _ := strings.Cut(d.Name(), "-")
		// The files get new times, in a later second than before: some programs look at whole seconds.
		if at, err := strconv.ParseInt(second, 10, 64); err != nil || at >= now.Unix() {
			continue
		}
		if err := os.Rename(filepath.Join(dir, d.Name()), to); err != nil {
			continue // another run was quicker
		}
		tree, err := open(to, name, now)
		if err == nil {
			return tree
		}
		if p.Discard(to) != nil {
			return nil
		}
	}
	return nil
}

// preference orders trees: those of the same base come first.
func preference(entry, base string) int {
	if strings.Contains(entry, "-"+base+"-") {
		return 0
	}
	return 1
}

// open reads the table of a tree that was taken, and checks what holds for the tree as a whole.
func open(dir, name string, now time.Time) (*Tree, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range entries {
		if d.Name() != tableFile && d.Name() != name {
			return nil, fmt.Errorf("%s is no part of a pooled worktree", d.Name())
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, tableFile))
	if err != nil {
		return nil, err
	}
	table, err := Decode(data)
	if err != nil {
		return nil, err
	}
	boot, ahead, err := disk.Epoch()
	if err != nil {
		return nil, err
	}
	if moved := ahead - table.Ahead; boot != table.Boot || moved > drift || moved < -drift ||
		table.Second >= now.Unix() || table.Name != name {
		return nil, errors.New("the clock was set, or the machine was started anew")
	}
	t := &Tree{Table: table}
	tells, mapped := disk.TellsChanges(dir)
	if t.Hash = mapped; !tells {
		return nil, errors.New("the file system does not tell every change")
	}
	if err := t.sample(dir); err != nil {
		return nil, err
	}
	f, err := disk.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	root, err := t.Enter(f, name, table.Root, nil)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, errors.New("the tree's folder is another")
	}
	root.Close()
	return t, os.Remove(filepath.Join(dir, tableFile))
}

// sample makes a file, a program and a folder, to see what mode and owner new ones get.
func (t *Tree) sample(dir string) error {
	at := filepath.Join(dir, "sample")
	if err := os.Mkdir(at, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(at)
	f, err := disk.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	var errs [3]error
	t.kind[0], errs[0] = f.Create("file", nil, 0o666, 0)
	t.kind[1], errs[1] = f.Create("program", nil, 0o777, 0)
	t.kind[2], errs[2] = f.Stat()
	return errors.Join(errs[:]...)
}

// New reports whether what the table says of a file or link is what a new one would have: mode, owner and file system.
func (t *Tree) New(was disk.Stat, program bool) bool {
	kind := t.kind[0]
	if program {
		kind = t.kind[1]
	}
	return was.Uid == kind.Uid && was.Gid == kind.Gid && was.Dev == kind.Dev &&
		(was.Mode == kind.Mode || was.Kind() == disk.KindLink)
}

// Enter opens a folder of a tree if it is the one that the table says, with nothing mounted over it, and has mode,
// owner and attributes of a new one; nil where not. Its list of names may be another. like is a folder that is known to
// have the right attributes; nil compares with the folder around the tree.
func (t *Tree) Enter(f *disk.Folder, name string, was *snapshot.Node, like *disk.Folder) (*disk.Folder, error) {
	sub, err := f.SubInside(name)
	if err != nil {
		return nil, nil //nolint:nilerr // whatever is there is replaced
	}
	st, err := sub.Stat()
	if err != nil {
		sub.Close()
		return nil, err
	}
	kind := t.kind[2]
	same := st.Inode == was.Stat.Inode && st.Dev == was.Stat.Dev && st.Dev == kind.Dev && st.Mode == kind.Mode &&
		st.Uid == kind.Uid && st.Gid == kind.Gid
	if like == nil {
		like = f
	}
	if !same || st != was.Stat && !sub.Bare(like) {
		sub.Close()
		return nil, nil
	}
	return sub, nil
}

// Put moves a tree, the folder from, into the pool, with its table. It returns an error where the pool is full; the
// tree stays where it is then.
func (p *Pool) Put(repository, base, run, from string, table *Table, f *object.Format) error {
	dir := filepath.Join(p.Dir, key(repository))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	all, err := p.List()
	if err != nil {
		return err
	}
	own, bytes := 0, table.bytes()
	total := bytes
	for _, s := range all {
		total += s.Bytes
		if s.Repository == key(repository) {
			own++
		}
	}
	if own >= maxTrees || len(all) >= maxAll || total > maxBytes {
		return errors.New("the pool is full")
	}
	file := filepath.Join(from, tableFile)
	if err := disk.WriteNew(file, table.Encode(f), 0o600); err != nil {
		return err
	}
	return os.Rename(from, filepath.Join(dir, fmt.Sprintf("%d-%d-%s-%s", table.Second, bytes, base, run)))
}

// Discard takes a tree out of use. Remove removes it later: it may take longer than making a new one.
func (p *Pool) Discard(dir string) error {
	to, err := os.MkdirTemp(p.Dir, oldPrefix)
	if err != nil {
		return err
	}
	return os.Rename(dir, filepath.Join(to, "tree"))
}

// Free empties the pool if an error says that the disk is full, and reports whether that may help.
func (p *Pool) Free(err error) bool {
	if p == nil || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return false
	}
	removed, err := p.Remove(p.Now().Add(time.Hour))
	return removed > 0 && err == nil
}

// Slot is a worktree in the pool.
type Slot struct {
	Repository string // key of its repository
	Path       string
	Used       time.Time // when it was last written
	Bytes      int64     // of its files, without what their file system adds
	Old        bool      // nobody takes it any more
}

// Due reports whether Remove removes the worktree.
func (s Slot) Due(before time.Time) bool { return s.Old || s.Used.Before(before) }

// List lists the worktrees, those least recently used first. A missing folder is an empty pool.
func (p *Pool) List() ([]Slot, error) {
	folders, err := os.ReadDir(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Slot
	for _, r := range folders {
		path := filepath.Join(p.Dir, r.Name())
		if strings.HasPrefix(r.Name(), oldPrefix) {
			list = append(list, Slot{Path: path, Old: true})
			continue
		}
		slots, err := os.ReadDir(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, d := range slots {
			second, rest, _ := strings.Cut(d.Name(), "-")
			size, _, _ := strings.Cut(rest, "-")
			at, _ := strconv.ParseInt(second, 10, 64) // another name is as old as can be
			bytes, _ := strconv.ParseInt(size, 10, 64)
			list = append(list, Slot{Repository: r.Name(), Path: filepath.Join(path, d.Name()), Used: time.Unix(at, 0),
				Bytes: bytes})
		}
	}
	slices.SortStableFunc(list, func(a, b Slot) int { return a.Used.Compare(b.Used) })
	return list, nil
}

// Remove removes the worktrees that no run takes any more and those that were last used before a time, and returns how
// many of the latter it removed.
func (p *Pool) Remove(before time.Time) (int, error) {
	list, err := p.List()
	errs, count := []error{err}, 0
	for _, s := range list {
		if !s.Due(before) {
			continue
		}
		path := s.Path
		if !s.Old { // first out of reach of runs
			to, err := os.MkdirTemp(p.Dir, oldPrefix)
			if err == nil {
				err = os.Rename(path, filepath.Join(to, "tree"))
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // a run has taken it
			} else if err == nil {
				count++
			}
			errs = append(errs, err)
			if path = to; path == "" {
				continue
			}
		}
		errs = append(errs, disk.RemoveAll(path))
	}
	return count, errors.Join(errs...)
}

//go:build linux

package pool

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/snapshot"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made puts a tree with one file into a pool. edit changes the table before.
func made(t *testing.T, p *Pool, run string, edit func(*Table)) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(p.Dir), "made-"+run)
	must(t, os.MkdirAll(filepath.Join(dir, "tree"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "tree", "f"), []byte("x"), 0o666))
	boot, ahead, err := disk.Epoch()
	must(t, err)
	table := &Table{Boot: boot, Ahead: ahead, Second: time.Now().Unix(), Name: "tree", Root: &snapshot.Node{}}
	table.Root.Stat, err = disk.StatAt(dir, "tree")
	must(t, err)
	st, err := disk.StatAt(dir, "tree/f")
	must(t, err)
	table.Root.Files = []snapshot.Entry{{Name: "f", Mode: 0o100644, Stat: st}}
	if edit != nil {
		edit(table)
	}
	must(t, p.Put("repo", "base", run, dir, table, object.SHA1))
}

// newPool is a pool on a file system that it accepts, for which every tree is of an earlier second.
func newPool(t *testing.T) *Pool {
	t.Helper()
	dir := t.TempDir()
	if tells, _ := disk.TellsChanges(dir); !tells {
		t.Skip("the file system here does not tell every change")
	}
	p := New(filepath.Join(dir, "pool"))
	p.Now = func() time.Time { return time.Now().Add(time.Hour) }
	return p
}

func TestTake(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Table)
		then func(slot string) error // what happens in the pool
		want bool
	}{
		"as it was left":       {want: true},
		"the clock moved on":   {edit: func(x *Table) { x.Ahead += drift / 2 }, want: true},
		"the clock was set":    {edit: func(x *Table) { x.Ahead += 2 * drift }},
		"set the other way":    {edit: func(x *Table) { x.Ahead -= 2 * drift }},
		"another boot":         {edit: func(x *Table) { x.Boot = "other" }},
		"of the future":        {edit: func(x *Table) { x.Second += 7200 }},
		"another folder":       {edit: func(x *Table) { x.Root.Stat.Inode++ }},
		"another file system":  {edit: func(x *Table) { x.Root.Stat.Dev++ }},
		"another owner":        {edit: func(x *Table) { x.Root.Stat.Uid++ }, want: true}, // the stat decides
		"a name that leads up": {edit: func(x *Table) { x.Root.Files[0].Name = "../f" }},
		"the table is damaged": {then: func(slot string) error {
			data, err := os.ReadFile(filepath.Join(slot, tableFile))
			if err == nil {
				data[len(data)/2] ^= 1
				err = os.WriteFile(filepath.Join(slot, tableFile), data, 0o600)
			}
			return err
		}},
		"its name says an earlier second": {edit: func(x *Table) { x.Second += 7200 }, then: func(slot string) error {
			_, rest, _ := strings.Cut(filepath.Base(slot), "-")
			return os.Rename(slot, filepath.Join(filepath.Dir(slot), "1-"+rest))
		}},
		"the table is cut": {then: func(slot string) error {
			return os.Truncate(filepath.Join(slot, tableFile), 40)
		}},
		"the table is missing": {then: func(slot string) error { return os.Remove(filepath.Join(slot, tableFile)) }},
		"something beside it": {then: func(slot string) error {
			return os.WriteFile(filepath.Join(slot, "x"), nil, 0o600)
		}},
		"the mode of the folder": {then: func(slot string) error {
			return os.Chmod(filepath.Join(slot, "tree"), 0o700)
		}},
		"a link to the folder": {then: func(slot string) error {
			away := slot + ".away"
			if err := os.Rename(filepath.Join(slot, "tree"), away); err != nil {
				return err
			}
			return os.Symlink(away, filepath.Join(slot, "tree"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			made(t, p, "run", c.edit)
			slots, err := p.List()
			must(t, err)
			if c.then != nil {
				must(t, c.then(slots[0].Path))
			}
			to := filepath.Join(filepath.Dir(p.Dir), "taken")
			if got := p.Take("repo", "tree", "base", to); (got != nil) != c.want {
				t.Errorf("taken: %v", got != nil)
			}
			if _, err := os.Lstat(to); (err == nil) != c.want {
				t.Errorf("the folder: %v", err)
			}
			if again := p.Take("repo", "tree", "base", to+"2"); again != nil {
				t.Error("it was taken twice")
			}
		})
	}
}

// TestNew: a file whose owner, device or mode is not that of a file made now is not used again.
func TestNew(t *testing.T) {
	p := newPool(t)
	made(t, p, "run", nil)
	tree := p.Take("repo", "tree", "base", filepath.Join(filepath.Dir(p.Dir), "taken"))
	was := tree.Root.Files[0].Stat
	if !tree.New(was, false) || tree.New(was, true) {
		t.Error("it is as a new file that is no program")
	}
	for name, change := range map[string]func(*disk.Stat){
		"owner": func(s *disk.Stat) { s.Uid++ }, "group": func(s *disk.Stat) { s.Gid++ },
		"device": func(s *disk.Stat) { s.Dev++ }, "mode": func(s *disk.Stat) { s.Mode ^= 0o004 },
	} {
		other := was
		if change(&other); tree.New(other, false) {
			t.Errorf("with another %s, it is as a new file", name)
		}
	}
}

// TestSecond: a tree is not used again in the second in which its files were written.
func TestSecond(t *testing.T) {
	p := newPool(t)
	made(t, p, "run", nil)
	to := filepath.Join(filepath.Dir(p.Dir), "taken")
	p.Now = func() time.Time { return time.Now().Add(-time.Minute) }
	if p.Take("repo", "tree", "base", to) != nil {
		t.Error("taken")
	}
	if list, err := p.List(); len(list) != 1 || list[0].Old || err != nil {
		t.Errorf("a later run cannot take it: %v, %v", list, err)
	}
}

// TestCompete: of many that want a tree at once, one gets it.
func TestCompete(t *testing.T) {
	p := newPool(t)
	for range 20 {
		made(t, p, "run", nil)
		var got atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				to := filepath.Join(filepath.Dir(p.Dir), "taken", string(rune('a'+i)))
				if os.MkdirAll(filepath.Dir(to), 0o777) == nil && p.Take("repo", "tree", "base", to) != nil {
					got.Add(1)
				}
			})
		}
		all.Wait()
		if got.Load() != 1 {
			t.Fatalf("%d runs got the tree", got.Load())
		}
		must(t, os.RemoveAll(filepath.Join(filepath.Dir(p.Dir), "taken")))
	}
}

func TestBounds(t *testing.T) {
	p := newPool(t)
	for _, run := range []string{"a", "b", "c", "d"} {
		made(t, p, run, nil)
	}
	dir := filepath.Join(filepath.Dir(p.Dir), "more")
	must(t, os.Mkdir(dir, 0o777))
	if err := p.Put("repo", "base", "e", dir, &Table{Root: &snapshot.Node{}}, object.SHA1); err == nil {
		t.Error("there is no bound for a repository")
	}
	for i := range maxAll - maxTrees { // of other repositories, with a name too short for a tree
		must(t, os.MkdirAll(filepath.Join(p.Dir, strconv.Itoa(i), "1-1"), 0o777))
	}
	if err := p.Put("other", "base", "e", dir, &Table{Root: &snapshot.Node{}}, object.SHA1); err == nil {
		t.Error("there is no bound for all repositories")
	}
	for i := range maxAll - maxTrees {
		must(t, os.RemoveAll(filepath.Join(p.Dir, strconv.Itoa(i))))
	}
	huge := &Table{Root: &snapshot.Node{Files: []snapshot.Entry{{Name: "f", Stat: disk.Stat{Size: maxBytes}}}}}
	if err := p.Put("other", "base", "e", dir, huge, object.SHA1); err == nil {
		t.Error("there is no bound of bytes")
	}
	if _, err := os.Lstat(dir); err != nil {
		t.Error("a tree that is not taken is gone")
	}
	if n, err := p.Remove(time.Now().Add(-time.Minute)); n != 0 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if p.Free(os.ErrPermission) || !p.Free(syscall.ENOSPC) || p.Free(syscall.ENOSPC) {
		t.Error("a full disk empties the pool, and nothing else does")
	}
	if list, err := p.List(); len(list) > 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestPutOnFullDisk: a tree whose table cannot be written whole does not come into the pool.
func TestPutOnFullDisk(t *testing.T) {
	at := t.TempDir()
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("tmpfs cannot be mounted here")
	}
	t.Cleanup(func() { must(t, syscall.Unmount(at, 0)) })
	p := New(filepath.Join(at, "pool"))
	must(t, os.MkdirAll(filepath.Join(at, "from", "tree"), 0o777))
	table := &Table{Name: "tree", Root: &snapshot.Node{}}
	for i := range 10_000 {
		table.Root.Files = append(table.Root.Files, snapshot.Entry{Name: strconv.Itoa(i)})
	}
	if err := p.Put("repo", "base", "run", filepath.Join(at, "from"), table, object.SHA1); err == nil {
		t.Error("the table is larger than the disk")
	}
	if list, err := p.List(); len(list) > 0 || err != nil {
		t.Errorf("in the pool: %v, %v", list, err)
	}
}

func FuzzDecode(f *testing.F) {
	table := &Table{Boot: "b", Name: "n", Root: &snapshot.Node{Files: []snapshot.Entry{{Name: "f", Mode: 1}},
		Dirs: []*snapshot.Node{{Name: "d"}}}}
	f.Add(table.Encode(object.SHA1))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reader{b: data, oid: 20}
		r.node(0)
		_, _ = Decode(data)
	})
}

package worktree

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/pool"
)

// poolLab is a repository with several commits, and a pool.
type poolLab struct {
	g     *gittest.Repository
	src   *Source
	heads []object.OID
	pool  *pool.Pool
	runs  int
}

func newPoolLab(t *testing.T) *poolLab {
	t.Helper()
	g := gittest.New(t)
	for i := range 12 {
		g.Write(fmt.Sprintf("d%d/f%d", i%3, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 20))
	}
	g.Write("d1/d2/d3/f1", "deep\n")
	g.Write("f", "top\n")
	g.Write(".gitignore", "*.ig\nd9/\n")
	gittest.Must(t, os.Symlink("f", filepath.Join(g.Dir, "link")))
	gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "d1", "f1"), 0o755))
	g.Commit("base")
	l := &poolLab{g: g, pool: pool.New(filepath.Join(t.TempDir(), "pool"))}
	l.pool.Min = 1
	l.pool.Now = func() time.Time { return time.Now().Add(time.Hour) } // every tree was used in an earlier second
	add := func() {
		l.src = openSource(t, g.Dir)
		head, err := l.src.Head()
		gittest.Must(t, err)
		l.heads = append(l.heads, head)
	}
	add()
	g.Write("d1/f4", "another\n")
	gittest.Must(t, os.Remove(filepath.Join(g.Dir, "d2", "f2")))
	g.Write("d2/f2/now/a/folder", "x\n")
	gittest.Must(t, os.RemoveAll(filepath.Join(g.Dir, "d0")))
	g.Write("d0", "now a file\n")
	gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "d1", "f1"), 0o644))
	gittest.Must(t, os.Remove(filepath.Join(g.Dir, "link")))
	g.Write("link", "f") // the content of the link
	g.Commit("second")
	add()
	g.Write("d1/.gitattributes", "f* text eol=crlf\n")
	g.Write("lines", "a\nb\n")
	g.Commit("with CRLF")
	add()
	old := time.Now().Add(-time.Hour)
	for _, name := range strings.Fields(g.Git("ls-files")) {
		gittest.Must(t, os.Chtimes(filepath.Join(g.Dir, name), old, old))
	}
	g.Git("update-index", "-q", "--refresh")
	l.src = openSource(t, g.Dir)
	return l
}

// open makes a worktree of a commit, from the pool if one is there.
func (l *poolLab) open(t *testing.T, base object.OID, p *pool.Pool) *Tree {
	t.Helper()
	l.runs++
	tree, err := Create(t.Context(), l.src, Options{RunID: fmt.Sprintf("run%d", l.runs), Base: base, Pool: p,
		Dir: filepath.Join(filepath.Dir(l.pool.Dir), fmt.Sprintf("w%d", l.runs)), Author: author(),
		Now: func() time.Time { return time.Unix(1800000000, 0).UTC() }})
	gittest.Must(t, err)
	t.Cleanup(tree.closeReads)
	return tree
}

func author() object.Identity { return object.Identity{Name: "Markmill", Email: "run@example.org"} }

// slots counts the worktrees that can be taken.
func (l *poolLab) slots(t *testing.T) (paths []string) {
	t.Helper()
	list, err := l.pool.List()
	gittest.Must(t, err)
	for _, s := range list {
		if !s.Old {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// TestPooled does sequences of hostile operations in a worktree, and in the pool afterwards, and compares what is made
// of it with a fresh worktree, byte by byte.
func TestPooled(t *testing.T) {
	l := newPoolLab(t)
	if tells, _ := disk.TellsChanges(t.TempDir()); !tells {
		t.Skip("the file system here does not tell every change")
	}
	reused := 0
	rounds := gittest.Rounds(25)
	for seed := range rounds {
		r := rand.New(rand.NewPCG(11, uint64(seed)))
		base := l.heads[r.IntN(len(l.heads))]
		taken := len(l.slots(t)) > 0
		began := time.Now().Truncate(time.Second)
		mask := 0o22
		if r.IntN(4) == 0 {
			mask = 0o77
		}
		before := unix.Umask(mask)
		tree := l.open(t, base, l.pool)
		if taken && len(l.slots(t)) == 0 {
			reused++
		}
		fresh := l.open(t, base, nil)
		unix.Umask(before)
		got, want := exactly(t, tree.Dir()), exactly(t, fresh.Dir())
		for _, p := range slices.Sorted(maps.Keys(want)) {
			if got[p] != want[p] {
				t.Fatalf("seed %d: %q is %.200q, in a fresh worktree %.200q", seed, p, got[p], want[p])
			}
			delete(got, p)
		}
		if len(got) > 0 {
			t.Fatalf("seed %d: %v is in no fresh worktree", seed, slices.Sorted(maps.Keys(got)))
		}
		index, err := disk.StatAt(tree.GitDir(), "index")
		gittest.Must(t, err)
		for prefix, e := range tree.root.Entries() {
			if at := e.Stat.Mtime; at < began.UnixNano() || at != index.Mtime { // so git status reads it
				t.Fatalf("seed %d: %s%s has the time %d, the index %d", seed, prefix, e.Name, at, index.Mtime)
			}
		}
		if out := gittest.GitIn(t, tree.Dir(), nil, "status", "--porcelain"); out != "" {
			t.Fatalf("seed %d: %s", seed, out)
		}
		if c := capture(t, tree); len(c.Files) > 0 {
			t.Fatalf("seed %d: a capture finds %s", seed, statuses(c))
		}
		gittest.Must(t, fresh.Close(false))
		held, err := os.OpenFile(filepath.Join(tree.Dir(), "f"), os.O_RDWR, 0)
		gittest.Must(t, err)
		memory, err := unix.Mmap(int(held.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		gittest.Must(t, err)
		if memory[0] != 't' { // read first: a write to such a page changes no time on tmpfs
			t.Fatalf("seed %d: %q", seed, memory)
		}
		outside := filepath.Join(t.TempDir(), "outside")
		if r.IntN(8) == 0 { // a name elsewhere, by which the file can be written later
			gittest.Must(t, os.Link(held.Name(), outside))
		}
		for range r.IntN(6) {
			hostile(t, r, tree.Dir())
		}
		if r.IntN(3) > 0 {
			// What is unreadable fails it. A capture takes the stats of what it finds: the pool must not.
			_, _ = tree.Capture(t.Context(), "s", "step")
		}
		gittest.Must(t, tree.Close(false))
		slots := l.slots(t)
		if len(slots) != 1 {
			t.Fatalf("seed %d: %d worktrees are in the pool", seed, len(slots))
		}
		if r.IntN(2) == 0 { // a process that escaped
			switch r.IntN(4) {
			case 0:
				_, err := held.WriteAt([]byte("T"), 0)
				gittest.Must(t, err)
			case 1, 2:
				memory[1] = 'O'
			}
			if f, err := os.OpenFile(outside, os.O_WRONLY, 0); err == nil {
				_, err = f.WriteAt([]byte("L"), 2)
				gittest.Must(t, err)
				f.Close()
			}
			slot := filepath.Join(slots[0], filepath.Base(tree.Dir()))
			_ = os.WriteFile(filepath.Join(slot, "d1", "more"), nil, 0o666) // the folder may be gone
			for range r.IntN(3) {
				hostile(t, r, slot)
			}
		}
		gittest.Must(t, unix.Munmap(memory))
		held.Close()
	}
	if reused < rounds*3/4 {
		t.Errorf("only %d worktrees came from the pool", reused)
	}
}

// exactly describes each path below a folder with all that a program can see of it, except for times, numbers, and
// where the folder is.
func exactly(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := contents(t, dir)
	delete(out, ".git/index") // stats; git status reads it
	for p := range out {
		full := filepath.Join(dir, p)
		var st unix.Stat_t
		gittest.Must(t, unix.Lstat(full, &st))
		links := st.Nlink
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			links = 0
		}
		buf := make([]byte, 4096)
		n, _ := unix.Llistxattr(full, buf)
		out[p] = strings.ReplaceAll(strings.ReplaceAll(out[p], dir, "<dir>"), filepath.Dir(dir), "<top>") +
			fmt.Sprintf(" links %d, owner %d:%d, attributes %q", links, st.Uid, st.Gid, buf[:max(n, 0)])
	}
	return out
}

// hostile does one operation that means to go unnoticed, or a plain one.
func hostile(t *testing.T, r *rand.Rand, dir string) {
	t.Helper()
	var files, folders []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || p == dir:
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			folders = append(folders, p)
		case d.Type().IsRegular():
			files = append(files, p)
		}
		return nil
	})
	if len(files) == 0 || len(folders) == 0 {
		return
	}
	file, folder := files[r.IntN(len(files))], folders[r.IntN(len(folders))]
	other := files[r.IntN(len(files))]
	info, err := os.Lstat(file)
	gittest.Must(t, err)
	back := func() { _ = os.Chtimes(file, info.ModTime(), info.ModTime()) }
	overwrite := func(path string) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer f.Close()
		_, err = f.WriteAt([]byte("#"), 0)
		gittest.Must(t, err)
	}
	switch r.IntN(20) {
	case 0: // the same size, and the time put back
		overwrite(file)
		back()
	case 1:
		gittest.Must(t, os.Chmod(file, 0o600))
		gittest.Must(t, os.Chmod(file, info.Mode()))
	case 2:
		gittest.Must(t, os.Chmod(file, 0o640))
	case 3: // written through a link elsewhere, which stays
		outside := filepath.Join(t.TempDir(), "outside")
		gittest.Must(t, os.Link(file, outside))
		overwrite(outside)
		back()
	case 4:
		if file != other {
			_ = os.Remove(file)
			gittest.Must(t, os.Link(other, file))
		}
	case 5:
		_ = unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
	case 6: // emptied and written anew, in the same inode
		data, err := os.ReadFile(file)
		if err == nil {
			gittest.Must(t, os.WriteFile(file, append(data, 'x')[:len(data)], 0o666))
			overwrite(file)
			back()
		}
	case 7: // through a mapping
		mapped(t, file)
		back()
	case 8:
		_ = unix.Setxattr(file, "user.note", []byte("x"), 0)
	case 9:
		_ = unix.Setxattr(folder, "user.note", []byte("x"), 0)
	case 10: // a folder replaced by a link to itself
		moved := filepath.Join(t.TempDir(), "moved")
		if os.Rename(folder, moved) == nil {
			gittest.Must(t, os.Symlink(moved, folder))
		}
	case 11:
		moved := folder + ".moved"
		if os.Rename(folder, moved) == nil && r.IntN(2) == 0 {
			gittest.Must(t, os.Symlink(filepath.Base(moved), folder))
		}
	case 12:
		gittest.Must(t, os.MkdirAll(filepath.Join(folder, "empty", "in"), 0o777))
	case 13:
		_ = unix.Mkfifo(filepath.Join(folder, "pipe"), 0o600)
	case 14:
		gittest.Must(t, os.Chmod(folder, []fs.FileMode{0, 0o555, 0o700, 0o777 | fs.ModeSetgid}[r.IntN(4)]))
	case 15:
		if f, err := os.OpenFile(file, os.O_RDWR, 0); err == nil {
			_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4)
			f.Close()
			back()
		}
	case 16: // another file with the same content and time
		data, err := os.ReadFile(file)
		if err == nil {
			gittest.Must(t, os.Remove(file))
			gittest.Must(t, os.WriteFile(file, data, info.Mode()))
			back()
		}
	case 17: // the same content for Git, where it converts
		data, err := os.ReadFile(file)
		if err == nil {
			gittest.Must(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data), "\r\n", "\n")), 0o666))
		}
	case 18:
		_ = os.RemoveAll(filepath.Join(dir, ".git"))
	default:
		if m, err := os.Stat(folder); err == nil && m.Mode().Perm()&0o700 == 0o700 {
			mutateQuietly(r, dir)
		}
	}
}

// mutateQuietly writes, removes or renames at random.
func mutateQuietly(r *rand.Rand, dir string) {
	path := filepath.Join(dir, fmt.Sprintf("d%d", r.IntN(4)), []string{"f1", "x.ig", "new", "f5"}[r.IntN(4)])
	switch r.IntN(3) {
	case 0:
		_ = os.MkdirAll(filepath.Dir(path), 0o777)
		_ = os.WriteFile(path, []byte("written\n"), 0o666)
	case 1:
		_ = os.RemoveAll(path)
	default:
		_ = os.Rename(path, filepath.Join(dir, "renamed"))
	}
}

// mapped writes to a file through a mapping that is read first.
func mapped(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	gittest.Must(t, err)
	if info.Size() == 0 {
		return
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	gittest.Must(t, err)
	m[0] = m[0] ^ 1
	m[0] = '?'
	gittest.Must(t, unix.Munmap(m))
}

// TestNotPooled: the worktree of a run that was killed, or whose processes live, does not come into the pool.
func TestNotPooled(t *testing.T) {
	l := newPoolLab(t)
	if tells, _ := disk.TellsChanges(t.TempDir()); !tells {
		t.Skip("the file system here does not tell every change")
	}
	for name, c := range map[string]struct {
		end  func(tree *Tree)
		want int
	}{
		"in order": {func(tree *Tree) { gittest.Must(t, tree.Close(false)) }, 1},
		"killed":   {func(*Tree) {}, 0},
		"processes live": {func(tree *Tree) {
			tree.opt.Processes = func() []int { return []int{os.Getpid()} }
			gittest.Must(t, tree.Close(false))
		}, 0},
		"kept": {func(tree *Tree) { gittest.Must(t, tree.Close(true)) }, 0},
		"another folder in its place": {func(tree *Tree) {
			gittest.Must(t, os.Rename(tree.Dir(), tree.Dir()+".away"))
			gittest.Must(t, os.Mkdir(tree.Dir(), 0o777))
			gittest.Must(t, tree.Close(false))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, slots := range l.slots(t) {
				gittest.Must(t, os.RemoveAll(slots))
			}
			c.end(l.open(t, l.heads[0], l.pool))
			if got := l.slots(t); len(got) != c.want {
				t.Errorf("in the pool: %v", got)
			}
		})
	}
}

// TestPoolKeepsNothing: what a run wrote does not stay in the pool.
func TestPoolKeepsNothing(t *testing.T) {
	l := newPoolLab(t)
	if tells, _ := disk.TellsChanges(t.TempDir()); !tells {
		t.Skip("the file system here does not tell every change")
	}
	tree := l.open(t, l.heads[0], l.pool)
	for _, name := range []string{"f", "new", "d1/x.ig", ".git/note", "d1/d2/d3/f1"} {
		gittest.Write(t, tree.Dir(), name, "a secret\n")
	}
	capture(t, tree)
	gittest.Must(t, tree.Close(false))
	slot := l.slots(t)[0]
	gittest.Must(t, filepath.WalkDir(slot, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if strings.Contains(string(data), "a secret") {
			t.Errorf("%s has it", p)
		}
		return err
	}))
}

// TestPoolOnFullDisk: where a worktree of the pool cannot be filled, and where only the pool's own trees fill the disk,
// a run gets a whole worktree all the same, or an error and nothing left.
func TestPoolOnFullDisk(t *testing.T) {
	l := newPoolLab(t)
	at := t.TempDir()
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("tmpfs cannot be mounted here")
	}
	t.Cleanup(func() { gittest.Must(t, unix.Unmount(at, 0)) })
	l.pool.Dir = filepath.Join(at, "pool")
	fill := func(leave int) {
		filler := filepath.Join(at, "filler")
		_ = os.Remove(filler)
		for size := 2 << 20; size > 0; size -= 4096 {
			if os.WriteFile(filler, make([]byte, size), 0o600) == nil {
				gittest.Must(t, os.Truncate(filler, int64(max(0, size-leave))))
				return
			}
		}
	}
	for round, base := range []object.OID{l.heads[0], l.heads[1], l.heads[2], l.heads[0]} {
		for _, leave := range []int{0, 8 << 10, 40 << 10} {
			_ = os.Remove(filepath.Join(at, "filler"))
			gittest.Must(t, l.open(t, l.heads[0], l.pool).Close(false))
			if round == 3 {
				l.src = openSource(t, l.g.Dir)
				other := l.open(t, l.heads[1], l.pool) // takes the tree of the pool, so that a second one is there
				gittest.Must(t, l.open(t, l.heads[1], l.pool).Close(false))
				gittest.Must(t, other.Close(false))
			}
			fill(leave)
			l.runs++
			dir := filepath.Join(at, fmt.Sprintf("w%d", l.runs))
			tree, err := Create(t.Context(), l.src, Options{RunID: "r", Base: base, Pool: l.pool, Dir: dir,
				Author: author()})
			if err != nil {
				if _, e := os.Lstat(dir); e == nil {
					t.Errorf("round %d: %v, and something is left", round, err)
				}
				continue
			}
			t.Cleanup(tree.closeReads)
			_ = os.Remove(filepath.Join(at, "filler"))
			fresh := l.open(t, base, nil)
			if got, want := exactly(t, tree.Dir()), exactly(t, fresh.Dir()); !maps.Equal(got, want) {
				t.Errorf("round %d: another worktree", round)
			}
			gittest.Must(t, fresh.Close(false))
			gittest.Must(t, tree.Close(false))
		}
	}
}

// TestPoolReturnOnFullDisk: a run that filled the disk leaves its worktree in the pool, whole, or nowhere.
func TestPoolReturnOnFullDisk(t *testing.T) {
	l := newPoolLab(t)
	at := t.TempDir()
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("tmpfs cannot be mounted here")
	}
	t.Cleanup(func() { gittest.Must(t, unix.Unmount(at, 0)) })
	l.pool.Dir = filepath.Join(at, "pool")
	filler := filepath.Join(at, "filler")
	for leave := range 6 {
		l.runs++
		o := Options{RunID: fmt.Sprint(l.runs), Base: l.heads[0], Pool: l.pool, Dir: filepath.Join(at,
			fmt.Sprint(l.runs)),
			Author: author()}
		tree, err := Create(t.Context(), l.src, o)
		gittest.Must(t, err)
		gittest.Write(t, tree.Dir(), "f", "written\n")
		capture(t, tree)
		for size := 2 << 20; size > 0; size -= 4096 {
			if os.WriteFile(filler, make([]byte, size), 0o600) == nil {
				gittest.Must(t, os.Truncate(filler, int64(max(0, size-leave*4096))))
				break
			}
		}
		gittest.Must(t, tree.Close(false))
		gittest.Must(t, os.Remove(filler))
		if _, err := os.Lstat(o.Dir); err == nil {
			t.Errorf("%d pages were free: the worktree is left", leave)
		}
		again, fresh := l.open(t, l.heads[0], l.pool), l.open(t, l.heads[0], nil)
		if got, want := exactly(t, again.Dir()), exactly(t, fresh.Dir()); !maps.Equal(got, want) {
			t.Errorf("%d pages were free: another worktree", leave)
		}
		gittest.Must(t, os.RemoveAll(l.pool.Dir))
		gittest.Must(t, again.Close(true))
		gittest.Must(t, os.RemoveAll(filepath.Dir(again.Dir())))
		gittest.Must(t, fresh.Close(false))
	}
}

// TestPoolCompete: of runs that begin at once, one gets the worktree of the pool, and each has a whole one.
func TestPoolCompete(t *testing.T) {
	l := newPoolLab(t)
	if tells, _ := disk.TellsChanges(t.TempDir()); !tells {
		t.Skip("the file system here does not tell every change")
	}
	fresh := l.open(t, l.heads[0], nil)
	want := exactly(t, fresh.Dir())
	for range gittest.Rounds(5) {
		gittest.Must(t, l.open(t, l.heads[0], l.pool).Close(false))
		var all sync.WaitGroup
		trees, errs := make([]*Tree, 4), make([]error, 4)
		for i := range trees {
			l.runs++
			o := Options{RunID: fmt.Sprint(l.runs), Base: l.heads[0], Pool: l.pool, Author: author(),
				Dir: filepath.Join(filepath.Dir(l.pool.Dir), fmt.Sprintf("c%d", l.runs)),
				Now: func() time.Time { return time.Unix(1800000000, 0).UTC() }}
			src := openSource(t, l.g.Dir)
			all.Go(func() { trees[i], errs[i] = Create(t.Context(), src, o) })
		}
		all.Wait()
		if n := len(l.slots(t)); n != 0 {
			t.Errorf("%d worktrees are left in the pool", n)
		}
		for i, tree := range trees {
			gittest.Must(t, errs[i])
			if got := exactly(t, tree.Dir()); !maps.Equal(got, want) {
				t.Error("another worktree")
			}
			gittest.Must(t, tree.Close(true))
			gittest.Must(t, os.RemoveAll(filepath.Dir(tree.Dir())))
		}
	}
}

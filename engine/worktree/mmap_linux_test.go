package worktree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/snapshot"
)

// kept is a mapping that lives from one capture to the next.
type kept struct {
	path string
	mem  []byte
}

func mapShared(t *testing.T, path string, prot int) kept {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), prot, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	return kept{path, mem}
}

// held is the content that the last capture has of a file.
func held(t *testing.T, tree *Tree, name string) []byte {
	t.Helper()
	e := tree.root.Find(name)
	if e == nil || e.Mode == 0 {
		return nil
	}
	data, err := tree.blob(e.OID)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mapper is a worktree whose run has one live process, which is the test itself. dir is where the worktree lies.
func mapper(t *testing.T, dir string) *Tree {
	t.Helper()
	g := gittest.New(t)
	for i := range 4 {
		g.Write(fmt.Sprintf("d/f%d", i), string(bytes.Repeat([]byte{'a' + byte(i)}, 3*4096)))
	}
	g.Commit("base")
	return made(t, g, func(o *Options) {
		o.Dir = filepath.Join(dir, "w")
		o.Processes = func() []int { return []int{os.Getpid()} }
	})
}

// A second write to a page that is mapped and dirty changes no time.
func TestAKeptMapping(t *testing.T) {
	for _, dir := range mapDirs(t) {
		t.Run(dir, func(t *testing.T) {
			tree := mapper(t, dir)
			m := mapShared(t, filepath.Join(tree.Dir(), "d/f0"), unix.PROT_READ|unix.PROT_WRITE)
			defer func() { unix.Munmap(m.mem) }()
			for i, text := range []string{"AAAA", "BBBB", "CCCC"} {
				copy(m.mem, text)
				change := capture(t, tree)
				if got := held(t, tree, "d/f0"); string(got[:4]) != text || len(change.Files) != 1 {
					t.Fatalf("capture %d has %q and %d files, the file %q", i, got[:4], len(change.Files), text)
				}
			}
			// One that is closed for the while of the capture is no other.
			if err := unix.Mprotect(m.mem, unix.PROT_READ); err != nil {
				t.Fatal(err)
			}
			capture(t, tree)
			if err := unix.Mprotect(m.mem, unix.PROT_READ|unix.PROT_WRITE); err != nil {
				t.Fatal(err)
			}
			copy(m.mem, "DDDD")
			capture(t, tree)
			if got := held(t, tree, "d/f0"); string(got[:4]) != "DDDD" {
				t.Errorf("%q", got[:4])
			}
			// The last write before the end of the process, which is nobody's by then.
			copy(m.mem, "EEEE")
			tree.opt.Processes = func() []int { return nil }
			capture(t, tree)
			if got := held(t, tree, "d/f0"); string(got[:4]) != "EEEE" {
				t.Errorf("%q", got[:4])
			}
		})
	}
}

// mapDirs are folders on file systems of both kinds, as far as there are: those that tell of mappings, and those that
// do not.
func mapDirs(t *testing.T) []string {
	dirs := []string{gittest.OnDisk(t)}
	if dir, err := os.MkdirTemp("/dev/shm", "markmill-test-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		dirs = append(dirs, dir)
	}
	return dirs
}

// TestMappingsAtRandom writes through mappings, and otherwise, at random moments, captures now and then, and holds
// every capture against what the files hold.
func TestMappingsAtRandom(t *testing.T) {
	for _, dir := range mapDirs(t) {
		t.Run(dir, func(t *testing.T) {
			tree := mapper(t, dir)
			for seed := range uint64(gittest.Rounds(2)) {
				randomMappings(t, tree, rand.New(rand.NewPCG(7, seed)), seed)
			}
		})
	}
}

func randomMappings(t *testing.T, tree *Tree, r *rand.Rand, seed uint64) {
	var maps []kept
	defer func() {
		capture(t, tree)
		for _, m := range maps {
			unix.Munmap(m.mem)
		}
	}()
	name := func() string { return fmt.Sprintf("d/f%d", r.IntN(4)) }
	var log []string
	for range 60 {
		switch n := r.IntN(12); {
		case n < 2:
			name := name()
			maps = append(maps, mapShared(t, filepath.Join(tree.Dir(), name), unix.PROT_READ|unix.PROT_WRITE))
			log = append(log, "map "+name)
		case n < 7 && len(maps) > 0:
			m := maps[r.IntN(len(maps))]
			for i := range r.IntN(3) + 1 {
				m.mem[r.IntN(len(m.mem))] = byte('A' + r.IntN(26))
				log = append(log, fmt.Sprint("write ", i, " ", m.path))
			}
		case n == 7 && len(maps) > 0:
			i := r.IntN(len(maps))
			m := maps[i]
			// what is written through a mapping that is gone at the next capture may be hidden there
			if !tree.reportsMmap {
				capture(t, tree)
			} else {
				m.mem[0]++
			}
			maps = append(maps[:i], maps[i+1:]...)
			if err := unix.Munmap(m.mem); err != nil {
				t.Fatal(err)
			}
			log = append(log, "unmap "+m.path)
		case n == 8 && len(maps) > 0:
			unix.Msync(maps[r.IntN(len(maps))].mem, unix.MS_SYNC)
			log = append(log, "msync")
		case n == 9:
			name := name()
			f, err := os.OpenFile(filepath.Join(tree.Dir(), name), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteAt([]byte{byte('0' + r.IntN(10))}, int64(r.IntN(3*4096)))
			f.Close()
			log = append(log, "write(2) "+name)
		default:
			capture(t, tree)
			log = append(log, "capture")
			for i := range 4 {
				name := fmt.Sprintf("d/f%d", i)
				if want, err := os.ReadFile(filepath.Join(tree.Dir(), name)); err != nil ||
					!bytes.Equal(want, held(t, tree, name)) {
					t.Fatalf("seed %d: %s is not as captured (%v)\n%q", seed, name, err, log)
				}
			}
		}
	}
}

// What is written while captures look is found at the latest when nothing lives any more.
func TestWritesWhileCapturing(t *testing.T) {
	for _, dir := range mapDirs(t) {
		t.Run(dir, func(t *testing.T) {
			tree := mapper(t, dir)
			m := mapShared(t, filepath.Join(tree.Dir(), "d/f0"), unix.PROT_READ|unix.PROT_WRITE)
			defer func() { unix.Munmap(m.mem) }()
			stop := make(chan struct{})
			var written atomic.Int64
			var wg sync.WaitGroup
			wg.Go(func() { // through a mapping
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						m.mem[i%len(m.mem)]++
					}
				}
			})
			wg.Go(func() { // and by write, a file that grows and one that comes and goes
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						written.Add(1)
					}
					f, err := os.OpenFile(filepath.Join(tree.Dir(), "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
					if err == nil {
						fmt.Fprintln(f, "line", i)
						f.Close()
					}
					sub := filepath.Join(tree.Dir(), fmt.Sprint("s", i%3))
					os.Mkdir(sub, 0o777)
					os.WriteFile(filepath.Join(sub, "x"), []byte("x"), 0o666)
					os.RemoveAll(sub)
				}
			})
			for n := 0; n < gittest.Rounds(4) || written.Load() < 100; n++ {
				if change, err := tree.Capture(t.Context(), "s", "step"); err != nil || change.PatchErr != nil {
					t.Errorf("capture %d: %v %+v", n, err, change)
					break
				}
			}
			close(stop)
			wg.Wait()
			tree.opt.Processes = func() []int { return nil }
			capture(t, tree)
			for _, name := range []string{"d/f0", "log"} {
				if want, err := os.ReadFile(filepath.Join(tree.Dir(), name)); err != nil ||
					!bytes.Equal(want, held(t, tree, name)) {
					t.Errorf("%s is not as captured (%v)", name, err)
				}
			}
		})
	}
}

// Where the mappings of a process cannot be read, the change says so, and what changed once is read again all the same.
func TestUnreadableMappings(t *testing.T) {
	tree := mapper(t, t.TempDir())
	tree.reportsMmap = true
	gittest.Write(t, tree.Dir(), "f", "text")
	if change := capture(t, tree); change.MayMiss != "" {
		t.Errorf("all is seen: %q", change.MayMiss)
	}
	m := &snapshot.Mappings{}
	m.Add(os.Getpid())
	if m.Unknown != "" {
		t.Fatal(m.Unknown)
	}
	m.Note(unix.EACCES)
	if m.Unknown == "" || !m.Has(disk.Stat{}, "any") || m.Names(disk.Stat{}, "any") {
		t.Errorf("%+v", m)
	}
	m = &snapshot.Mappings{}
	m.Note(unix.ESRCH) // it has ended
	if m.Unknown != "" {
		t.Error(m.Unknown)
	}
	tree.reportsMmap = false
	if change := capture(t, tree); change.MayMiss != snapshot.MmapNotice {
		t.Errorf("%q", change.MayMiss)
	}
}

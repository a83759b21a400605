package worktree_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
)

// TestDatabase reads every object of repositories that Git packed in different ways, and compares it with what Git
// says; then it damages packs and indexes, and nothing else than the content of some object of Git's may come out.
func TestDatabase(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("go-git reads the objects there")
	}
	history := map[*object.Format]*gittest.Repository{}
	for _, format := range []*object.Format{object.SHA1, object.SHA256} {
		g := gittest.New(t, "--object-format="+format.Name)
		r := rand.New(rand.NewPCG(3, 3))
		var text strings.Builder
		for i := range 16 {
			for range 20 {
				fmt.Fprintf(&text, "line %d of many\n", r.Uint64())
			}
			g.Write("grows", text.String())
			g.Write(fmt.Sprintf("d%d/f%d", i%4, i), strings.Repeat("x", i))
			noise := make([]byte, 60_000)
			for i := range noise {
				noise[i] = byte(r.Uint64())
			}
			g.Write("noise", string(noise))
			g.Commit("c")
		}
		history[format] = g
	}
	for name, c := range map[string]struct {
		format  *object.Format
		pack    []string
		deltas  bool
		sharing bool // a clone that borrows them
	}{
		"loose":  {format: object.SHA1},
		"packed": {format: object.SHA1, pack: []string{"repack", "-adfq", "--depth=50"}, deltas: true},
		"bases by name": {format: object.SHA1, pack: []string{"-c", "repack.useDeltaBaseOffset=false",
			"repack", "-adfq"},
			deltas: true},
		"several packs":   {format: object.SHA1, pack: []string{"repack", "-adfq", "--max-pack-size=1m"}},
		"of an alternate": {format: object.SHA1, pack: []string{"repack", "-adfq"}, sharing: true},
		"SHA-256, packed": {format: object.SHA256, pack: []string{"repack", "-adfq"}, deltas: true},
		"SHA-256, loose":  {format: object.SHA256},
	} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t, "--object-format="+c.format.Name)
			gittest.Must(t, os.RemoveAll(g.Dir))
			gittest.Must(t, os.CopyFS(g.Dir, os.DirFS(history[c.format].Dir)))
			r := rand.New(rand.NewPCG(3, 3))
			dir := g.Dir
			if c.pack != nil {
				g.Git(c.pack...)
			}
			if c.sharing {
				dir = filepath.Join(t.TempDir(), "clone")
				g.Git("clone", "-q", "--shared", ".", dir)
			}
			objects := filepath.Join(dir, ".git", "objects")
			dirs := []string{objects}
			if c.sharing {
				dirs = append(dirs, filepath.Join(g.Dir, ".git", "objects"))
			}
			want := map[object.Digest][2]string{}
			read := object.OpenDatabase(c.format, dirs...).NewReader()
			depth := 0
			all, err := gittest.TryGit(dir, nil, nil, "cat-file", "--batch-all-objects",
				"--batch=%(objectname) %(objecttype) %(deltabase) %(objectsize)")
			gittest.Must(t, err)
			for all != "" {
				line, rest, _ := strings.Cut(all, "\n")
				f := strings.Fields(line)
				d, _ := c.format.Parse(object.OID(f[0]))
				size, err := strconv.Atoi(f[3])
				gittest.Must(t, err)
				out := rest[:size]
				all = rest[size+1:]
				want[d] = [2]string{f[1], out}
				if strings.Trim(f[2], "0") != "" {
					depth++
				}
				if data, ok := read.Get(f[1], d); !ok || string(data) != out {
					t.Fatalf("%s %s: %v, %.60q", f[1], f[0], ok, data)
				}
				if _, ok := read.Get("tag", d); ok {
					t.Fatalf("%s is no tag", f[0])
				}
				d[5]++
				if _, ok := read.Get(f[1], d); ok {
					t.Fatalf("an object that is not there: %x", d)
				}
			}
			if c.deltas && depth == 0 {
				t.Error("no delta was read")
			}
			files, _ := filepath.Glob(filepath.Join(objects, "pack", "*"))
			for range gittest.Rounds(25) {
				if len(files) == 0 {
					break
				}
				file := files[r.IntN(len(files))]
				was, err := os.ReadFile(file)
				gittest.Must(t, err)
				bad := bytes.Clone(was)
				for range 1 + r.IntN(20) {
					bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
				}
				if strings.HasSuffix(file, ".idx") && r.IntN(2) == 0 {
					bad[8+r.IntN(1024)] ^= byte(1 + r.IntN(255))
				}
				if r.IntN(4) == 0 {
					bad = bad[:r.IntN(len(bad))]
				}
				gittest.Must(t, os.Remove(file))
				gittest.Must(t, os.WriteFile(file, bad, 0o600))
				read := object.OpenDatabase(c.format, dirs...).NewReader()
				for d, o := range want {
					data, ok := read.Get(o[0], d)
					if ok && strings.HasSuffix(file, ".pack") && string(data) != o[1] {
						t.Fatalf("of a damaged pack came %.60q, not %.60q", data, o[1])
					}
				}
				gittest.Must(t, os.Remove(file))
				gittest.Must(t, os.WriteFile(file, was, 0o600))
			}
		})
	}
}

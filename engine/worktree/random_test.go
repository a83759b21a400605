package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
)

// TestRandom does sequences of random operations and compares every capture, and the whole run's
// patch, with the Git program.
func TestRandom(t *testing.T) {
	g := gittest.New(t)
	for i := range 12 {
		g.Write(fmt.Sprintf("d%d/f%d", i%3, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 20))
	}
	g.Write("f", "top\n")
	g.Write(".gitignore", "*.ig\nd9/\n")
	g.Commit("base")
	n := gittest.Rounds(20)
	// One worktree serves many sequences: what they share is the base.
	for seed := 0; seed < n; {
		tree := made(t, g)
		index := filepath.Join(t.TempDir(), "index")
		for end := min(n, seed+20); seed < end; seed++ {
			r := rand.New(rand.NewPCG(1, uint64(seed)))
			parent := object.OID(gittest.GitIn(t, tree.Dir(), nil, "rev-parse", "HEAD"))
			if seed%20 > 0 {
				parent = tree.fmt.OID(tree.last)
			}
			var log []string
			for range 1 + r.IntN(8) {
				log = append(log, mutate(t, r, tree.Dir()))
			}
			c := capture(t, tree)
			if want := wantTreeIn(t, tree, index); string(c.Tree) != want {
				gittest.Must(t, tree.storeRepository())
				diff := gittest.GitIn(t, tree.Dir(), []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + tree.store.Dir},
					"diff-tree", "-r", string(c.Tree), want)
				rules := gittest.GitIn(t, tree.Dir(), nil, "grep", "--untracked", "--no-exclude-standard", "", "--",
					":(glob)**/.gitignore")
				t.Fatalf("seed %d: captured %s, Git %s (%s)\n%s\n%s\n%s", seed, c.Tree, want, statuses(c),
					strings.Join(log, "\n"), diff, rules)
			}
			checkPatch(t, tree, parent, c)
		}
		total, err := tree.Total(t.Context())
		gittest.Must(t, err)
		gittest.Must(t, total.PatchErr)
		checkPatch(t, tree, tree.Base(), total)
	}
}

// mutate does one random operation below dir and says which.
func mutate(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	pick := func() string {
		parts := []string{}
		for range r.IntN(3) {
			parts = append(parts, fmt.Sprintf("d%d", r.IntN(4)))
		}
		names := []string{"f", "f1", "f2", "f5", "x.ig", "d1", "d9", "a b", "tab\tq\"", "\xff"}
		return strings.Join(append(parts, names[r.IntN(len(names))]), "/")
	}
	p := pick()
	full := filepath.Join(dir, p)
	var err error
	op := r.IntN(11)
	switch op {
	case 0, 1, 2: // write
		clearWay(dir, p)
		gittest.Must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		err = os.WriteFile(full, []byte(strings.Repeat(fmt.Sprintf("n%d\n", r.IntN(3)), r.IntN(40))), 0o666)
	case 3: // edit in the middle
		if data, e := os.ReadFile(full); e == nil && len(data) > 0 {
			data[r.IntN(len(data))] ^= 1
			err = os.WriteFile(full, data, 0o666)
		}
	case 4:
		if _, e := os.Lstat(full); e == nil {
			err = os.RemoveAll(full)
		}
	case 5:
		q := pick()
		if !strings.HasPrefix(q+"/", p+"/") && !strings.HasPrefix(p+"/", q+"/") {
			if _, e := os.Lstat(full); e == nil {
				clearWay(dir, q)
				gittest.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, q)), 0o777))
				if _, e := os.Lstat(full); e == nil {
					err = os.Rename(full, filepath.Join(dir, q))
				}
			}
			p += " > " + q
		}
	case 6:
		if fi, e := os.Lstat(full); e == nil && fi.Mode().IsRegular() {
			err = os.Chmod(full, fi.Mode()^0o111)
		}
	case 7:
		clearWay(dir, p)
		gittest.Must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		err = os.Symlink(fmt.Sprintf("to%d", r.IntN(3)), full)
	case 8:
		clearWay(dir, p)
		err = os.MkdirAll(full, 0o777)
	case 9: // binary
		clearWay(dir, p)
		gittest.Must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		err = os.WriteFile(full, append([]byte{0}, strings.Repeat(fmt.Sprint(r.IntN(9)), r.IntN(300))...), 0o666)
	case 10:
		name := filepath.Join(dir, []string{"", "d1", "d2"}[r.IntN(3)], ".gitignore")
		if fi, e := os.Stat(filepath.Dir(name)); e == nil && fi.IsDir() {
			err = os.WriteFile(name, []byte([]string{"*.ig\nd9/\n", "", "f1\n", "d1/\n!f\n", "/f2\n*.ig\n"}[r.IntN(5)]),
				0o666)
		}
	}
	gittest.Must(t, err)
	return fmt.Sprintf("%d %q", op, p)
}

// clearWay removes what stands at a path, and files that stand where its folders go.
func clearWay(dir, path string) {
	at := dir
	for part := range strings.SplitSeq(path, "/") {
		at = filepath.Join(at, part)
		if fi, err := os.Lstat(at); err == nil && (!fi.IsDir() || at == filepath.Join(dir, path)) {
			os.RemoveAll(at)
		}
	}
}

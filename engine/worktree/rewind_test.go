package worktree

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
)

// TestRewind does random steps, marks, does what a failed attempt could do, and compares the worktree with itself.
func TestRewind(t *testing.T) {
	g := gittest.New(t)
	for i := range 12 {
		g.Write(fmt.Sprintf("d%d/f%d", i%3, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 20))
	}
	g.Write("f", "top\n")
	g.Write(".gitignore", "*.ig\nd9/\n")
	g.Commit("base")
	for seed := range gittest.Rounds(10) {
		r := rand.New(rand.NewPCG(9, uint64(seed)))
		tree := made(t, g)
		dir := tree.Dir()
		var log []string
		for range r.IntN(5) {
			log = append(log, mutate(t, r, dir))
		}
		if r.IntN(2) == 0 {
			gittest.GitIn(t, dir, nil, "commit", "--allow-empty", "-qm", "of a step")
		}
		gittest.Must(t, os.MkdirAll(filepath.Join(dir, "empty", "folder"), 0o750))
		gittest.Must(t, os.WriteFile(filepath.Join(dir, "private"), nil, 0o600))
		gittest.Must(t, os.WriteFile(filepath.Join(dir, "kept.ig"), []byte("one\n"), 0o600))
		was := capture(t, tree)
		mark, err := tree.Mark()
		gittest.Must(t, err)
		before := contents(t, dir)
		// What the steps did to the rules may have made it a file like others, which is restored.
		e := tree.root.Find("kept.ig")
		ignored := e == nil || e.Mode == 0

		for range 1 + r.IntN(8) {
			log = append(log, mutate(t, r, dir))
		}
		gittest.Must(t, os.WriteFile(filepath.Join(dir, "private"), []byte("more"), 0o600))
		gittest.Must(t, os.MkdirAll(filepath.Join(dir, "closed", "in"), 0o700))
		gittest.Must(t, os.Chmod(filepath.Join(dir, "closed"), 0))
		gittest.Must(t, os.RemoveAll(filepath.Join(dir, "empty")))
		gittest.Must(t, os.WriteFile(filepath.Join(dir, "kept.ig"), []byte("one\ntwo\n"), 0o600))
		switch r.IntN(3) {
		case 0:
			gittest.GitIn(t, dir, nil, "commit", "-q", "--allow-empty", "-m", "of the attempt")
			gittest.GitIn(t, dir, nil, "branch", "left")
		case 1:
			gittest.Must(t, os.RemoveAll(filepath.Join(dir, ".git")))
		}
		left, err := tree.Rewind(t.Context(), mark)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(log, "\n"))
		}
		if ignored && !slices.Contains(left, "kept.ig") {
			t.Errorf("seed %d: an ignored file that was changed is not named: %v", seed, left)
		}
		after := contents(t, dir)
		for _, p := range left {
			delete(before, p)
			delete(after, p)
		}
		for p, want := range before {
			if after[p] != want {
				t.Errorf("seed %d: %q is %.80q, it was %.80q\n%s", seed, p, after[p], want, strings.Join(log, "\n"))
			}
		}
		for p := range after {
			if _, there := before[p]; !there {
				t.Errorf("seed %d: %q is new\n%s", seed, p, strings.Join(log, "\n"))
			}
		}
		if c := capture(t, tree); c.Tree != was.Tree || len(c.Files) > 0 {
			t.Errorf("seed %d: the next capture finds %s", seed, statuses(c))
		}
	}
}

// contents are all paths of a worktree, and of its Git directory without the objects, with mode and content.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	gittest.Must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
		if d.IsDir() && rel == ".git/objects" {
			return filepath.SkipDir
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		out[rel] = info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			out[rel] += " " + string(data)
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			out[rel] += " " + target
			return err
		}
		return nil
	}))
	return out
}

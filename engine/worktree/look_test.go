package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree/gittest"
)

// TestLook: what proves that nothing is uncommitted is never at odds with `git status`, and the look is the fingerprint
// that a run begins with.
func TestLook(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		g := gittest.New(t)
		for _, name := range []string{"a", "d/b", "d-e", "d.f", "d/long/name/of/a/file", "d/long/name/of/a/second"} {
			g.Write(name, name+"\n")
		}
		gittest.Must(t, os.Symlink("a", filepath.Join(g.Dir, "link")))
		g.Write(".gitignore", "*.ig\n")
		g.Commit("base")
		aged := func() { // no file is as young as the index
			g.Git("update-index", "--force-write-index", "--index-version", version)
			later := time.Now().Add(time.Minute)
			gittest.Must(t, os.Chtimes(filepath.Join(g.Dir, ".git", "index"), later, later))
		}
		file := filepath.Join(g.Dir, "d", "b")
		info, err := os.Stat(file)
		gittest.Must(t, err)
		for _, c := range []struct {
			name string
			do   func()
			want bool
		}{
			{"as it was committed", func() {}, true},
			{"Markmill's own folder", func() { g.Write(".markmill/x", "x") }, true},
			{"changed", func() { g.Write("d/b", "other\n") }, false},
			{"changed in secret", func() {
				g.Write("d/b", "x/y\n")
				gittest.Must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
			}, false},
			{"removed", func() { gittest.Must(t, os.Remove(file)) }, false},
			{"the last one removed", func() { gittest.Must(t, os.Remove(filepath.Join(g.Dir, "link"))) }, false},
			{"a program", func() { gittest.Must(t, os.Chmod(file, 0o755)) }, false},
			{"untracked", func() { g.Write("d/new", "") }, false},
			{"untracked, the last one", func() { g.Write("zzz", "") }, false},
			{"ignored", func() { g.Write("x.ig", "") }, false}, // git status knows
			{"staged", func() { g.Write("d/b", "staged\n"); g.Git("add", "-A") }, false},
			{"staged and undone", func() {
				g.Write("d/b", "staged\n")
				g.Git("add", "-A")
				g.Write("d/b", "d/b\n")
			}, false},
			{"removed from the index", func() { g.Git("rm", "-q", "--cached", "a") }, false},
			{"to be added", func() { g.Write("new", ""); g.Git("add", "-N", "new") }, false},
			{"not to be looked at", func() { g.Git("update-index", "--assume-unchanged", "a"); g.Write("a", "b\n") },
				false},
			{"another commit", func() {
				g.Git("update-ref", "HEAD", strings.TrimSpace(g.Git("commit-tree", "-m", "x", "HEAD:d")))
			}, false},
			{"a repository inside", func() { g.Git("init", "-q", "inside") }, false},
			{"as old as the index", func() {
				gittest.Must(t, os.Chtimes(filepath.Join(g.Dir, ".git", "index"), info.ModTime(), info.ModTime()))
			}, false},
			{"no index", func() { gittest.Must(t, os.Remove(filepath.Join(g.Dir, ".git", "index"))) }, false},
		} {
			t.Run(version+" "+c.name, func(t *testing.T) {
				head := strings.TrimSpace(g.Git("rev-parse", "HEAD"))
				aged()
				c.do()
				src := openSource(t, g.Dir)
				if got := src.clean(t.Context()); got != c.want {
					t.Errorf("clean is %v", got)
				}
				want, err := src.Dirty(t.Context())
				gittest.Must(t, err)
				got, err := openSource(t, g.Dir).Look(t.Context())
				gittest.Must(t, err)
				if !slices.Equal(got, want) {
					t.Errorf("%q, and git status says %q", got, want)
				}
				_ = os.Remove(filepath.Join(g.Dir, ".git", "index"))
				g.Git("reset", "-q", "--hard", head)
				g.Git("clean", "-qffdx")
				info, err = os.Stat(file)
				gittest.Must(t, err)
			})
		}
		aged()
		src := openSource(t, g.Dir)
		if _, err := src.Look(t.Context()); err != nil || !src.seen {
			t.Fatalf("nothing is kept: %v", err)
		}
		g.Write("a", "changed since\n")
		before, err := src.Fingerprint(t.Context(), nil)
		gittest.Must(t, err)
		after, err := src.Fingerprint(t.Context(), nil)
		gittest.Must(t, err)
		if got := before.Diff(after); !slices.Equal(got, []string{"a"}) {
			t.Errorf("between them %q changed", got)
		}
		again, err := src.Fingerprint(t.Context(), nil)
		gittest.Must(t, err)
		if !after.Equal(again) {
			t.Error("a look is taken over twice")
		}
	}
}

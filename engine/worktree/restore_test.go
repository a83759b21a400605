package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
)

// TestRestore does random steps in one worktree and makes another follow by their patches: some after a step of
// its own that did something else, as one does that runs again. Both must hold the same trees, and what is
// published must be whole and hold nothing of what was taken back.
func TestRestore(t *testing.T) {
	g := gittest.New(t)
	for i := range 12 {
		g.Write(fmt.Sprintf("d%d/f%d", i%3, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 20))
	}
	g.Write("f", "top\n")
	g.Write(".gitignore", "*.ig\nd9/\n")
	g.Commit("base")
	for seed := range gittest.Rounds(3) {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		first := made(t, g)
		second := made(t, g, func(o *Options) { o.RunID += fmt.Sprint("-", seed) })
		var log []string
		for step := range 6 {
			for range r.IntN(5) {
				log = append(log, mutate(t, r, first.Dir()))
			}
			c := capture(t, first)
			again := r.IntN(3)
			for range again {
				log = append(log, "again: "+mutate(t, r, second.Dir()))
			}
			if again > 0 {
				gittest.Write(t, second.Dir(), fmt.Sprintf("again-%d", step), fmt.Sprintf("taken back %d %d\n",
					seed, step))
			}
			held, err := second.Restore(t.Context(), c.Patch, c.Tree)
			if err != nil {
				t.Fatalf("seed %d step %d: %v\n%s", seed, step, err, strings.Join(log, "\n"))
			}
			if held != (again == 0 && len(c.Patch) == 0) {
				t.Errorf("seed %d step %d: held is %v after %d changes of its own and a patch of %d bytes", seed, step,
					held, again, len(c.Patch))
			}
			got := capture(t, second)
			if got.Tree != c.Tree || string(got.Patch) != string(c.Patch) {
				t.Fatalf("seed %d step %d: tree %s, and %s was wanted; the patches are the same: %v", seed, step,
					got.Tree, c.Tree, string(got.Patch) == string(c.Patch))
			}
		}
		if seed%3 > 0 {
			continue
		}
		if fetched(t, second) == "" {
			continue
		}
		g.Git("fsck", "--no-dangling", "--connectivity-only")
		for _, object := range strings.Split(g.Git("cat-file", "--batch-all-objects",
			"--batch-check=%(objectname) %(objecttype)"), "\n") {
			name, kind, _ := strings.Cut(object, " ")
			if kind == "blob" && strings.HasPrefix(g.Git("cat-file", "blob", name), "taken back") {
				t.Errorf("seed %d: what was taken back is in the repository", seed)
			}
		}
	}
}

// TestRestoreFilters restores content whose spelling in the worktree is another than in the repository.
func TestRestoreFilters(t *testing.T) {
	g := gittest.New(t)
	g.Git("config", "filter.upper.clean", "tr a-z A-Z")
	g.Git("config", "filter.upper.smudge", "tr A-Z a-z")
	g.Write(".gitattributes", "*.up filter=upper\n")
	g.Commit("base")
	first, second := made(t, g), made(t, g)
	gittest.Write(t, first.Dir(), ".gitattributes", "*.up filter=upper\n*.txt text eol=crlf\n")
	gittest.Write(t, first.Dir(), "a.txt", "one\r\ntwo\r\n")
	gittest.Write(t, first.Dir(), "sub/b.up", "loud\n")
	gittest.Must(t, os.Symlink("a.txt", filepath.Join(first.Dir(), "link")))
	gittest.Must(t, os.WriteFile(filepath.Join(first.Dir(), "run"), []byte("#!/bin/sh\n"), 0o777))
	c := capture(t, first)
	_, err := second.Restore(t.Context(), c.Patch, c.Tree)
	gittest.Must(t, err)
	for _, name := range []string{"a.txt", "sub/b.up", "link", "run", ".gitattributes"} {
		want, err := os.ReadFile(filepath.Join(first.Dir(), name))
		gittest.Must(t, err)
		if got, err := os.ReadFile(filepath.Join(second.Dir(), name)); err != nil || string(got) != string(want) {
			t.Errorf("%s holds %q (%v), and %q was wanted", name, got, err, want)
		}
	}
	if target, err := os.Readlink(filepath.Join(second.Dir(), "link")); err != nil || target != "a.txt" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(second.Dir(), "run")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("run is not executable: %v", err)
	}
	if got := capture(t, second); got.Tree != c.Tree {
		t.Errorf("the tree is %s, and %s was wanted", got.Tree, c.Tree)
	}
}

// TestRestoreElsewhere refuses a change that does not lead to the tree that was recorded, and follows no link out.
func TestRestoreElsewhere(t *testing.T) {
	g := gittest.New(t)
	g.Write("d/f", "one\n")
	g.Commit("base")
	first := made(t, g)
	gittest.Write(t, first.Dir(), "d/f", "two\n")
	c := capture(t, first)
	other := made(t, g, func(o *Options) { o.Dir += "-other" })
	gittest.Write(t, other.Dir(), "unseen", "x\n")
	capture(t, other) // what it begins with is another
	if _, err := other.Restore(t.Context(), c.Patch, c.Tree); err == nil ||
		!strings.Contains(err.Error(), "what it began with was another") {
		t.Errorf("another beginning: %v", err)
	}
	outside := t.TempDir()
	gittest.Write(t, outside, "f", "untouched\n")
	linked := made(t, g, func(o *Options) { o.Dir += "-linked" })
	gittest.Must(t, os.RemoveAll(filepath.Join(linked.Dir(), "d")))
	gittest.Must(t, os.Symlink(outside, filepath.Join(linked.Dir(), "d")))
	if held, err := linked.Restore(t.Context(), c.Patch, c.Tree); err != nil || held {
		t.Errorf("a link in the way: held %v, %v", held, err)
	}
	if data, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(data) != "untouched\n" {
		t.Errorf("a file outside the worktree is %q, %v", data, err)
	}
	if got := capture(t, linked); got.Tree != c.Tree {
		t.Errorf("the tree is %s, and %s was wanted", got.Tree, c.Tree)
	}
}

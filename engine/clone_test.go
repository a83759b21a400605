package engine

import (
	"os"
	"strings"
	"testing"

	"markmill/runs"
)

// TestRepeat: a run is repeated in a clean clone, from the uncommitted changes with which it began; one whose start
// nobody has kept is not.
func TestRepeat(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n"})
	l.write("a.txt", "mine\n")
	req := l.request(step("#a", "same a.txt mine\nwrite b.txt made"))
	req.Dirty = DirtyInclude
	first := l.run(req)
	l.want(first, runs.Pass)
	l.write("a.txt", "later\n")

	id := runs.NewRunID(l.Now(), "task.md", make([]byte, 8))
	clone, err := l.Clone(t.Context(), l.Source, id)
	if err != nil {
		t.Fatal(err)
	}
	repeat := func(r *Result, base string) (Request, error) {
		return l.Repeat(t.Context(), runs.At(r.Dir), clone, l.root, base, nil)
	}
	again, err := repeat(first, "")
	if err != nil {
		t.Fatal(err)
	}
	again.KeepTree = true // the clone is a folder of the cache, as the tree of a run is
	second := l.run(again)
	l.want(second, runs.Pass)
	if a, b := l.read(first, runs.PatchFile), l.read(second, runs.PatchFile); a != b || a == "" {
		t.Errorf("the change was\n%s\nand is\n%s", a, b)
	}
	if by := second.Run.Started.Rerun; by == nil || by.Run != first.Run.ID {
		t.Errorf("it repeats %+v", by)
	}
	again, err = repeat(first, l.git("rev-parse", "HEAD")) // the commit without the changes
	if err != nil {
		t.Fatal(err)
	}
	again.KeepTree = true
	if got := l.run(again); got.Run.Status() != runs.Fail {
		t.Errorf("on the commit alone it is %s", got.Run.Status())
	}
	outside := l.request(step("#a", "print x"))
	outside.Repository, outside.Folder, outside.KeepTree = "", t.TempDir(), true
	if _, err := repeat(l.run(outside, Sinks{}), ""); err == nil ||
		!strings.Contains(err.Error(), "outside a Git repository") {
		t.Errorf("%v", err)
	}
	folder := clone.Root()
	if err := clone.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the clone is still there: %v", err)
	}
}

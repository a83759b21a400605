package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
)

func TestFileOfACommit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		g := gittest.New(t, "--object-format="+format)
		g.Write("a.txt", "one\n")
		g.Write("dir/sub/b.txt", "two\n")
		if err := os.Symlink("a.txt", filepath.Join(g.Dir, "link")); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
		first := g.Commit("first")
		g.Write("a.txt", "changed\n")
		g.Commit("second")
		g.Write("a.txt", "dirty\n")
		src, err := Open(g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"a.txt": "one\n", "dir/sub/b.txt": "two\n"} {
			if got, err := src.File(first, path); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v", format, path, got, err)
			}
		}
		for _, path := range []string{"b.txt", "dir/b.txt", "a.txt/b.txt", "link/b.txt", ""} {
			if got, err := src.File(first, path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %q is %q, %v", format, path, got, err)
			}
		}
		for _, path := range []string{"link", "dir"} { // no file, and no absence either
			if got, err := src.File(first, path); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s is %q, %v", format, path, got, err)
			}
		}
		if src.Email() != "author@example.org" {
			t.Errorf("the user's address is %q", src.Email())
		}
	}
}

// TestSizeAlone: a file whose size alone breaks the limit is in no capture and is not read; it counts as written. A
// file of the base that is as large may stay as it is.
func TestSizeAlone(t *testing.T) {
	g := gittest.New(t)
	g.Write("large", strings.Repeat("x", 2000))
	g.Write("grows", "x")
	g.Commit("base")
	tree := made(t, g, func(o *Options) { o.MaxBytes = 1000 })
	const sparse = 1 << 40 // nobody reads so much in a test
	for _, name := range []string{"new", "grows"} {
		f, err := os.OpenFile(filepath.Join(tree.Dir(), name), os.O_CREATE|os.O_WRONLY, 0o666)
		gittest.Must(t, err)
		gittest.Must(t, errors.Join(f.Truncate(sparse), f.Close()))
	}
	for _, name := range []string{"a", "b", "c"} { // the third is beyond the limit
		gittest.Write(t, tree.Dir(), name, strings.Repeat(name, 400))
	}
	gittest.Write(t, tree.Dir(), "large", strings.Repeat("z", 2000))
	c := capture(t, tree)
	if got := statuses(c); got != "added a, added b, modified large" || c.IgnoredWritten != 3 {
		t.Errorf("%s; %d files written and not kept", got, c.IgnoredWritten)
	}
	if got := fmt.Sprint(tree.TooLarge()); got != fmt.Sprintf("[{c 400} {grows %d} {new %[1]d}]", sparse) {
		t.Error(got)
	}
	gittest.Must(t, errors.Join(os.Remove(filepath.Join(tree.Dir(), "new")), os.Remove(filepath.Join(tree.Dir(), "a"))))
	gittest.Write(t, tree.Dir(), "grows", "y")
	if got := statuses(capture(t, tree)); got != "deleted a, added c, modified grows" || len(tree.TooLarge()) != 0 {
		t.Errorf("%s, too large: %v", got, tree.TooLarge())
	}
}

// TestCaptureEnds: a large file keeps nobody who has to end.
func TestCaptureEnds(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a")
	g.Commit("base")
	tree := made(t, g)
	gittest.Write(t, tree.Dir(), "large", strings.Repeat("x", object.StreamFrom))
	capture(t, tree)
	why := errors.New("the user has waited enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := tree.Bundle(ctx, t.TempDir()); !errors.Is(err, why) {
		t.Errorf("bundle: %v", err)
	}
	if _, err := io.ReadAll(object.Until(ctx, strings.NewReader("x"))); err != why {
		t.Errorf("reading: %v", err)
	}
	gittest.Write(t, tree.Dir(), "large", strings.Repeat("y", object.StreamFrom))
	if _, err := tree.Capture(ctx, "s", "s"); !errors.Is(err, why) {
		t.Errorf("capture: %v", err)
	}
	if got := statuses(capture(t, tree)); got != "modified large" {
		t.Errorf("the next capture finds %s", got)
	}
}

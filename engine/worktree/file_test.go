package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"markmill/engine/worktree/gittest"
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

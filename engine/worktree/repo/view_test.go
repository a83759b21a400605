package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree"
	"markmill/engine/worktree/gittest"
	"markmill/notebooks"
)

// TestViewOfCheckout compares the trees of a checkout with what Git makes of the same files, and of the same files
// without a path.
func TestViewOfCheckout(t *testing.T) {
	g := gittest.New(t)
	dir, write := g.Dir, g.Write
	write("lib/a.py", "a\n")
	write("lib/sub/b.py", "b\n")
	write("lib.d/c", "c\n")
	write("top", "t\n")
	write(".hidden/sub/h", "h\n")
	g.Commit("one")
	write("lib/a.py", "changed\n")
	write("lib/new/deep/n", "n\n")
	if err := os.RemoveAll(filepath.Join(dir, "lib", "sub")); err != nil {
		t.Fatal(err)
	}
	src, err := worktree.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := src.CheckoutFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	view := files.View()
	g.Git("add", "-A")
	check := func(v *worktree.View, folder string) {
		t.Helper()
		want := g.Git("write-tree")
		if folder != "." {
			want = g.Git("rev-parse", want+":"+folder)
		}
		if tree, _, err := v.Folder(folder); err != nil || tree != want {
			t.Errorf("the tree of %s is %s, %v; Git has %s", folder, tree, err, want)
		}
	}
	check(view, ".")
	check(view, "lib")
	check(view, "lib.d")
	check(view, ".hidden")
	check(view, ".hidden/sub")
	if blob, _, err := view.Entry(".hidden/sub/h"); err != nil || blob != g.Git("rev-parse", ":.hidden/sub/h") {
		t.Errorf("the blob of a file in a hidden folder is %q, %v", blob, err)
	}
	_, names, _ := view.Folder("lib")
	g.Git("rm", "-q", "--cached", "-r", "lib/new", "top")
	without, err := view.Without([]string{"lib/new", "top"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(without, ".")
	check(without, "lib")
	if _, other, _ := without.Folder("lib"); other == names || other == "" {
		t.Errorf("the names of lib without new/ are %q, and with it %q", other, names)
	}
	if tree, _, _ := without.Folder("lib/new"); tree != "" {
		t.Error("a folder that is left out is there")
	}
	// the change of a run, taken back: a.py as it was, sub/ is back, new/ is gone
	old := func(path string) string { return g.Git("rev-parse", "HEAD:"+path) }
	back, err := view.Without(nil, []notebooks.ManifestChange{
		{Path: "lib/a.py", Status: "modified", OldBlob: old("lib/a.py"), OldMode: "100644", NewBlob: "x",
			NewMode: "100644"},
		{Path: "lib/new/deep/n", Status: "added", NewBlob: "x", NewMode: "100644"},
		{Path: "lib/sub/b.py", Status: "deleted", OldBlob: old("lib/sub/b.py"), OldMode: "100644"},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Git("read-tree", "HEAD")
	check(back, ".")
	if blob, mode, err := back.Entry("lib/sub/b.py"); blob != old("lib/sub/b.py") || mode != "100644" || err != nil {
		t.Error(blob, mode, err)
	}
	var all []string
	if err := back.Paths(func(name, _ string) { all = append(all, name) }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all, " "); got != ".hidden/sub/h lib.d/c lib/a.py lib/sub/b.py top" {
		t.Error(got)
	}
}

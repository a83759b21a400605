package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree"
	"markmill/engine/worktree/gittest"
	"markmill/notebooks"
	"markmill/runs"
)

func TestMain(m *testing.M) { gittest.Main(m) }

func sourceAt(t testing.TB, dir string) *worktree.Source {
	t.Helper()
	s, err := worktree.Open(dir)
	gittest.Must(t, err)
	return s
}

// isolated is a worktree of what is checked out.
func isolated(t testing.TB, g *gittest.Repository) *worktree.Tree {
	t.Helper()
	s := sourceAt(t, g.Dir)
	head, err := s.Head()
	gittest.Must(t, err)
	tree, err := worktree.Create(t.Context(), s, worktree.Options{RunID: "id", Dir: filepath.Join(t.TempDir(), "w"),
		Base: head})
	gittest.Must(t, err)
	t.Cleanup(func() { gittest.Must(t, tree.Close(false)) })
	return tree
}

func taken(t testing.TB, tree *worktree.Tree) *worktree.Change {
	t.Helper()
	c, err := tree.Capture(t.Context(), "s", "step")
	gittest.Must(t, err)
	return c
}

func nothing() error { return nil }

func applied(t testing.TB, s *worktree.Source, files []runs.ChangedFile, patch []byte) error {
	t.Helper()
	done, err := Apply(context.Background(), s.Repo, "run", files, patch, nothing)
	if done.There && len(files) == 0 {
		t.Error("nothing was compared, and yet the result is said to be there")
	}
	return err
}

// toApply is a checkout with a change of every kind that waits to be applied: its files before and after.
func toApply(t *testing.T) (g *gittest.Repository, s *worktree.Source, c *worktree.Change, before,
	after map[string]string) {
	t.Helper()
	g = gittest.New(t)
	for i := range 6 {
		g.Write(fmt.Sprintf("f%d", i), fmt.Sprintf("old %d\n", i))
	}
	g.Write("goes/x", "x\n")
	g.Write("turns/y", "y\n")
	g.Write("moves", "a file that moves\n")
	g.Commit("base")
	gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "f1"), 0o600))
	tree := isolated(t, g)
	d := tree.Dir()
	for i := range 6 {
		gittest.Write(t, d, fmt.Sprintf("f%d", i), fmt.Sprintf("new %d\n", i))
	}
	gittest.Must(t, os.RemoveAll(filepath.Join(d, "goes")))
	gittest.Must(t, os.RemoveAll(filepath.Join(d, "turns")))
	gittest.Write(t, d, "turns", "a file now\n")
	gittest.Must(t, os.Rename(filepath.Join(d, "moves"), filepath.Join(d, "moved")))
	gittest.Write(t, d, "deep/er/new", "new\n")
	gittest.Must(t, os.Symlink("f0", filepath.Join(d, "link")))
	c = taken(t, tree)
	before = content(t, g.Dir)
	after = content(t, d)
	return g, sourceAt(t, g.Dir), c, before, after
}

// content is every file of a checkout by path.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	gittest.Must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == ".markmill" {
				return filepath.SkipDir
			}
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type()&os.ModeSymlink != 0 {
			files[rel], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		files[rel] = string(data)
		return err
	}))
	return files
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func noStage(t *testing.T, root string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(root, ".markmill", "apply", "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestApplyCut stops an apply after each of its files, as a kill does: each file is old or new, and the next apply
// finishes it.
func TestApplyCut(t *testing.T) {
	for k := 0; ; k++ {
		g, s, c, before, after := toApply(t)
		st, err := openStage(g.Dir, "run", c.Patch)
		gittest.Must(t, err)
		list, err := planChanges(t.Context(), s.Repo, c.Patch, st.making, false)
		gittest.Must(t, err)
		gittest.Must(t, st.prepare(list))
		if k > len(list) {
			gittest.Must(t, st.perform())
			st.close()
			break
		}
		for i := range k {
			gittest.Must(t, st.place(i, fmt.Sprint(i), st.list.Files[i].Now))
		}
		st.close() // the system's lock goes with the process
		for path, is := range content(t, g.Dir) {
			if is != before[path] && is != after[path] {
				t.Errorf("after %d files %s is %q", k, path, is)
			}
		}
		if _, err := Apply(t.Context(), s.Repo, "another", nil, c.Patch, nothing); err == nil ||
			!strings.Contains(err.Error(), "half applied") {
			t.Errorf("another run meanwhile: %v", err)
		}
		if ids, err := HalfApplied(g.Dir); err != nil || len(ids) != 1 || ids[0] != "run" {
			t.Errorf("half applied: %q %v", ids, err)
		}
		done, err := Apply(t.Context(), s.Repo, "run", c.Files, c.Patch, nothing)
		if err != nil || !done.Resumed {
			t.Errorf("after %d files: %+v %v", k, done, err)
		}
		same(t, fmt.Sprintf("finished after %d files", k), content(t, g.Dir), after)
		noStage(t, g.Dir)
		if done, err := Apply(t.Context(), s.Repo, "run", c.Files, c.Patch, nothing); err != nil || !done.There {
			t.Errorf("once more: %+v %v", done, err)
		}
		if info, err := os.Stat(filepath.Join(g.Dir, "f1")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("f1 has lost its permissions: %v", info.Mode())
		}
	}
}

// TestApplyCutAndEdited: what the user writes between a kill and the next apply is not overwritten.
func TestApplyCutAndEdited(t *testing.T) {
	g, s, c, _, _ := toApply(t)
	st, err := openStage(g.Dir, "run", c.Patch)
	gittest.Must(t, err)
	list, err := planChanges(t.Context(), s.Repo, c.Patch, st.making, false)
	gittest.Must(t, err)
	gittest.Must(t, st.prepare(list))
	st.close()
	g.Write("f2", "mine\n")
	before := content(t, g.Dir)
	if _, err := Apply(t.Context(), s.Repo, "run", c.Files, c.Patch, nothing); err == nil ||
		!strings.Contains(err.Error(), "f2") {
		t.Errorf("%v", err)
	}
	same(t, "nothing is changed", content(t, g.Dir), before)
	g.Write("f2", "old 2\n")
	gittest.Must(t, applied(t, s, c.Files, c.Patch))
}

// TestApplyTakenBack: what cannot be moved to its place takes the others back, and so does an end before the first.
func TestApplyTakenBack(t *testing.T) {
	for _, path := range []string{"f3", "deep", "link", "turns/z"} {
		g, s, c, before, _ := toApply(t)
		_, err := Apply(t.Context(), s.Repo, "run", c.Files, c.Patch, func() error {
			if path == "f3" {
				gittest.Must(t, os.Remove(filepath.Join(g.Dir, path)))
			}
			g.Write(map[string]string{"f3": "f3", "deep": "deep", "link": "link", "turns/z": "turns/z"}[path],
				"in the way\n")
			return nil
		})
		if err == nil {
			t.Fatalf("%s: no error", path)
		}
		before[path] = "in the way\n"
		same(t, path, content(t, g.Dir), before)
		noStage(t, g.Dir)
	}
	g, s, c, before, _ := toApply(t)
	no := errors.New("no")
	if _, err := Apply(t.Context(), s.Repo, "run", c.Files, c.Patch, func() error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, s.Repo, "run", c.Files, c.Patch, nothing); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, "interrupted", content(t, g.Dir), before)
	noStage(t, g.Dir)
}

// TestApplyLinks: a patch leads through no symbolic link of the checkout, and into no Git directory.
func TestApplyLinks(t *testing.T) {
	g, s, c, _, _ := toApply(t)
	outside := t.TempDir()
	gittest.Must(t, os.Symlink(outside, filepath.Join(g.Dir, "deep")))
	var e *notebooks.Error
	if err := applied(t, s, c.Files, c.Patch); !errors.As(err, &e) || !strings.Contains(e.Msg, "deep/er/new") {
		t.Errorf("%v", err)
	}
	patch := "diff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\nindex " +
		"0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
	if err := applied(t, s, nil, []byte(patch)); err == nil {
		t.Error("a patch into .git")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside: %v", left)
	}
}

// TestApplyMovedLines: lines that have moved since, and a filter of the user's, are what the Git program knows.
func TestApplyMovedLines(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	g.Write(".gitattributes", "crlf text eol=crlf\n")
	g.Write("crlf", "1\r\n2\r\n")
	g.Commit("base")
	tree := isolated(t, g)
	gittest.Write(t, tree.Dir(), "a", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	gittest.Write(t, tree.Dir(), "crlf", "1\r\ntwo\r\n")
	c := taken(t, tree)
	g.Write("a", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	gittest.Must(t, applied(t, sourceAt(t, g.Dir), c.Files, c.Patch))
	got := content(t, g.Dir)
	if got["a"] != "0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n" || got["crlf"] != "1\r\ntwo\r\n" {
		t.Errorf("%q", got)
	}
}

// TestApply puts a run's patch on the checkout, with the Git program and without.
func TestApply(t *testing.T) {
	path := os.Getenv("PATH")
	for _, name := range []string{"git", "own"} {
		t.Run(name, func(t *testing.T) {
			do := func(s *worktree.Source, patch []byte) error {
				if name == "own" {
					t.Setenv("PATH", t.TempDir())
				}
				return applied(t, s, nil, patch)
			}
			g := gittest.New(t)
			g.Write("a", "1\n2\n3\n")
			g.Write("dir/b", "b\n")
			g.Write("moved", "moved\ncontent\n")
			g.Write("bin", "\x00old")
			g.Write("typed", "file\n")
			g.Write("keep", "keep\n")
			g.Commit("base")
			tree := isolated(t, g)
			d := tree.Dir()
			gittest.Write(t, d, "a", "1\ntwo\n3")
			gittest.Must(t, os.Remove(filepath.Join(d, "dir/b")))
			gittest.Must(t, os.Remove(filepath.Join(d, "dir")))
			gittest.Write(t, d, "dir", "a file now\n")
			gittest.Must(t, os.Rename(filepath.Join(d, "moved"), filepath.Join(d, "sp ace\t")))
			gittest.Write(t, d, "bin", "\x00new")
			gittest.Must(t, os.Remove(filepath.Join(d, "typed")))
			gittest.Must(t, os.Symlink("a", filepath.Join(d, "typed")))
			gittest.Write(t, d, "x/y/z", "z\n")
			gittest.Must(t, os.Chmod(filepath.Join(d, "x/y/z"), 0o755))
			c := taken(t, tree)
			s := sourceAt(t, g.Dir)

			g.Write("bin", "\x00mine")
			mine := content(t, g.Dir)
			var e *notebooks.Error
			if err := do(s, c.Patch); !errors.As(err, &e) || !strings.Contains(e.Msg, "bin") {
				t.Fatalf("a conflict: %v", err)
			}
			same(t, "after a conflict", content(t, g.Dir), mine)
			g.Write("bin", "\x00old")
			gittest.Must(t, do(s, c.Patch))
			t.Setenv("PATH", path)
			g.Git("add", "-A")
			if got := g.Git("write-tree"); got != string(c.Tree) {
				t.Errorf("tree %s, want %s\n%s\n%s", got, c.Tree, g.Git("status", "--short"), c.Patch)
			}
		})
	}
}

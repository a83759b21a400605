package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/runs"
)

func nothing() error { return nil }

func applied(t testing.TB, s *Source, files []runs.ChangedFile, patch []byte) error {
	t.Helper()
	done, err := Apply(context.Background(), s, "run", files, patch, nothing)
	if done.There && len(files) == 0 {
		t.Error("nothing was compared, and yet the result is said to be there")
	}
	return err
}

// toApply is a checkout with a change of every kind that waits to be applied: its files before and after.
func toApply(t *testing.T) (g *oracle, s *Source, c *Change, before, after map[string]string) {
	t.Helper()
	g = newOracle(t)
	for i := range 6 {
		g.write(fmt.Sprintf("f%d", i), fmt.Sprintf("old %d\n", i))
	}
	g.write("goes/x", "x\n")
	g.write("turns/y", "y\n")
	g.write("moves", "a file that moves\n")
	g.commit("base")
	must(t, os.Chmod(filepath.Join(g.dir, "f1"), 0o600))
	tree := made(t, g)
	d := tree.Dir()
	for i := range 6 {
		write(t, d, fmt.Sprintf("f%d", i), fmt.Sprintf("new %d\n", i))
	}
	must(t, os.RemoveAll(filepath.Join(d, "goes")))
	must(t, os.RemoveAll(filepath.Join(d, "turns")))
	write(t, d, "turns", "a file now\n")
	must(t, os.Rename(filepath.Join(d, "moves"), filepath.Join(d, "moved")))
	write(t, d, "deep/er/new", "new\n")
	must(t, os.Symlink("f0", filepath.Join(d, "link")))
	c = capture(t, tree)
	before = content(t, g.dir)
	after = content(t, d)
	return g, openSource(t, g.dir), c, before, after
}

// content is every file of a checkout by path.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
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
		st, err := openStage(g.dir, "run", c.Patch)
		must(t, err)
		list, err := s.planChanges(t.Context(), c.Patch, st.making)
		must(t, err)
		must(t, st.prepare(list))
		if k > len(list) {
			must(t, st.perform())
			st.close()
			break
		}
		for i := range k {
			must(t, st.place(i, fmt.Sprint(i), st.list.Files[i].Now))
		}
		st.close() // the system's lock goes with the process
		for path, is := range content(t, g.dir) {
			if is != before[path] && is != after[path] {
				t.Errorf("after %d files %s is %q", k, path, is)
			}
		}
		if _, err := Apply(t.Context(), s, "another", nil, c.Patch, nothing); err == nil || !strings.Contains(err.Error(), "half applied") {
			t.Errorf("another run meanwhile: %v", err)
		}
		if ids, err := HalfApplied(g.dir); err != nil || len(ids) != 1 || ids[0] != "run" {
			t.Errorf("half applied: %q %v", ids, err)
		}
		done, err := Apply(t.Context(), s, "run", c.Files, c.Patch, nothing)
		if err != nil || !done.Resumed {
			t.Errorf("after %d files: %+v %v", k, done, err)
		}
		same(t, fmt.Sprintf("finished after %d files", k), content(t, g.dir), after)
		noStage(t, g.dir)
		if done, err := Apply(t.Context(), s, "run", c.Files, c.Patch, nothing); err != nil || !done.There {
			t.Errorf("once more: %+v %v", done, err)
		}
		if info, err := os.Stat(filepath.Join(g.dir, "f1")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("f1 has lost its permissions: %v", info.Mode())
		}
	}
}

// TestApplyCutAndEdited: what the user writes between a kill and the next apply is not overwritten.
func TestApplyCutAndEdited(t *testing.T) {
	g, s, c, _, _ := toApply(t)
	st, err := openStage(g.dir, "run", c.Patch)
	must(t, err)
	list, err := s.planChanges(t.Context(), c.Patch, st.making)
	must(t, err)
	must(t, st.prepare(list))
	st.close()
	g.write("f2", "mine\n")
	before := content(t, g.dir)
	if _, err := Apply(t.Context(), s, "run", c.Files, c.Patch, nothing); err == nil || !strings.Contains(err.Error(), "f2") {
		t.Errorf("%v", err)
	}
	same(t, "nothing is changed", content(t, g.dir), before)
	g.write("f2", "old 2\n")
	must(t, applied(t, s, c.Files, c.Patch))
}

// TestApplyTakenBack: what cannot be moved to its place takes the others back, and so does an end before the first.
func TestApplyTakenBack(t *testing.T) {
	for _, path := range []string{"f3", "deep", "link", "turns/z"} {
		g, s, c, before, _ := toApply(t)
		_, err := Apply(t.Context(), s, "run", c.Files, c.Patch, func() error {
			if path == "f3" {
				must(t, os.Remove(filepath.Join(g.dir, path)))
			}
			g.write(map[string]string{"f3": "f3", "deep": "deep", "link": "link", "turns/z": "turns/z"}[path], "in the way\n")
			return nil
		})
		if err == nil {
			t.Fatalf("%s: no error", path)
		}
		before[path] = "in the way\n"
		same(t, path, content(t, g.dir), before)
		noStage(t, g.dir)
	}
	g, s, c, before, _ := toApply(t)
	no := errors.New("no")
	if _, err := Apply(t.Context(), s, "run", c.Files, c.Patch, func() error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, s, "run", c.Files, c.Patch, nothing); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, "interrupted", content(t, g.dir), before)
	noStage(t, g.dir)
}

// TestApplyLinks: a patch leads through no symbolic link of the checkout, and into no Git directory.
func TestApplyLinks(t *testing.T) {
	g, s, c, _, _ := toApply(t)
	outside := t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(g.dir, "deep")))
	var e *notebooks.Error
	if err := applied(t, s, c.Files, c.Patch); !errors.As(err, &e) || !strings.Contains(e.Msg, "deep/er/new") {
		t.Errorf("%v", err)
	}
	patch := "diff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\nindex 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
	if err := applied(t, s, nil, []byte(patch)); err == nil {
		t.Error("a patch into .git")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside: %v", left)
	}
}

// TestApplyMovedLines: lines that have moved since, and a filter of the user's, are what the Git program knows.
func TestApplyMovedLines(t *testing.T) {
	g := newOracle(t)
	g.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	g.write(".gitattributes", "crlf text eol=crlf\n")
	g.write("crlf", "1\r\n2\r\n")
	g.commit("base")
	tree := made(t, g)
	write(t, tree.Dir(), "a", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	write(t, tree.Dir(), "crlf", "1\r\ntwo\r\n")
	c := capture(t, tree)
	g.write("a", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	must(t, applied(t, openSource(t, g.dir), c.Files, c.Patch))
	got := content(t, g.dir)
	if got["a"] != "0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n" || got["crlf"] != "1\r\ntwo\r\n" {
		t.Errorf("%q", got)
	}
}

package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/gittest"
)

func small(t *testing.T) (*gittest.Repository, *Tree) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Write("dir/b", "b\n")
	g.Write("dir/sub/c", "c\n")
	g.Commit("base")
	return g, made(t, g)
}

// TestUnreadable: a closed folder is an error that names it, and nothing in it is taken for deleted.
func TestUnreadable(t *testing.T) {
	_, tree := small(t)
	gittest.Write(t, tree.Dir(), "a", "changed\n")
	for _, op := range []string{"enter", "open"} {
		tree.fault = func(o, path string) error {
			if o == op && strings.TrimSuffix(path, "/") == "dir/sub" {
				return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
			}
			return nil
		}
		_, err := tree.Capture(t.Context(), "s", "m")
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "dir/sub") {
			t.Fatalf("%s: %v", op, err)
		}
	}
	tree.fault = nil
	if c := capture(t, tree); statuses(c) != "modified a" {
		t.Errorf("after it was opened again: %q", statuses(c))
	}
}

// TestClosed is TestUnreadable with the file system's own refusal.
func TestClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	_, tree := small(t)
	p := filepath.Join(tree.Dir(), "dir/sub")
	gittest.Must(t, os.Chmod(p, 0))
	if _, err := tree.Capture(t.Context(), "s", "m"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	gittest.Must(t, os.Chmod(p, 0o755))
	if c := capture(t, tree); len(c.Files) != 0 {
		t.Errorf("%q", statuses(c))
	}
}

// TestFailedCapture: what an interrupted capture had found already is found by the next.
func TestFailedCapture(t *testing.T) {
	_, tree := small(t)
	gittest.Write(t, tree.Dir(), "a", "changed\n")
	gittest.Must(t, os.Remove(filepath.Join(tree.Dir(), "dir/b")))
	gittest.Write(t, tree.Dir(), "dir/sub/new", "x\n")
	objects := tree.store.Dir
	gittest.Must(t, os.Rename(objects, objects+"-away"))
	if _, err := tree.Capture(t.Context(), "s", "m"); err == nil {
		t.Fatal("no store, and no error")
	}
	gittest.Must(t, os.Rename(objects+"-away", objects))
	c := capture(t, tree)
	if statuses(c) != "modified a, deleted dir/b, added dir/sub/new" || string(c.Tree) != wantTree(t, tree) {
		t.Errorf("%q", statuses(c))
	}
}

// TestGitDirDeleted: a step that removes .git is captured all the same.
func TestGitDirDeleted(t *testing.T) {
	g, tree := small(t)
	gittest.Write(t, tree.Dir(), "a", "one\n")
	first := capture(t, tree)
	gittest.Must(t, os.RemoveAll(tree.GitDir()))
	gittest.Write(t, tree.Dir(), "a", "two\n")
	second := capture(t, tree)
	if second.Parent != first.Commit || statuses(second) != "modified a" {
		t.Errorf("%+v", second)
	}
	ref := fetched(t, tree)
	if got := g.Git("show", ref+":a"); got != "two" {
		t.Errorf("published %q", got)
	}
}

// TestNested: a repository inside is opaque and told of; a submodule is its commit.
func TestNested(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Write("was/tracked", "x\n")
	g.Commit("base")
	sub := gittest.New(t)
	sub.Write("s", "s\n")
	sub.Commit("one")
	g.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.Dir, "module")
	g.Commit("with a submodule")
	tree := made(t, g)
	d := tree.Dir()
	if c := capture(t, tree); len(c.Files) != 0 {
		t.Fatalf("%q", statuses(c))
	}
	gittest.GitIn(t, d, nil, "clone", "-q", sub.Dir, "inside/repo")
	gittest.Write(t, d, "inside/seen", "x\n")
	gittest.Write(t, d, "fake/.git/notarepo", "x")
	gittest.Write(t, d, "fake/seen", "x\n")
	gittest.GitIn(t, d, nil, "init", "-q", "was")
	gittest.Write(t, d, "was/tracked", "edited\n")
	c := capture(t, tree)
	if statuses(c) != "added fake/seen, added inside/seen, modified was/tracked" ||
		strings.Join(c.Skipped, " ") != "fake/.git/ inside/repo/ was/.git/" {
		t.Errorf("files %q, skipped %q", statuses(c), c.Skipped)
	}
	gittest.Must(t, os.RemoveAll(filepath.Join(d, "module")))
	gittest.GitIn(t, d, nil, "clone", "-q", sub.Dir, "module")
	if c := capture(t, tree); len(c.Files) != 0 {
		t.Errorf("a submodule at its commit: %q", statuses(c))
	}
	gittest.GitIn(t, filepath.Join(d, "module"), nil, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q",
		"--allow-empty", "-m", "two")
	c = capture(t, tree)
	if statuses(c) != "modified module" || c.Files[0].NewMode != "160000" {
		t.Errorf("a submodule moved on: %+v", c.Files)
	}
	checkPatch(t, tree, c.Parent, c)
	gittest.Must(t, os.RemoveAll(filepath.Join(d, "inside/repo/.git")))
	if c := capture(t, tree); statuses(c) != "added inside/repo/s" {
		t.Errorf("no repository any more: %q", statuses(c))
	}
}

// TestCoarseTimes: where times are coarse, an edit right after a capture leaves the same ones. It is found all the
// same.
func TestCoarseTimes(t *testing.T) {
	_, tree := small(t)
	tree.fine = false
	p := filepath.Join(tree.Dir(), "a")
	gittest.Write(t, tree.Dir(), "a", "b\n")
	// Within a tick before the capture, however long the machine takes from here to there.
	soon := time.Now().Add(time.Hour)
	gittest.Must(t, os.Chtimes(p, soon, soon))
	capture(t, tree)
	// The same stat for another content: as if the edit fell into the tick of the capture.
	gittest.Must(t, os.WriteFile(p, []byte("c\n"), 0o666))
	f, err := disk.Open(tree.Dir())
	gittest.Must(t, err)
	defer f.Close()
	e := tree.root.Find("a")
	e.Stat, err = f.Lstat("a")
	gittest.Must(t, err)
	if c := capture(t, tree); statuses(c) != "modified a" {
		t.Errorf("%q", statuses(c))
	}
}

// TestClockSetBack: a change under an earlier time is a change.
func TestClockSetBack(t *testing.T) {
	_, tree := small(t)
	gittest.Write(t, tree.Dir(), "a", "b\n")
	capture(t, tree)
	gittest.Write(t, tree.Dir(), "a", "c\n")
	past := time.Unix(1, 0)
	gittest.Must(t, os.Chtimes(filepath.Join(tree.Dir(), "a"), past, past))
	gittest.Write(t, tree.Dir(), "dir/new", "x\n")
	gittest.Must(t, os.Chtimes(filepath.Join(tree.Dir(), "dir"), past, past))
	if c := capture(t, tree); statuses(c) != "modified a, added dir/new" {
		t.Errorf("%q", statuses(c))
	}
}

// TestChangingFiles: what is captured while a process still writes is whole, and the last state is found in the end.
func TestChangingFiles(t *testing.T) {
	_, tree := small(t)
	stop, done := make(chan struct{}), make(chan struct{})
	p := filepath.Join(tree.Dir(), "dir/b")
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := p + ".new"
			if os.WriteFile(tmp, []byte(strings.Repeat(string(rune('a'+i%26)), 1000+i%3)), 0o666) == nil {
				os.Rename(tmp, p)
			}
		}
	}()
	for range 20 {
		c, err := tree.Capture(t.Context(), "s", "m")
		if err != nil {
			if !errors.Is(err, disk.ErrChanged) {
				t.Error(err)
			}
			continue
		}
		data, err := tree.blob(tree.root.Find("dir/b").OID)
		gittest.Must(t, err)
		if len(data) > 2 && strings.Trim(string(data), string(data[:1])) != "" {
			t.Errorf("torn: %q", data)
		}
		gittest.Must(t, c.PatchErr)
	}
	close(stop)
	<-done
	os.Remove(p + ".new")
	if c := capture(t, tree); string(c.Tree) != wantTree(t, tree) {
		t.Errorf("%q", statuses(c))
	}
}

// TestFingerprint sees each kind of touch, and not what it is told to leave out.
func TestFingerprint(t *testing.T) {
	touches := map[string]struct {
		do   func(g *gittest.Repository)
		want string
	}{
		"nothing":        {func(g *gittest.Repository) {}, ""},
		"a run's record": {func(g *gittest.Repository) { g.Write(".markmill/runs/x", "x") }, ""},
		"a run's ref": {func(g *gittest.Repository) {
			g.Git("update-ref", "refs/markmill/runs/x", "HEAD")
			g.Git("pack-refs", "--all")
		}, ".git/packed-refs .git/refs/heads/main"},
		"excluded":     {func(g *gittest.Repository) { g.Write("out.md", "x") }, ""},
		"edit":         {func(g *gittest.Repository) { g.Write("a", "b\n") }, "a"},
		"ignored file": {func(g *gittest.Repository) { g.Write("x.log", "y") }, "x.log"},
		"new and gone": {func(g *gittest.Repository) {
			g.Write("d/new", "x")
			gittest.Must(g, os.Remove(filepath.Join(g.Dir, "a")))
		}, "a d/new"},
		"mode": {func(g *gittest.Repository) { gittest.Must(g, os.Chmod(filepath.Join(g.Dir, "a"), 0o600)) },
			"a"},
		"folder mode": {func(g *gittest.Repository) { gittest.Must(g, os.Chmod(filepath.Join(g.Dir, "d"), 0o700)) },
			"d"},
		"index":    {func(g *gittest.Repository) { g.Write("a", "b\n"); g.Git("add", "a") }, ".git/index a"},
		"branch":   {func(g *gittest.Repository) { g.Git("branch", "x") }, ".git/refs/heads/x"},
		"settings": {func(g *gittest.Repository) { g.Git("config", "a.b", "c") }, ".git/config"},
		"hook":     {func(g *gittest.Repository) { g.Write(".git/hooks/pre-commit", "x") }, ".git/hooks/pre-commit"},
		"head":     {func(g *gittest.Repository) { g.Git("symbolic-ref", "HEAD", "refs/heads/other") }, ".git/HEAD"},
	}
	for name, c := range touches {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t)
			g.Write("a", "a\n")
			g.Write("d/b", "b\n")
			g.Write(".gitignore", "*.log\n")
			g.Commit("base")
			g.Write("x.log", "x")
			s := openSource(t, g.Dir)
			except := func(p string) bool { return p == "out.md" }
			before, err := s.Fingerprint(t.Context(), except)
			gittest.Must(t, err)
			c.do(g)
			after, err := s.Fingerprint(t.Context(), except)
			gittest.Must(t, err)
			if got := strings.Join(before.Diff(after), " "); got != c.want || before.Equal(after) != (c.want == "") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

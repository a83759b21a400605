package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
	"markmill/notebooks"
)

// TestCreate looks at a new worktree with the Git program, for each kind of repository.
func TestCreate(t *testing.T) {
	cases := map[string]func(g *gittest.Repository){
		"loose":            func(g *gittest.Repository) {},
		"packed":           func(g *gittest.Repository) { g.Git("gc", "-q"); g.Git("pack-refs", "--all") },
		"sparse checkout":  func(g *gittest.Repository) { g.Git("sparse-checkout", "set", "dir") },
		"worktree config":  func(g *gittest.Repository) { g.Git("config", "extensions.worktreeConfig", "true") },
		"split index":      func(g *gittest.Repository) { g.Git("update-index", "--split-index") },
		"index version 4":  func(g *gittest.Repository) { g.Git("update-index", "--index-version", "4") },
		"signing required": func(g *gittest.Repository) { g.Git("config", "commit.gpgSign", "true") },
		"detached":         func(g *gittest.Repository) { g.Git("checkout", "-q", "--detach") },
		"hooks": func(g *gittest.Repository) {
			g.Write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$GIT_DIR/../hooked\"\n")
			gittest.Must(g, os.Chmod(filepath.Join(g.Dir, ".git/hooks/post-checkout"), 0o755))
		},
		"remote": func(g *gittest.Repository) { g.Git("remote", "add", "origin", "../elsewhere") },
		"alternates": func(g *gittest.Repository) {
			other := filepath.Join(filepath.Dir(g.Dir), "other")
			gittest.GitIn(g, filepath.Dir(g.Dir), nil, "clone", "-q", "--shared", g.Dir, other)
			g.Dir = other
		},
		"shallow": func(g *gittest.Repository) {
			other := filepath.Join(filepath.Dir(g.Dir), "shallow")
			gittest.GitIn(g, filepath.Dir(g.Dir), nil, "clone", "-q", "--depth=1", "file://"+g.Dir, other)
			g.Dir = other
		},
		"linked worktree": func(g *gittest.Repository) {
			other := filepath.Join(filepath.Dir(g.Dir), "linked")
			g.Git("worktree", "add", "-q", other)
			g.Dir = other
		},
		"dirty source": func(g *gittest.Repository) { g.Write("a", "dirty"); g.Write("untracked", "x") },
		"spaced folder": func(g *gittest.Repository) {
			gittest.Must(g,
				os.Rename(g.Dir, g.Dir+" \"x\"\n"))
			g.Dir += " \"x\"\n"
		},
	}
	sources := map[string]*gittest.Repository{} // copied for each case
	for _, object := range []string{"sha1", "sha256"} {
		g := gittest.New(t, "--object-format="+object)
		g.Write("a", "one\n")
		g.Commit("first")
		g.Git("tag", "-a", "-m", "annotated", "v1")
		g.Git("branch", "topic/one")
		g.Write("dir/b", "b\n")
		gittest.Must(t, os.Symlink("b", filepath.Join(g.Dir, "dir/link")))
		g.Write("run.sh", "x")
		gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "run.sh"), 0o755))
		g.Write("odd\nname\t\"q\"\xff", "odd")
		g.Commit("second")
		sources[object] = g
	}
	for name, change := range cases {
		for _, object := range []string{"sha1", "sha256"} {
			if !thorough && object == "sha256" && name != "packed" && name != "alternates" {
				continue // how objects are named and how a repository lies on disk are apart
			}
			t.Run(name+" "+object, func(t *testing.T) {
				g := &gittest.Repository{TB: t, Dir: filepath.Join(t.TempDir(), "source")}
				if out, err := exec.Command("cp", "-R", "-p", sources[object].Dir, g.Dir).CombinedOutput(); err != nil {
					t.Fatalf("%s", out)
				}
				change(g)
				before := snapshotAll(t, g.Dir)
				tree := made(t, g)
				d := tree.Dir()
				if out := gittest.GitIn(t, d, nil, "status", "--porcelain", "--ignored"); out != "" {
					t.Errorf("status: %s", out)
				}
				if out := gittest.GitIn(t, d, nil, "fsck", "--full", "--strict"); out != "" {
					t.Errorf("fsck: %s", out)
				}
				if gittest.GitIn(t, d, nil, "rev-parse", "HEAD") != string(tree.Base()) ||
					gittest.GitIn(t, d, nil, "log", "--format=%s", "-1") != "second" {
					t.Error("HEAD is not the base")
				}
				if gittest.GitIn(t, d, nil, "write-tree") != string(tree.fmt.OID(tree.baseTree)) {
					t.Error("the index is not the base")
				}
				if index, err := os.ReadFile(filepath.Join(d, ".git/index")); err != nil ||
					!strings.Contains(string(index), "TREE") {
					t.Error("the index has no cache of trees, which makes status quick")
				}
				if _, err := gittest.TryGit(d, nil, nil, "symbolic-ref", "-q", "HEAD"); err == nil {
					t.Error("HEAD is on a branch")
				}
				if name == "loose" || name == "packed" {
					if got, want := gittest.GitIn(t, d, nil, "for-each-ref"), g.Git("for-each-ref"); got != want {
						t.Errorf("refs %s, want %s", got, want)
					}
				}
				if name == "remote" {
					if _, err := gittest.TryGit(d, nil, nil, "push", "origin", "HEAD:x"); err == nil ||
						!strings.Contains(err.Error(), "no-push") {
						t.Errorf("push: %v", err)
					}
					if url := gittest.GitIn(t, d, nil, "remote", "get-url",
						"origin"); url != filepath.Join(filepath.Dir(g.Dir),
						"elsewhere") {
						t.Errorf("url %s", url)
					}
				}
				gittest.Write(t, d, "a", "changed\n")
				gittest.GitIn(t, d, nil, "commit", "-qam", "by the step")
				gittest.GitIn(t, d, nil, "checkout", "-q", "HEAD")
				c := capture(t, tree)
				if statuses(c) != "modified a" {
					t.Errorf("files %q", statuses(c))
				}
				if after := snapshotAll(t, g.Dir); after != before {
					t.Error("the source was touched")
				}
			})
		}
	}
}

// TestCreateParallel: enough files that two goroutines make the worktree.
func TestCreateParallel(t *testing.T) {
	g := gittest.New(t)
	for i := range parallelFrom + 200 {
		g.Write(fmt.Sprintf("d%d/s%d/f%d", i%7, i%5, i), fmt.Sprintf("line\r\n%d\n", i))
	}
	g.Write("d3/.gitattributes", "* text eol=crlf\n")
	g.Write("d4/s1/.gitattributes", "f* -text\n")
	g.Commit("base")
	g.Git("gc", "-q")
	tree := made(t, g)
	if out := gittest.GitIn(t, tree.Dir(), nil, "status", "--porcelain"); out != "" {
		t.Errorf("status: %.300s", out)
	}
	if c := capture(t, tree); len(c.Files) != 0 || string(c.Tree) != wantTree(t, tree) {
		t.Errorf("%d files changed", len(c.Files))
	}
}

// TestCreateEmpty: without a repository, and in one without a commit.
func TestCreateEmpty(t *testing.T) {
	g := gittest.New(t)
	for name, s := range map[string]*Source{"no repository": nil, "no commit": openSource(t, g.Dir)} {
		t.Run(name, func(t *testing.T) {
			tree := create(t, s, "")
			if out := gittest.GitIn(t, tree.Dir(), nil, "status", "--porcelain"); out != "" {
				t.Error(out)
			}
			gittest.Write(t, tree.Dir(), "a/b", "x\n")
			c := capture(t, tree)
			if c.Parent != "" || statuses(c) != "added a/b" || string(c.Tree) != wantTree(t, tree) {
				t.Errorf("%+v", c)
			}
			gittest.GitIn(t, tree.Dir(), nil, "fsck")
			if ref := fetched(t, tree); (ref == "") != (s == nil) {
				t.Errorf("bundle: %q", ref)
			}
		})
	}
	g.Git("fsck", "--strict")
}

// TestConversions compares content with what the Git program checks out and stores.
func TestConversions(t *testing.T) {
	attrs := map[string]string{
		"auto":      "* text=auto\n",
		"crlf":      "*.txt text eol=crlf\n*.sh eol=lf\nd/* -text\n",
		"auto crlf": "* text=auto eol=crlf\nbin binary\n[attr]raw -text\na.raw raw\n",
		"ident":     "*.txt ident\n",
		"filter":    "*.txt filter=up\n",
		"missing":   "*.txt filter=none\n",
		"encoding":  "*.txt working-tree-encoding=UTF-16LE\n",
		"quoted":    "\"sp\\141ce.txt\" eol=crlf\n",
	}
	attempts := 0
	for name, text := range attrs {
		g := gittest.New(t)
		files := map[string]string{"lf.txt": "a\nb\n$Id$\n", "crlf.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\n",
			"cr.txt": "a\rb\n",
			"bin":    "\x00\n\r\n", "s.sh": "a\n", "d/in.txt": "a\n", "a.raw": "x\n", "space.txt": "y\n",
			"empty.txt": ""}
		for p, c := range files {
			if name == "encoding" {
				c = strings.ReplaceAll(c, "\r", "")
			}
			g.Write(p, c)
		}
		g.Commit("raw")
		g.Configure("[filter \"up\"]\nsmudge = tr a-z A-Z\nclean = tr A-Z a-z\n[core]\nsafecrlf = false\n")
		// The attributes come in a commit that normalizes nothing, so that the stored content stays raw.
		g.Write(".gitattributes", text)
		g.Git("add", ".gitattributes")
		g.Git("commit", "-qm", "attributes")
		for _, autocrlf := range []string{"false", "true", "input"} {
			if !thorough && name != "auto" && (autocrlf == "input" && name != "ident" ||
				autocrlf == "false" && name != "missing") {
				continue
			}
			attempts += 2 * len(files)
			t.Run(name+" "+autocrlf, func(t *testing.T) {
				g.Configure("[core]\nautocrlf = " + autocrlf + "\n")
				tree := made(t, g)
				head := gittest.GitIn(t, g.Dir, nil, "rev-parse", "HEAD")
				if string(tree.Base()) != head && name != "filter" { // which does not restore "$Id$"
					t.Errorf("a checkout that nobody changed begins with %s, want %s", tree.Base(), head)
				}
				other := filepath.Join(t.TempDir(), "other")
				gittest.GitIn(t, g.Dir, nil, "worktree", "add", "-q", "--detach", other)
				for p := range files {
					got, err := os.ReadFile(filepath.Join(tree.Dir(), p))
					gittest.Must(t, err)
					want, err := os.ReadFile(filepath.Join(other, p))
					gittest.Must(t, err)
					if string(got) != string(want) {
						t.Errorf("%s: checked out %q, Git %q", p, got, want)
					}
				}
				if name != "encoding" {
					for p := range files {
						gittest.Write(t, tree.Dir(), p, files[p]+"more\r\nand\r\n")
						gittest.Write(t, tree.Dir(), "new-"+filepath.Base(p), "fresh\r\nlines\r\n")
					}
				} else {
					gittest.Write(t, tree.Dir(), "lf.txt", "n\x00e\x00w\x00\n\x00")
				}
				c, err := tree.Capture(t.Context(), "s", "m")
				gittest.Must(t, err)
				index := filepath.Join(t.TempDir(), "index") // of the base, whatever the worktree's own says
				gittest.GitIn(t, tree.Dir(), []string{"GIT_INDEX_FILE=" + index}, "read-tree", head)
				if want := wantTreeIn(t, tree, index); string(c.Tree) != want {
					t.Errorf("stored %s, Git %s: %s", c.Tree, want, statuses(c))
				}
			})
		}
	}
	t.Logf("%d attempts", attempts)
}

// TestBring takes uncommitted changes and ignored files along.
func TestBring(t *testing.T) {
	g := gittest.New(t)
	g.Write(".gitignore", "*.env\nsecret/\nnode/\n")
	g.Write("a", "a\n")
	g.Write("gone", "gone\n")
	g.Write("d/file", "x\n")
	head := g.Commit("base")
	g.Write("a", "edited\n")
	g.Git("add", "a")
	g.Write("a", "edited twice\n")
	g.Write("new/file", "new\n")
	gittest.Must(t, os.Remove(filepath.Join(g.Dir, "gone")))
	gittest.Must(t, os.RemoveAll(filepath.Join(g.Dir, "d")))
	gittest.Must(t, os.Symlink("/etc", filepath.Join(g.Dir, "d")))
	for _, p := range []string{".env", "sub/x.env", "secret/key", "node/m/x"} {
		g.Write(p, p)
	}
	before := snapshotAll(t, g.Dir)
	s := openSource(t, g.Dir)
	dirty, err := s.Dirty(t.Context())
	gittest.Must(t, err)
	own, err := s.dirtyWalk(t.Context(), s.CommonDir())
	gittest.Must(t, err)
	if want := "a d d/file gone new/file"; strings.Join(dirty, " ") != want || strings.Join(own, " ") != want {
		t.Errorf("dirty %q, own walk %q, want %q", dirty, own, want)
	}
	tree := made(t, g, func(o *Options) { o.IncludeDirty, o.Copy = true, []string{".env", "/secret/"} })
	d := tree.Dir()
	if out := gittest.GitIn(t, d, nil, "status", "--porcelain"); out != "" {
		t.Errorf("status %s", out)
	}
	if gittest.GitIn(t, d, nil, "rev-parse", "HEAD^") != string(head) ||
		gittest.GitIn(t, d, nil, "rev-parse", "HEAD") != string(tree.Base()) {
		t.Error("the base is no child of HEAD")
	}
	for p, want := range map[string]bool{".env": true, "secret/key": true, "sub/x.env": false, "node/m/x": false,
		"new/file": true, "gone": false} {
		if _, err := os.Lstat(filepath.Join(d, p)); (err == nil) != want {
			t.Errorf("%s: %v", p, err)
		}
	}
	if c := capture(t, tree); len(c.Files) != 0 || c.IgnoredWritten != 0 {
		t.Errorf("%+v", c)
	}
	gittest.Write(t, d, "secret/more", "x")
	if c := capture(t, tree); len(c.Files) != 0 || c.IgnoredWritten != 1 {
		t.Errorf("ignored written: %d", c.IgnoredWritten)
	}
	if snapshotAll(t, g.Dir) != before {
		t.Error("the source was touched")
	}
}

// TestInPlace: the user's checkout as it is, its index and .git untouched.
func TestInPlace(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Write("b", "b\n")
	g.Write(".gitignore", "*.log\n")
	g.Write("forced.log", "x\n")
	g.Git("add", "-f", "forced.log")
	head := g.Commit("base")
	g.Write("b", "uncommitted\n")
	g.Write("mine", "untracked\n")
	dot := snapshotAll(t, filepath.Join(g.Dir, ".git"))
	tree, err := InPlace(t.Context(), openSource(t, g.Dir), options(t, head))
	gittest.Must(t, err)
	g.Write("a", "step\n")
	g.Write("forced.log", "step\n")
	g.Write("other.log", "ignored\n")
	g.Write(".markmill/runs/x", "the record")
	c := capture(t, tree)
	if statuses(c) != "modified a, modified forced.log" || c.IgnoredWritten != 1 {
		t.Errorf("files %q, ignored %d", statuses(c), c.IgnoredWritten)
	}
	if snapshotAll(t, filepath.Join(g.Dir, ".git")) != dot {
		t.Error("the user's .git was written")
	}
	ref := fetched(t, tree)
	if got := g.Git("diff", "--name-only", string(tree.Base()), ref); got != "a\nforced.log" {
		t.Errorf("published %q", got)
	}
	gittest.Must(t, tree.Close(false))
	if _, err := os.Stat(filepath.Join(g.Dir, "a")); err != nil {
		t.Error("Close removed the user's checkout")
	}
}

// TestOpen: where a repository is, and what is refused.
func TestOpen(t *testing.T) {
	g := gittest.New(t)
	s := openSource(t, g.Dir)
	if h, err := s.Head(); h != "" || err != nil {
		t.Errorf("unborn HEAD: %q %v", h, err)
	}
	g.Write("deep/er/f", "x")
	head := g.Commit("base")
	g.Git("tag", "-a", "-m", "t", "v1.0")
	g.Git("branch", "feature")
	t.Setenv("GIT_DIR", "/nowhere")
	s = openSource(t, filepath.Join(g.Dir, "deep/er"))
	gittest.Must(t, os.Unsetenv("GIT_DIR"))
	if s.Root() != disk.RealPath(g.Dir) || s.GitDir() != filepath.Join(disk.RealPath(g.Dir), ".git") {
		t.Errorf("root %s, git %s", s.Root(), s.GitDir())
	}
	for _, rev := range []string{"HEAD", "main", "v1.0", string(head), string(head[:9]), "refs/heads/feature", "HEAD~0",
		"HEAD^{commit}", "@"} {
		if got, err := s.Resolve(rev); got != head || err != nil {
			t.Errorf("%s is %q %v", rev, got, err)
		}
	}
	var e *notebooks.Error
	if _, err := s.Resolve("featrue"); !errors.As(err, &e) || !strings.Contains(e.Hint, `feature`) {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, repo.ErrNoRepository) {
		t.Errorf("%v", err)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	g.Git("clone", "-q", "--bare", g.Dir, bare)
	if _, err := Open(bare); !errors.As(err, &e) || !strings.Contains(e.Msg, "bare") {
		t.Errorf("%v", err)
	}
	o := options(t, head)
	gittest.Must(t, os.MkdirAll(o.Dir, 0o777))
	if _, err := Create(t.Context(), s, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that exists: %v", err)
	}
	o = options(t, object.OID(strings.Repeat("1", 40)))
	if _, err := Create(t.Context(), s, o); err == nil {
		t.Error("a base that does not exist")
	} else if _, err := os.Lstat(o.Dir); err == nil {
		t.Error("what could not be made is left behind")
	}
}

// TestTimes: a file that is the one in the checkout's index has the time that the index has, so that build tools make
// anew what the change touches and no more.
func TestTimes(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		t.Run("index version "+version, func(t *testing.T) {
			g := gittest.New(t)
			old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
			for _, name := range []string{"a", "d/changed", "d/e/other", "d/same", "z"} {
				g.Write(name, name)
				gittest.Must(t, os.Chtimes(filepath.Join(g.Dir, name), old, old))
			}
			base := g.Commit("one")
			g.Write("d/changed", "in the next commit")
			g.Write("d/before", "in the next commit alone")
			gittest.Must(t, os.Chtimes(filepath.Join(g.Dir, "d/changed"), old, old))
			g.Commit("two")
			g.Write("z", "not committed")
			g.Git("update-index", "--index-version", version)
			began := time.Now().Add(-time.Minute)
			tree, err := Create(t.Context(), openSource(t, g.Dir), Options{Base: base, IndexTimes: true,
				Dir: filepath.Join(t.TempDir(), "w")})
			gittest.Must(t, err)
			defer tree.Close(false)
			for name, want := range map[string]bool{"a": true, "d/changed": false, "d/e/other": true, "d/same": true,
				"z": true} {
				info, err := os.Stat(filepath.Join(tree.Dir(), name))
				gittest.Must(t, err)
				if at := info.ModTime(); want && !at.Equal(old) || !want && at.Before(began) {
					t.Errorf("%s has the time %v", name, at)
				}
			}
		})
	}
}

// TestPartialClone: what a partial clone lacks of the base is fetched before the worktree is made, and Git fetches more
// when a step asks for it. Where the remote is gone, an error says so first.
func TestPartialClone(t *testing.T) {
	for _, filter := range []string{"blob:none", "tree:0"} {
		g := gittest.New(t)
		g.Write("deep/er/a", "one\n")
		g.Commit("one")
		g.Write("deep/er/a", "two\n")
		head := g.Commit("two")
		g.Configure("[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n")
		dir := filepath.Join(t.TempDir(), "clone")
		g.Git("clone", "-q", "--no-checkout", "--filter="+filter, "file://"+g.Dir, dir)
		s := openSource(t, dir)
		gittest.Must(t, os.Rename(g.Dir, g.Dir+"-gone"))
		var e *notebooks.Error
		err := s.Complete(context.Background(), head)
		if !errors.As(err, &e) || !strings.Contains(e.Hint, "--refetch") {
			t.Errorf("%s, without the remote: %v", filter, err)
		}
		gittest.Must(t, os.Rename(g.Dir+"-gone", g.Dir))
		gittest.Must(t, s.Complete(context.Background(), head))
		gittest.Must(t, os.Rename(g.Dir, g.Dir+"-gone"))
		tree := create(t, s, head)
		if data, err := os.ReadFile(filepath.Join(tree.Dir(), "deep", "er", "a")); string(data) != "two\n" {
			t.Errorf("%s: %q %v", filter, data, err)
		}
		gittest.Must(t, os.Rename(g.Dir+"-gone", g.Dir))
		if got := gittest.GitIn(t, tree.Dir(), nil, "show", "HEAD~1:deep/er/a"); got != "one" {
			t.Errorf("%s: in a step Git shows %q", filter, got)
		}
		before, err := s.Resolve(string(head) + "~1")
		gittest.Must(t, err)
		files, err := s.CommitFiles(before)
		gittest.Must(t, err)
		if data, err := files.Read("deep/er/a", 100); string(data) != "one\n" {
			t.Errorf("%s: an earlier commit has %q %v", filter, data, err)
		}
	}
}

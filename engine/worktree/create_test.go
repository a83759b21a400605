package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
)

// TestCreate looks at a new worktree with the Git program, for each kind of repository.
func TestCreate(t *testing.T) {
	cases := map[string]func(g *oracle){
		"loose":            func(g *oracle) {},
		"packed":           func(g *oracle) { g.git("gc", "-q"); g.git("pack-refs", "--all") },
		"sparse checkout":  func(g *oracle) { g.git("sparse-checkout", "set", "dir") },
		"worktree config":  func(g *oracle) { g.git("config", "extensions.worktreeConfig", "true") },
		"split index":      func(g *oracle) { g.git("update-index", "--split-index") },
		"index version 4":  func(g *oracle) { g.git("update-index", "--index-version", "4") },
		"signing required": func(g *oracle) { g.git("config", "commit.gpgSign", "true") },
		"detached":         func(g *oracle) { g.git("checkout", "-q", "--detach") },
		"hooks": func(g *oracle) {
			g.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$GIT_DIR/../hooked\"\n")
			must(g, os.Chmod(filepath.Join(g.dir, ".git/hooks/post-checkout"), 0o755))
		},
		"remote": func(g *oracle) { g.git("remote", "add", "origin", "../elsewhere") },
		"alternates": func(g *oracle) {
			other := filepath.Join(filepath.Dir(g.dir), "other")
			gitIn(g, filepath.Dir(g.dir), nil, "clone", "-q", "--shared", g.dir, other)
			g.dir = other
		},
		"shallow": func(g *oracle) {
			other := filepath.Join(filepath.Dir(g.dir), "shallow")
			gitIn(g, filepath.Dir(g.dir), nil, "clone", "-q", "--depth=1", "file://"+g.dir, other)
			g.dir = other
		},
		"linked worktree": func(g *oracle) {
			other := filepath.Join(filepath.Dir(g.dir), "linked")
			g.git("worktree", "add", "-q", other)
			g.dir = other
		},
		"dirty source":  func(g *oracle) { g.write("a", "dirty"); g.write("untracked", "x") },
		"spaced folder": func(g *oracle) { must(g, os.Rename(g.dir, g.dir+" \"x\"\n")); g.dir += " \"x\"\n" },
	}
	for name, change := range cases {
		for _, object := range []string{"sha1", "sha256"} {
			t.Run(name+" "+object, func(t *testing.T) {
				g := newOracle(t, "--object-format="+object)
				g.write("a", "one\n")
				g.commit("first")
				g.git("tag", "-a", "-m", "annotated", "v1")
				g.git("branch", "topic/one")
				g.write("dir/b", "b\n")
				must(t, os.Symlink("b", filepath.Join(g.dir, "dir/link")))
				g.write("run.sh", "x")
				must(t, os.Chmod(filepath.Join(g.dir, "run.sh"), 0o755))
				g.write("odd\nname\t\"q\"\xff", "odd")
				g.commit("second")
				change(g)
				before := snapshotAll(t, g.dir)
				tree := made(t, g)
				d := tree.Dir()
				if out := gitIn(t, d, nil, "status", "--porcelain", "--ignored"); out != "" {
					t.Errorf("status: %s", out)
				}
				if out := gitIn(t, d, nil, "fsck", "--full", "--strict"); out != "" {
					t.Errorf("fsck: %s", out)
				}
				if gitIn(t, d, nil, "rev-parse", "HEAD") != string(tree.Base()) || gitIn(t, d, nil, "log", "--format=%s", "-1") != "second" {
					t.Error("HEAD is not the base")
				}
				if gitIn(t, d, nil, "write-tree") != string(tree.BaseTree()) {
					t.Error("the index is not the base")
				}
				if index, err := os.ReadFile(filepath.Join(d, ".git/index")); err != nil || !strings.Contains(string(index), "TREE") {
					t.Error("the index has no cache of trees, which makes status quick")
				}
				if _, err := tryGit(d, nil, nil, "symbolic-ref", "-q", "HEAD"); err == nil {
					t.Error("HEAD is on a branch")
				}
				if name == "loose" || name == "packed" {
					if got, want := gitIn(t, d, nil, "for-each-ref"), g.git("for-each-ref"); got != want {
						t.Errorf("refs %s, want %s", got, want)
					}
				}
				if name == "remote" {
					if _, err := tryGit(d, nil, nil, "push", "origin", "HEAD:x"); err == nil || !strings.Contains(err.Error(), "no-push") {
						t.Errorf("push: %v", err)
					}
					if url := gitIn(t, d, nil, "remote", "get-url", "origin"); url != filepath.Join(filepath.Dir(g.dir), "elsewhere") {
						t.Errorf("url %s", url)
					}
				}
				write(t, d, "a", "changed\n")
				gitIn(t, d, nil, "commit", "-qam", "by the step")
				gitIn(t, d, nil, "checkout", "-q", "HEAD")
				c := capture(t, tree)
				if statuses(c) != "modified a" {
					t.Errorf("files %q", statuses(c))
				}
				if after := snapshotAll(t, g.dir); after != before {
					t.Error("the source was touched")
				}
			})
		}
	}
}

// TestCreateParallel: enough files that two goroutines make the worktree.
func TestCreateParallel(t *testing.T) {
	g := newOracle(t)
	for i := range parallelFrom + 200 {
		g.write(fmt.Sprintf("d%d/s%d/f%d", i%7, i%5, i), fmt.Sprintf("line\r\n%d\n", i))
	}
	g.write("d3/.gitattributes", "* text eol=crlf\n")
	g.write("d4/s1/.gitattributes", "f* -text\n")
	g.commit("base")
	g.git("gc", "-q")
	tree := made(t, g)
	if out := gitIn(t, tree.Dir(), nil, "status", "--porcelain"); out != "" {
		t.Errorf("status: %.300s", out)
	}
	if c := capture(t, tree); len(c.Files) != 0 || string(c.Tree) != wantTree(t, tree) {
		t.Errorf("%d files changed", len(c.Files))
	}
}

// TestCreateEmpty: without a repository, and in one without a commit.
func TestCreateEmpty(t *testing.T) {
	g := newOracle(t)
	for name, s := range map[string]*Source{"no repository": nil, "no commit": openSource(t, g.dir)} {
		t.Run(name, func(t *testing.T) {
			tree := create(t, s, "")
			if out := gitIn(t, tree.Dir(), nil, "status", "--porcelain"); out != "" {
				t.Error(out)
			}
			write(t, tree.Dir(), "a/b", "x\n")
			c := capture(t, tree)
			if c.Parent != "" || statuses(c) != "added a/b" || string(c.Tree) != wantTree(t, tree) {
				t.Errorf("%+v", c)
			}
			gitIn(t, tree.Dir(), nil, "fsck")
			if ref := fetched(t, tree); (ref == "") != (s == nil) {
				t.Errorf("bundle: %q", ref)
			}
		})
	}
	g.git("fsck", "--strict")
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
	for name, text := range attrs {
		for _, autocrlf := range []string{"false", "true", "input"} {
			t.Run(name+" "+autocrlf, func(t *testing.T) {
				g := newOracle(t)
				files := map[string]string{"lf.txt": "a\nb\n$Id$\n", "crlf.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\n", "cr.txt": "a\rb\n",
					"bin": "\x00\n\r\n", "s.sh": "a\n", "d/in.txt": "a\n", "a.raw": "x\n", "space.txt": "y\n", "empty.txt": ""}
				for p, c := range files {
					if name == "encoding" {
						c = strings.ReplaceAll(c, "\r", "")
					}
					g.write(p, c)
				}
				g.commit("raw")
				g.git("config", "filter.up.smudge", "tr a-z A-Z")
				g.git("config", "filter.up.clean", "tr A-Z a-z")
				g.git("config", "core.autocrlf", autocrlf)
				g.git("config", "core.safecrlf", "false")
				// The attributes come in a commit that normalizes nothing, so that the stored content stays raw.
				g.write(".gitattributes", text)
				g.git("add", ".gitattributes")
				g.git("commit", "-qm", "attributes")
				tree := made(t, g)
				other := filepath.Join(t.TempDir(), "other")
				gitIn(t, g.dir, nil, "worktree", "add", "-q", "--detach", other)
				for p := range files {
					got, err := os.ReadFile(filepath.Join(tree.Dir(), p))
					must(t, err)
					want, err := os.ReadFile(filepath.Join(other, p))
					must(t, err)
					if string(got) != string(want) {
						t.Errorf("%s: checked out %q, Git %q", p, got, want)
					}
				}
				if name != "encoding" {
					for p := range files {
						write(t, tree.Dir(), p, files[p]+"more\r\nand\r\n")
						write(t, tree.Dir(), "new-"+filepath.Base(p), "fresh\r\nlines\r\n")
					}
				} else {
					write(t, tree.Dir(), "lf.txt", "n\x00e\x00w\x00\n\x00")
				}
				c, err := tree.Capture(t.Context(), "s", "m")
				must(t, err)
				if want := wantTree(t, tree); string(c.Tree) != want {
					t.Errorf("stored %s, Git %s: %s", c.Tree, want, statuses(c))
				}
			})
		}
	}
}

// TestBring takes uncommitted changes and ignored files along.
func TestBring(t *testing.T) {
	g := newOracle(t)
	g.write(".gitignore", "*.env\nsecret/\nnode/\n")
	g.write("a", "a\n")
	g.write("gone", "gone\n")
	g.write("d/file", "x\n")
	head := g.commit("base")
	g.write("a", "edited\n")
	g.git("add", "a")
	g.write("a", "edited twice\n")
	g.write("new/file", "new\n")
	must(t, os.Remove(filepath.Join(g.dir, "gone")))
	must(t, os.RemoveAll(filepath.Join(g.dir, "d")))
	must(t, os.Symlink("/etc", filepath.Join(g.dir, "d")))
	for _, p := range []string{".env", "sub/x.env", "secret/key", "node/m/x"} {
		g.write(p, p)
	}
	before := snapshotAll(t, g.dir)
	s := openSource(t, g.dir)
	dirty, err := s.Dirty(t.Context())
	must(t, err)
	own, err := s.dirtyWalk(t.Context(), s.common)
	must(t, err)
	if want := "a d d/file gone new/file"; strings.Join(dirty, " ") != want || strings.Join(own, " ") != want {
		t.Errorf("dirty %q, own walk %q, want %q", dirty, own, want)
	}
	tree := made(t, g, func(o *Options) { o.IncludeDirty, o.Copy = true, []string{".env", "/secret/"} })
	d := tree.Dir()
	if out := gitIn(t, d, nil, "status", "--porcelain"); out != "" {
		t.Errorf("status %s", out)
	}
	if gitIn(t, d, nil, "rev-parse", "HEAD^") != string(head) || gitIn(t, d, nil, "rev-parse", "HEAD") != string(tree.Base()) {
		t.Error("the base is no child of HEAD")
	}
	for p, want := range map[string]bool{".env": true, "secret/key": true, "sub/x.env": false, "node/m/x": false, "new/file": true, "gone": false} {
		if _, err := os.Lstat(filepath.Join(d, p)); (err == nil) != want {
			t.Errorf("%s: %v", p, err)
		}
	}
	if c := capture(t, tree); len(c.Files) != 0 || c.IgnoredWritten != 0 {
		t.Errorf("%+v", c)
	}
	write(t, d, "secret/more", "x")
	if c := capture(t, tree); len(c.Files) != 0 || c.IgnoredWritten != 1 {
		t.Errorf("ignored written: %d", c.IgnoredWritten)
	}
	if snapshotAll(t, g.dir) != before {
		t.Error("the source was touched")
	}
}

// TestInPlace: the user's checkout as it is, its index and .git untouched.
func TestInPlace(t *testing.T) {
	g := newOracle(t)
	g.write("a", "a\n")
	g.write("b", "b\n")
	g.write(".gitignore", "*.log\n")
	g.write("forced.log", "x\n")
	g.git("add", "-f", "forced.log")
	head := g.commit("base")
	g.write("b", "uncommitted\n")
	g.write("mine", "untracked\n")
	dot := snapshotAll(t, filepath.Join(g.dir, ".git"))
	tree, err := InPlace(t.Context(), openSource(t, g.dir), options(t, head))
	must(t, err)
	g.write("a", "step\n")
	g.write("forced.log", "step\n")
	g.write("other.log", "ignored\n")
	g.write(".markmill/runs/x", "the record")
	c := capture(t, tree)
	if statuses(c) != "modified a, modified forced.log" || c.IgnoredWritten != 1 {
		t.Errorf("files %q, ignored %d", statuses(c), c.IgnoredWritten)
	}
	if snapshotAll(t, filepath.Join(g.dir, ".git")) != dot {
		t.Error("the user's .git was written")
	}
	ref := fetched(t, tree)
	if got := g.git("diff", "--name-only", string(tree.Base()), ref); got != "a\nforced.log" {
		t.Errorf("published %q", got)
	}
	must(t, tree.Close(false))
	if _, err := os.Stat(filepath.Join(g.dir, "a")); err != nil {
		t.Error("Close removed the user's checkout")
	}
}

// TestOpen: where a repository is, and what is refused.
func TestOpen(t *testing.T) {
	g := newOracle(t)
	s := openSource(t, g.dir)
	if h, err := s.Head(); h != "" || err != nil {
		t.Errorf("unborn HEAD: %q %v", h, err)
	}
	g.write("deep/er/f", "x")
	head := g.commit("base")
	g.git("tag", "-a", "-m", "t", "v1.0")
	g.git("branch", "feature")
	t.Setenv("GIT_DIR", "/nowhere")
	s = openSource(t, filepath.Join(g.dir, "deep/er"))
	must(t, os.Unsetenv("GIT_DIR"))
	if s.Root() != realPath(g.dir) || s.GitDir() != filepath.Join(realPath(g.dir), ".git") {
		t.Errorf("root %s, git %s", s.Root(), s.GitDir())
	}
	for _, rev := range []string{"HEAD", "main", "v1.0", string(head), string(head[:9]), "refs/heads/feature", "HEAD~0", "HEAD^{commit}", "@"} {
		if got, err := s.Resolve(rev); got != head || err != nil {
			t.Errorf("%s is %q %v", rev, got, err)
		}
	}
	var e *notebooks.Error
	if _, err := s.Resolve("featrue"); !errors.As(err, &e) || !strings.Contains(e.Hint, `feature`) {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("%v", err)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	g.git("clone", "-q", "--bare", g.dir, bare)
	if _, err := Open(bare); !errors.As(err, &e) || !strings.Contains(e.Msg, "bare") {
		t.Errorf("%v", err)
	}
	o := options(t, head)
	must(t, os.MkdirAll(o.Dir, 0o777))
	if _, err := Create(t.Context(), s, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that exists: %v", err)
	}
	o = options(t, OID(strings.Repeat("1", 40)))
	if _, err := Create(t.Context(), s, o); err == nil {
		t.Error("a base that does not exist")
	} else if _, err := os.Lstat(o.Dir); err == nil {
		t.Error("what could not be made is left behind")
	}
}

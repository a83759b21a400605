package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
)

// TestPublish carries a run of two steps into the source: one pack, one ref, and nothing else.
func TestPublish(t *testing.T) {
	for _, object := range []string{"sha1", "sha256"} {
		t.Run(object, func(t *testing.T) {
			g := newOracle(t, "--object-format="+object)
			g.write("a", "one\n")
			g.write("dir/b", "b\n")
			base := g.commit("base")
			s := openSource(t, g.dir)
			before, err := s.Fingerprint(t.Context(), nil)
			must(t, err)
			tree := made(t, g)
			if ref, err := tree.Publish(t.Context()); ref != "" || err != nil {
				t.Fatalf("nothing changed, and yet %q %v", ref, err)
			}
			write(t, tree.Dir(), "a", "two\n")
			write(t, tree.Dir(), "big", strings.Repeat("0123456789", streamFrom/10+1))
			first := capture(t, tree)
			second := capture(t, tree)
			if second.Parent != first.Commit || second.Tree != first.Tree || first.Parent != base {
				t.Error("a step without a change is a commit too, in one chain")
			}
			ref, err := tree.Publish(t.Context())
			must(t, err)
			if got := g.git("rev-parse", ref); got != string(second.Commit) {
				t.Errorf("%s is %s, want %s", ref, got, second.Commit)
			}
			if ref, err = tree.Publish(t.Context()); err != nil {
				t.Errorf("a second time: %v", err)
			}
			if out := g.git("fsck", "--full", "--strict"); out != "" {
				t.Error(out)
			}
			if out := g.git("status", "--porcelain"); out != "" {
				t.Error(out)
			}
			if log := g.git("log", "--format=%s", ref); log != "step\nstep\nbase" {
				t.Errorf("log %q", log)
			}
			after, err := s.Fingerprint(t.Context(), nil)
			must(t, err)
			if d := before.Diff(after); len(d) != 0 {
				t.Errorf("the source differs in %q", d)
			}

			now := time.Unix(1800000000, 0)
			made, err := Branch(t.Context(), s, "id", "result", base, second.Commit, "the run", Identity{"M", "m@x"}, now)
			must(t, err)
			if got := g.git("log", "--format=%H %P %T", "-1", "result"); got != string(made+" "+base+" "+second.Tree) {
				t.Errorf("branch: %s", got)
			}
			if again, err := Branch(t.Context(), s, "id", "result", base, second.Commit, "the run", Identity{"M", "m@x"}, now.Add(time.Hour)); again != made || err != nil {
				t.Errorf("the same branch again: %s %v", again, err)
			}
			if _, err := Branch(t.Context(), s, "id", "main", base, second.Commit, "m", Identity{"M", "m@x"}, now); err == nil {
				t.Error("an existing branch was moved")
			}
			g.git("pack-refs", "--all")
			must(t, DeleteRef(s, "20261121T100000Z-test-abc"))
			if _, err := tryGit(g.dir, nil, nil, "rev-parse", "--verify", ref); err == nil {
				t.Error("the ref is still there")
			}
			must(t, DeleteRef(s, "20261121T100000Z-test-abc"))
		})
	}
}

// TestPublishWhole: when the ref cannot be written, no objects stay behind either.
func TestPublishWhole(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	base := g.commit("base")
	tree := made(t, g)
	write(t, tree.Dir(), "a", "two\n")
	capture(t, tree)
	g.git("update-ref", runRefs+"20261121T100000Z-test-abc", string(base))
	before := snapshotAll(t, filepath.Join(g.dir, ".git", "objects"))
	var e *notebooks.Error
	if _, err := tree.Publish(t.Context()); !errors.As(err, &e) || !strings.Contains(e.Msg, "was expected") {
		t.Fatalf("a ref that is taken: %v", err)
	}
	if after := snapshotAll(t, filepath.Join(g.dir, ".git", "objects")); after != before {
		t.Errorf("objects stay behind\n%s\n%s", before, after)
	}
}

// TestApply puts a run's patch on the checkout, with the Git program and without.
func TestApply(t *testing.T) {
	apply := map[string]func(s *Source, patch []byte) error{
		"git": func(s *Source, patch []byte) error { return Apply(context.Background(), s, patch) },
		"own": func(s *Source, patch []byte) error { return applyOwn(s.root, patch) },
	}
	for name, do := range apply {
		t.Run(name, func(t *testing.T) {
			g := newOracle(t)
			g.write("a", "1\n2\n3\n")
			g.write("dir/b", "b\n")
			g.write("moved", "moved\ncontent\n")
			g.write("bin", "\x00old")
			g.write("typed", "file\n")
			g.write("keep", "keep\n")
			g.commit("base")
			tree := made(t, g)
			d := tree.Dir()
			write(t, d, "a", "1\ntwo\n3")
			must(t, os.Remove(filepath.Join(d, "dir/b")))
			must(t, os.Remove(filepath.Join(d, "dir")))
			write(t, d, "dir", "a file now\n")
			must(t, os.Rename(filepath.Join(d, "moved"), filepath.Join(d, "sp ace\t")))
			write(t, d, "bin", "\x00new")
			must(t, os.Remove(filepath.Join(d, "typed")))
			must(t, os.Symlink("a", filepath.Join(d, "typed")))
			write(t, d, "x/y/z", "z\n")
			must(t, os.Chmod(filepath.Join(d, "x/y/z"), 0o755))
			c := capture(t, tree)
			s := openSource(t, g.dir)

			g.write("bin", "\x00mine")
			mine := snapshotAll(t, g.dir)
			var e *notebooks.Error
			if err := do(s, c.Patch); !errors.As(err, &e) || !strings.Contains(e.Msg, "bin") {
				t.Fatalf("a conflict: %v", err)
			}
			if snapshotAll(t, g.dir) != mine {
				t.Fatal("half done")
			}
			g.write("bin", "\x00old")
			must(t, do(s, c.Patch))
			g.git("add", "-A")
			if got := g.git("write-tree"); got != string(c.Tree) {
				t.Errorf("tree %s, want %s\n%s\n%s", got, c.Tree, g.git("status", "--short"), c.Patch)
			}
		})
	}
}

// TestRefsComeAndGo: the last ref goes while another comes. Git removes the folders that this leaves empty, under the feet of who
// makes a ref in them.
func TestRefsComeAndGo(t *testing.T) {
	g := newOracle(t)
	g.write("a", "a\n")
	g.commit("base")
	head := OID(g.git("rev-parse", "HEAD"))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { // as `git update-ref -d` does after it has removed a ref
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				os.Remove(filepath.Join(g.dir, ".git", "refs", "markmill", "runs"))
				os.Remove(filepath.Join(g.dir, ".git", "refs", "markmill"))
			}
		}
	}()
	s := openSource(t, g.dir)
	for i := range 500 {
		name := fmt.Sprintf("%sr%d", runRefs, i)
		if err := s.setRef(fmt.Sprint("r", i), name, "", head); err != nil {
			t.Fatal(i, err)
		}
		must(t, os.Remove(filepath.Join(g.dir, ".git", filepath.FromSlash(name))))
	}
	close(stop)
	must(t, <-done)
}

// TestSameObjects: of two runs that wrote the very same content, the one that fails to publish takes nothing of the other's away.
func TestSameObjects(t *testing.T) {
	g := newOracle(t)
	g.write("a", "a\n")
	g.commit("base")
	s := openSource(t, g.dir)
	at := time.Unix(1e9, 0)
	make := func(id string) *Tree {
		tree, err := Create(t.Context(), s, Options{RunID: id, Dir: filepath.Join(t.TempDir(), "w"), Base: OID(g.git("rev-parse", "HEAD")), Now: func() time.Time { return at }})
		must(t, err)
		write(t, tree.Dir(), "a", "b\n")
		capture(t, tree)
		return tree
	}
	one, two := make("one"), make("two")
	ref, err := one.Publish(t.Context())
	must(t, err)
	g.write(".git/refs/markmill/runs/two", string(one.Base())+"\n") // taken: two cannot publish
	if _, err := two.Publish(t.Context()); err == nil {
		t.Fatal("it was published over another's ref")
	}
	if got := g.git("show", ref+":a"); got != "b" {
		t.Errorf("the first holds %q", got)
	}
	if out := g.git("fsck", "--strict"); strings.Contains(out, "missing") {
		t.Error(out)
	}
}

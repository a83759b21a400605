package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/runs"
)

// TestBundle writes a run of two steps into a bundle, which the Git program verifies and fetches; the source's .git is
// left as it is until it is fetched there.
func TestBundle(t *testing.T) {
	for _, object := range []string{"sha1", "sha256"} {
		t.Run(object, func(t *testing.T) {
			g := newOracle(t, "--object-format="+object)
			g.write("a", "one\n")
			g.write("dir/b", "b\n")
			g.write("dir/c", strings.Repeat("the content of a file that is moved\n", 1000))
			g.write("touched", strings.Repeat("the content of a file that is touched\n", 1000))
			base := g.commit("base")
			s := openSource(t, g.dir)
			tree := made(t, g)
			if data, err := tree.Bundle(t.TempDir()); data != nil || err != nil {
				t.Fatalf("nothing changed, and yet %v %v", data, err)
			}
			before := snapshotAll(t, filepath.Join(g.dir, ".git"))
			write(t, tree.Dir(), "a", "two\n")
			write(t, tree.Dir(), "big", strings.Repeat("0123456789", streamFrom/10+1))
			must(t, os.Rename(filepath.Join(tree.Dir(), "dir/c"), filepath.Join(tree.Dir(), "c")))
			write(t, tree.Dir(), "touched", strings.Repeat("the content of a file that is touched\n", 1000))
			first := capture(t, tree)
			second := capture(t, tree)
			if second.Parent != first.Commit || second.Tree != first.Tree || first.Parent != base {
				t.Error("a step without a change is a commit too, in one chain")
			}
			b, data := bundledRun(t, tree)
			if snapshotAll(t, filepath.Join(g.dir, ".git")) != before {
				t.Error("the source's .git was written")
			}
			text, err := os.ReadFile(b.path)
			must(t, err)
			if runs.DigestOf(text) != data.Digest || data.Bytes != int64(len(text)) {
				t.Errorf("it is recorded as %+v", data)
			}
			if len(b.order) != 6 { // two commits, the top and dir without c, a, big
				t.Errorf("%d objects, of which the base has some", len(b.order))
			}
			if out := g.git("bundle", "verify", "-q", b.path); out != "" {
				t.Error(out)
			}
			clone := filepath.Join(t.TempDir(), "clone")
			gitIn(t, t.TempDir(), nil, "clone", "-q", g.dir, clone)
			gitIn(t, clone, nil, "fetch", "-q", b.path)
			if got := gitIn(t, clone, nil, "log", "--format=%H %T %s", "FETCH_HEAD"); !strings.HasPrefix(got, string(second.Commit+" "+second.Tree+" step")) {
				t.Error(got)
			}
			gitIn(t, clone, nil, "fetch", "-q", b.path, "refs/markmill/*:refs/markmill/*")
			if out := gitIn(t, clone, nil, "fsck", "--full", "--strict", "--no-progress"); out != "" {
				t.Error(out)
			}

			ref := fetched(t, tree)
			if got := g.git("rev-parse", ref); got != string(second.Commit) {
				t.Errorf("%s is %s, want %s", ref, got, second.Commit)
			}
			if again := fetched(t, tree); again != ref {
				t.Errorf("a second time: %q", again)
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
			g.git("pack-refs", "--all")
			if ids, err := RunRefs(s); err != nil || len(ids) != 1 || runRefs+ids[0] != ref {
				t.Errorf("refs of runs: %q %v", ids, err)
			}
			must(t, DeleteRefs(t.Context(), s, []string{tree.opt.RunID}))
			if _, err := tryGit(g.dir, nil, nil, "rev-parse", "--verify", ref); err == nil {
				t.Error("the ref is still there")
			}
			must(t, DeleteRefs(t.Context(), s, []string{tree.opt.RunID}))
		})
	}
}

// TestBranch makes a branch of a run: its commit and what that needs, and nothing of the run's own commits.
func TestBranch(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	base := g.commit("base")
	g.write("a", "uncommitted\n")
	s := openSource(t, g.dir)
	for name, dirty := range map[string]bool{"clean": false, "dirty": true} {
		tree := made(t, g, func(o *Options) { o.IncludeDirty = dirty })
		write(t, tree.Dir(), "b", "between\n")
		between := capture(t, tree)
		write(t, tree.Dir(), "b", "two\n")
		last := capture(t, tree)
		b, _ := bundledRun(t, tree)
		now := time.Unix(1800000000, 0)
		branch := func(name string, at time.Time) (OID, error) {
			return Branch(s, b, NewBranch{Name: name, RunID: "id", Base: tree.Base(), Tree: last.Tree,
				Message: "the run", Program: Identity{"M", "m@x"}, Now: at})
		}
		made, err := branch(name, now)
		must(t, err)
		if got := g.git("log", "--format=%H %P %T", "-1", name); got != string(made+" "+tree.Base()+" "+last.Tree) {
			t.Errorf("branch: %s", got)
		}
		if want := map[bool]string{false: "1", true: "2"}[dirty]; g.git("rev-list", "--count", string(base)+".."+name) != want {
			t.Errorf("%s: not %s commits on the base", name, want)
		}
		if _, err := tryGit(g.dir, nil, nil, "cat-file", "-e", string(between.Commit)); err == nil {
			t.Error("a commit of a step is in the repository")
		}
		if out := g.git("fsck", "--full", "--strict"); out != "" {
			t.Error(out)
		}
		if again, err := branch(name, now.Add(time.Hour)); again != made || err != nil {
			t.Errorf("the same branch again: %s %v", again, err)
		}
		if _, err := branch("main", now); err == nil {
			t.Error("an existing branch was moved")
		}
		if run, of := RunOfBranch(s, name); run != "" || of != last.Tree {
			t.Errorf("%q %q", run, of)
		}
	}
}

// TestBundleOfDirty: the uncommitted changes that a run begins with are in its bundle, also those that only the index
// has; what the commit has is not.
func TestBundleOfDirty(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	g.write("same", "same\n")
	base := g.commit("base")
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, t.TempDir(), nil, "clone", "-q", g.dir, clone)
	g.write("staged", "staged\n")
	g.write("a", "staged too\n")
	g.git("add", ".")
	g.write("same", "same\n")
	make := map[string]func() *Tree{
		"copied": func() *Tree { return made(t, g, func(o *Options) { o.IncludeDirty = true }) },
		"in place": func() *Tree {
			tree, err := InPlace(t.Context(), openSource(t, g.dir), options(t, base))
			must(t, err)
			return tree
		},
	}
	for _, name := range []string{"copied", "in place"} { // which writes the checkout
		t.Run(name, func(t *testing.T) {
			tree := make[name]()
			write(t, tree.Dir(), "b", name)
			last := capture(t, tree)
			b, _ := bundledRun(t, tree)
			if b.base != base {
				t.Errorf("it stands on %s", b.base)
			}
			gitIn(t, clone, nil, "fetch", "-q", b.path)
			if got := gitIn(t, clone, nil, "rev-parse", "FETCH_HEAD^^", "FETCH_HEAD^{tree}"); got != string(base+"\n"+last.Tree) {
				t.Error(got)
			}
			if out := gitIn(t, clone, nil, "fsck", "--connectivity-only", "--no-dangling"); out != "" {
				t.Error(out)
			}
			if len(b.order) != 7 { // two commits, two trees, a, staged, b
				t.Errorf("%d objects", len(b.order))
			}
		})
	}
}

// TestBundleDamaged: every byte that is changed or cut is found.
func TestBundleDamaged(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	g.commit("base")
	tree := made(t, g)
	write(t, tree.Dir(), "a", "two\n")
	capture(t, tree)
	b, _ := bundledRun(t, tree)
	text, err := os.ReadFile(b.path)
	must(t, err)
	path := filepath.Join(t.TempDir(), "damaged")
	try := func(what string, data []byte) {
		must(t, os.WriteFile(path, data, 0o600))
		got, err := OpenBundle(path)
		if err != nil {
			return
		}
		defer got.Close()
		if got.tip == b.tip && got.base == b.base && got.ref == b.ref {
			t.Errorf("%s: nothing is found", what)
		}
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if at := bytes.Index(text, []byte(" base\n")); i > at && i < at+5 || i == 3 {
			continue // the comment; and the version, 3 of which reads this as well
		}
		try(fmt.Sprintf("byte %d", i), changed)
		try(fmt.Sprintf("cut at %d", i), text[:i])
	}
	try("longer", append(bytes.Clone(text), 0))
}

// TestFetchWhole: when the ref cannot be written, no objects stay behind either.
func TestFetchWhole(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	base := g.commit("base")
	tree := made(t, g)
	write(t, tree.Dir(), "a", "two\n")
	capture(t, tree)
	b, _ := bundledRun(t, tree)
	g.git("update-ref", runRefs+"20261121T100000Z-test-abc", string(base))
	before := snapshotAll(t, filepath.Join(g.dir, ".git", "objects"))
	var e *notebooks.Error
	if _, err := tree.src.Fetch(t.Context(), b, tree.opt.RunID); !errors.As(err, &e) || !strings.Contains(e.Msg, "was expected") {
		t.Fatalf("a ref that is taken: %v", err)
	}
	if after := snapshotAll(t, filepath.Join(g.dir, ".git", "objects")); after != before {
		t.Errorf("objects stay behind\n%s\n%s", before, after)
	}
	other := newOracle(t)
	other.commit("another repository")
	if _, err := openSource(t, other.dir).Fetch(t.Context(), b, tree.opt.RunID); !errors.As(err, &e) || !strings.Contains(e.Msg, "base commit") {
		t.Errorf("a repository without the base: %v", err)
	}
}

// TestApply puts a run's patch on the checkout, with the Git program and without.
func TestApply(t *testing.T) {
	apply := map[string]func(s *Source, patch []byte) error{
		"git": func(s *Source, patch []byte) error { return applied(t, s, nil, patch) },
		"own": func(s *Source, patch []byte) error {
			t.Setenv("PATH", t.TempDir())
			return applied(t, s, nil, patch)
		},
	}
	path := os.Getenv("PATH")
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
			mine := content(t, g.dir)
			var e *notebooks.Error
			if err := do(s, c.Patch); !errors.As(err, &e) || !strings.Contains(e.Msg, "bin") {
				t.Fatalf("a conflict: %v", err)
			}
			same(t, "after a conflict", content(t, g.dir), mine)
			g.write("bin", "\x00old")
			must(t, do(s, c.Patch))
			t.Setenv("PATH", path)
			g.git("add", "-A")
			if got := g.git("write-tree"); got != string(c.Tree) {
				t.Errorf("tree %s, want %s\n%s\n%s", got, c.Tree, g.git("status", "--short"), c.Patch)
			}
		})
	}
}

// TestRefsComeAndGo: the last ref goes while another comes. Git removes the folders that this leaves empty, under the
// feet of who makes a ref in them.
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

// TestSameObjects: of two runs that wrote the very same content, the one that fails to be fetched takes nothing of the
// other's away.
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
	ref := fetched(t, one)
	g.write(".git/refs/markmill/runs/two", string(one.Base())+"\n") // taken
	b, _ := bundledRun(t, two)
	if _, err := s.Fetch(t.Context(), b, "two"); err == nil {
		t.Fatal("it was fetched over another's ref")
	}
	if got := g.git("show", ref+":a"); got != "b" {
		t.Errorf("the first holds %q", got)
	}
	if out := g.git("fsck", "--strict"); strings.Contains(out, "missing") {
		t.Error(out)
	}
}

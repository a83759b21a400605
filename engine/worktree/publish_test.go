package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
	"markmill/notebooks"
	"markmill/runs"
)

// TestBundle writes a run of two steps into a bundle, which the Git program verifies and fetches; the source's .git is
// left as it is until it is fetched there.
func TestBundle(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			g := gittest.New(t, "--object-format="+format)
			g.Write("a", "one\n")
			g.Write("dir/b", "b\n")
			g.Write("dir/c", strings.Repeat("the content of a file that is moved\n", 1000))
			g.Write("touched", strings.Repeat("the content of a file that is touched\n", 1000))
			base := g.Commit("base")
			s := openSource(t, g.Dir)
			tree := made(t, g)
			if data, err := tree.Bundle(context.Background(), t.TempDir()); data != nil || err != nil {
				t.Fatalf("nothing changed, and yet %v %v", data, err)
			}
			before := snapshotAll(t, filepath.Join(g.Dir, ".git"))
			gittest.Write(t, tree.Dir(), "a", "two\n")
			gittest.Write(t, tree.Dir(), "big", strings.Repeat("0123456789", object.StreamFrom/10+1))
			gittest.Must(t, os.Rename(filepath.Join(tree.Dir(), "dir/c"), filepath.Join(tree.Dir(), "c")))
			gittest.Write(t, tree.Dir(), "touched", strings.Repeat("the content of a file that is touched\n", 1000))
			first := capture(t, tree)
			second := capture(t, tree)
			if second.Parent != first.Commit || second.Tree != first.Tree || first.Parent != base {
				t.Error("a step without a change is a commit too, in one chain")
			}
			b, data := bundledRun(t, tree)
			if snapshotAll(t, filepath.Join(g.Dir, ".git")) != before {
				t.Error("the source's .git was written")
			}
			text, err := os.ReadFile(b.Path)
			gittest.Must(t, err)
			if runs.DigestOf(text) != data.Digest || data.Bytes != int64(len(text)) {
				t.Errorf("it is recorded as %+v", data)
			}
			if len(b.Order) != 6 { // two commits, the top and dir without c, a, big
				t.Errorf("%d objects, of which the base has some", len(b.Order))
			}
			if out := g.Git("bundle", "verify", "-q", b.Path); out != "" {
				t.Error(out)
			}
			clone := filepath.Join(t.TempDir(), "clone")
			gittest.GitIn(t, t.TempDir(), nil, "clone", "-q", g.Dir, clone)
			gittest.GitIn(t, clone, nil, "fetch", "-q", b.Path)
			if got := gittest.GitIn(t, clone, nil, "log", "--format=%H %T %s", "FETCH_HEAD"); !strings.HasPrefix(got,
				string(second.Commit+" "+second.Tree+" step")) {
				t.Error(got)
			}
			gittest.GitIn(t, clone, nil, "fetch", "-q", b.Path, "refs/markmill/*:refs/markmill/*")
			if out := gittest.GitIn(t, clone, nil, "fsck", "--full", "--strict", "--no-progress"); out != "" {
				t.Error(out)
			}

			ref := fetched(t, tree)
			if got := g.Git("rev-parse", ref); got != string(second.Commit) {
				t.Errorf("%s is %s, want %s", ref, got, second.Commit)
			}
			if again := fetched(t, tree); again != ref {
				t.Errorf("a second time: %q", again)
			}
			if out := g.Git("fsck", "--full", "--strict"); out != "" {
				t.Error(out)
			}
			if out := g.Git("status", "--porcelain"); out != "" {
				t.Error(out)
			}
			if log := g.Git("log", "--format=%s", ref); log != "step\nstep\nbase" {
				t.Errorf("log %q", log)
			}
			g.Git("pack-refs", "--all")
			if ids, err := s.RunRefs(); err != nil || len(ids) != 1 || repo.RunRefPrefix+ids[0] != ref {
				t.Errorf("refs of runs: %q %v", ids, err)
			}
			gittest.Must(t, s.DeleteRefs(t.Context(), []string{tree.opt.RunID}))
			if _, err := gittest.TryGit(g.Dir, nil, nil, "rev-parse", "--verify", ref); err == nil {
				t.Error("the ref is still there")
			}
			gittest.Must(t, s.DeleteRefs(t.Context(), []string{tree.opt.RunID}))
		})
	}
}

// TestBranch makes a branch of a run: its commit and what that needs, and nothing of the run's own commits.
func TestBranch(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	base := g.Commit("base")
	g.Write("a", "uncommitted\n")
	s := openSource(t, g.Dir)
	for name, dirty := range map[string]bool{"clean": false, "dirty": true} {
		tree := made(t, g, func(o *Options) { o.IncludeDirty = dirty })
		gittest.Write(t, tree.Dir(), "b", "between\n")
		between := capture(t, tree)
		gittest.Write(t, tree.Dir(), "b", "two\n")
		last := capture(t, tree)
		b, _ := bundledRun(t, tree)
		now := time.Unix(1800000000, 0)
		branch := func(name string, at time.Time) (object.OID, error) {
			return s.Branch(b, repo.NewBranch{Name: name, RunID: "id", Base: tree.Base(), Tree: last.Tree,
				Message: "the run", Program: object.Identity{Name: "M", Email: "m@x"}, Now: at})
		}
		made, err := branch(name, now)
		gittest.Must(t, err)
		if got := g.Git("log", "--format=%H %P %T", "-1", name); got != string(made+" "+tree.Base()+" "+last.Tree) {
			t.Errorf("branch: %s", got)
		}
		if want := map[bool]string{false: "1", true: "2"}[dirty]; g.Git("rev-list", "--count",
			string(base)+".."+name) != want {
			t.Errorf("%s: not %s commits on the base", name, want)
		}
		if _, err := gittest.TryGit(g.Dir, nil, nil, "cat-file", "-e", string(between.Commit)); err == nil {
			t.Error("a commit of a step is in the repository")
		}
		if out := g.Git("fsck", "--full", "--strict"); out != "" {
			t.Error(out)
		}
		if again, err := branch(name, now.Add(time.Hour)); again != made || err != nil {
			t.Errorf("the same branch again: %s %v", again, err)
		}
		if _, err := branch("main", now); err == nil {
			t.Error("an existing branch was moved")
		}
		if run, of := s.RunOfBranch(name); run != "" || of != last.Tree {
			t.Errorf("%q %q", run, of)
		}
	}
}

// TestBundleOfDirty: the uncommitted changes that a run begins with are in its bundle, also those that only the index
// has; what the commit has is not.
func TestBundleOfDirty(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	g.Write("same", "same\n")
	base := g.Commit("base")
	clone := filepath.Join(t.TempDir(), "clone")
	gittest.GitIn(t, t.TempDir(), nil, "clone", "-q", g.Dir, clone)
	g.Write("staged", "staged\n")
	g.Write("a", "staged too\n")
	g.Git("add", ".")
	g.Write("same", "same\n")
	make := map[string]func() *Tree{
		"copied": func() *Tree { return made(t, g, func(o *Options) { o.IncludeDirty = true }) },
		"in place": func() *Tree {
			tree, err := InPlace(t.Context(), openSource(t, g.Dir), options(t, base))
			gittest.Must(t, err)
			return tree
		},
	}
	for _, name := range []string{"copied", "in place"} { // which writes the checkout
		t.Run(name, func(t *testing.T) {
			tree := make[name]()
			gittest.Write(t, tree.Dir(), "b", name)
			last := capture(t, tree)
			b, _ := bundledRun(t, tree)
			if b.Base != base {
				t.Errorf("it stands on %s", b.Base)
			}
			gittest.GitIn(t, clone, nil, "fetch", "-q", b.Path)
			if got := gittest.GitIn(t, clone, nil, "rev-parse", "FETCH_HEAD^^",
				"FETCH_HEAD^{tree}"); got != string(base+"\n"+last.Tree) {
				t.Error(got)
			}
			if out := gittest.GitIn(t, clone, nil, "fsck", "--connectivity-only", "--no-dangling"); out != "" {
				t.Error(out)
			}
			if len(b.Order) != 7 { // two commits, two trees, a, staged, b
				t.Errorf("%d objects", len(b.Order))
			}
		})
	}
}

// TestBundleDamaged: every byte that is changed or cut is found.
func TestBundleDamaged(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	g.Commit("base")
	tree := made(t, g)
	gittest.Write(t, tree.Dir(), "a", "two\n")
	capture(t, tree)
	b, _ := bundledRun(t, tree)
	text, err := os.ReadFile(b.Path)
	gittest.Must(t, err)
	path := filepath.Join(t.TempDir(), "damaged")
	try := func(what string, data []byte) {
		gittest.Must(t, os.WriteFile(path, data, 0o600))
		got, err := object.OpenBundle(path)
		if err != nil {
			return
		}
		defer got.Close()
		if got.Tip == b.Tip && got.Base == b.Base && got.Ref == b.Ref {
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
		if thorough || i%5 == 0 {
			try(fmt.Sprintf("cut at %d", i), text[:i])
		}
	}
	try("longer", append(bytes.Clone(text), 0))
}

// TestFetchWhole: when the ref cannot be written, no objects stay behind either.
func TestFetchWhole(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	base := g.Commit("base")
	tree := made(t, g)
	gittest.Write(t, tree.Dir(), "a", "two\n")
	capture(t, tree)
	b, _ := bundledRun(t, tree)
	g.Git("update-ref", repo.RunRefPrefix+"20261121T100000Z-test-abc", string(base))
	before := snapshotAll(t, filepath.Join(g.Dir, ".git", "objects"))
	var e *notebooks.Error
	if _, err := tree.src.Fetch(t.Context(), b, tree.opt.RunID); !errors.As(err, &e) ||
		!strings.Contains(e.Msg, "was expected") {
		t.Fatalf("a ref that is taken: %v", err)
	}
	if after := snapshotAll(t, filepath.Join(g.Dir, ".git", "objects")); after != before {
		t.Errorf("objects stay behind\n%s\n%s", before, after)
	}
	other := gittest.New(t)
	other.Commit("another repository")
	if _, err := openSource(t, other.Dir).Fetch(t.Context(), b, tree.opt.RunID); !errors.As(err, &e) ||
		!strings.Contains(e.Msg, "base commit") {
		t.Errorf("a repository without the base: %v", err)
	}
}

// TestSameObjects: of two runs that wrote the very same content, the one that fails to be fetched takes nothing of the
// other's away.
func TestSameObjects(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Commit("base")
	s := openSource(t, g.Dir)
	at := time.Unix(1e9, 0)
	make := func(id string) *Tree {
		tree, err := Create(t.Context(), s, Options{RunID: id, Dir: filepath.Join(t.TempDir(), "w"),
			Base: object.OID(g.Git("rev-parse", "HEAD")), Now: func() time.Time { return at }})
		gittest.Must(t, err)
		t.Cleanup(tree.closeReads)
		gittest.Write(t, tree.Dir(), "a", "b\n")
		capture(t, tree)
		return tree
	}
	one, two := make("one"), make("two")
	ref := fetched(t, one)
	g.Write(".git/refs/markmill/runs/two", string(one.Base())+"\n") // taken
	b, _ := bundledRun(t, two)
	if _, err := s.Fetch(t.Context(), b, "two"); err == nil {
		t.Fatal("it was fetched over another's ref")
	}
	if got := g.Git("show", ref+":a"); got != "b" {
		t.Errorf("the first holds %q", got)
	}
	if out := g.Git("fsck", "--strict"); strings.Contains(out, "missing") {
		t.Error(out)
	}
}

package worktree

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/runs"
)

// thorough asks for every combination and every check after each case. Without it, tests take samples of what repeats
// one path.
var thorough = os.Getenv("MARKMILL_ALL") != ""

func TestMain(m *testing.M) { gittest.Main(m) }

func openSource(t testing.TB, dir string) *Source {
	t.Helper()
	s, err := Open(dir)
	gittest.Must(t, err)
	return s
}

func options(t testing.TB, base object.OID) Options {
	return Options{RunID: "20261121T100000Z-test-abc", Dir: filepath.Join(t.TempDir(), "w"), Base: base,
		Author: object.Identity{Name: "Markmill", Email: "run@example.org"},
		Now:    func() time.Time { return time.Unix(1800000000, 0).UTC() }}
}

func create(t testing.TB, s *Source, base object.OID, edit ...func(*Options)) *Tree {
	t.Helper()
	o := options(t, base)
	for _, e := range edit {
		e(&o)
	}
	tree, err := Create(context.Background(), s, o)
	gittest.Must(t, err)
	t.Cleanup(func() { gittest.Must(t, tree.Close(false)) })
	return tree
}

// made is a worktree of a source, with the source.
func made(t testing.TB, g *gittest.Repository, edit ...func(*Options)) *Tree {
	t.Helper()
	s := openSource(t, g.Dir)
	head, err := s.Head()
	gittest.Must(t, err)
	return create(t, s, head, edit...)
}

// bundledRun writes the bundle of a run, and opens it; nil where there is none.
func bundledRun(t testing.TB, tree *Tree) (*object.Bundle, *runs.BundleData) {
	t.Helper()
	dir := t.TempDir()
	data, err := tree.Bundle(context.Background(), dir)
	gittest.Must(t, err)
	if data == nil {
		return nil, nil
	}
	b, err := object.OpenBundle(filepath.Join(dir, data.File))
	gittest.Must(t, err)
	t.Cleanup(func() { gittest.Must(t, b.Close()) })
	return b, data
}

// fetched puts a run's commits into its source by way of a bundle, and gives the ref.
func fetched(t testing.TB, tree *Tree) (ref string) {
	t.Helper()
	b, _ := bundledRun(t, tree)
	if b == nil {
		return ""
	}
	ref, err := tree.src.Fetch(context.Background(), b, tree.opt.RunID)
	gittest.Must(t, err)
	return ref
}

func capture(t testing.TB, tree *Tree) *Change {
	t.Helper()
	c, err := tree.Capture(context.Background(), "s", "step")
	gittest.Must(t, err)
	if c.PatchErr != nil {
		t.Fatal(c.PatchErr)
	}
	return c
}

// wantTree is what `git add -A; git write-tree` makes of the worktree, on a copy of its index.
func wantTree(t testing.TB, tree *Tree) string {
	t.Helper()
	return wantTreeIn(t, tree, filepath.Join(t.TempDir(), "index"))
}

// wantTreeIn is wantTree on an index that stays from capture to capture: what was captured once is tracked.
func wantTreeIn(t testing.TB, tree *Tree, index string) string {
	t.Helper()
	if _, err := os.Lstat(index); err != nil {
		original := filepath.Join(tree.GitDir(), "index")
		if data, err := os.ReadFile(original); err == nil {
			gittest.Must(t, os.WriteFile(index, data, 0o666))
			// To Git an index that is older than the files proves nothing: it reads them all.
			gittest.Must(t, os.Chtimes(index, time.Unix(1, 0), time.Unix(1, 0)))
		}
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	gittest.GitIn(t, tree.Dir(), env, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
	return gittest.GitIn(t, tree.Dir(), env, "write-tree")
}

// checkPatch applies a change's patch with `git apply` onto its base and compares the trees.
func checkPatch(t testing.TB, tree *Tree, base object.OID, c *Change) {
	t.Helper()
	store := filepath.Dir(tree.store.Dir)
	gittest.Must(t, tree.storeRepository())
	index := filepath.Join(t.TempDir(), "index")
	env := []string{"GIT_DIR=" + store, "GIT_INDEX_FILE=" + index}
	gittest.GitIn(t, t.TempDir(), env, "read-tree", string(base))
	if len(c.Patch) > 0 {
		if _, err := gittest.TryGit(tree.Dir(), env, c.Patch, "apply", "--cached", "--whitespace=nowarn",
			"-"); err != nil {
			t.Fatalf("git apply: %v\n%s", err, c.Patch)
		}
	}
	if got := gittest.GitIn(t, tree.Dir(), env, "write-tree"); got != string(c.Tree) {
		t.Fatalf("git apply gives tree %s, captured %s\n%s", got, c.Tree, c.Patch)
	}
}

// snapshotAll hashes everything below a folder, with modes and times.
func snapshotAll(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	gittest.Must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		line := p + " " + fi.Mode().String()
		// Git itself puts the time of an object forward that it finds instead of writing it anew.
		if !strings.Contains(p, "/.git/objects/") {
			line += " " + fi.ModTime().String()
		}
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += " " + string(object.SHA1.OID(object.SHA1.Sum("blob", data)))
		}
		lines = append(lines, line)
		return nil
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func statuses(c *Change) string {
	var out []string
	for _, f := range c.Files {
		item := f.Status + " " + f.Path
		if f.OldPath != "" {
			item = f.Status + " " + f.OldPath + " > " + f.Path
		}
		out = append(out, item)
	}
	return strings.Join(out, ", ")
}

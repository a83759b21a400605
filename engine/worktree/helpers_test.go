package worktree

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"markmill/runs"
)

func TestMain(m *testing.M) {
	// The user's own settings have no say in the tests.
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("XDG_CONFIG_HOME", os.DevNull)
	goleak.VerifyTestMain(m)
}

// oracle is a repository that the Git program makes.
type oracle struct {
	testing.TB
	dir string
}

func newOracle(t testing.TB, args ...string) *oracle {
	t.Helper()
	if !haveGit() {
		t.Skip("the Git program, the oracle of this test, is not on PATH")
	}
	g := &oracle{t, filepath.Join(t.TempDir(), "source")}
	if err := os.Mkdir(g.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	g.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	g.git("config", "user.name", "A U Thor")
	g.git("config", "user.email", "author@example.org")
	g.git("config", "gc.auto", "0")
	return g
}

func (g *oracle) git(args ...string) string {
	g.Helper()
	return gitIn(g, g.dir, nil, args...)
}

func (g *oracle) commit(message string) OID {
	g.Helper()
	g.git("add", "-A")
	g.git("commit", "-q", "--allow-empty", "-m", message)
	return OID(g.git("rev-parse", "HEAD"))
}

func (g *oracle) write(path, content string) { write(g, g.dir, path, content) }

func gitIn(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, env, nil, args...)
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSuffix(out, "\n")
}

func tryGit(dir string, env []string, stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_ALLOW_PROTOCOL=file", "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", &exec.Error{Name: errs.String(), Err: err}
	}
	return string(out), nil
}

func write(t testing.TB, dir, path, content string) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(path))
	must(t, os.MkdirAll(filepath.Dir(full), 0o777))
	must(t, os.WriteFile(full, []byte(content), 0o666))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openSource(t testing.TB, dir string) *Source {
	t.Helper()
	s, err := Open(dir)
	must(t, err)
	return s
}

func options(t testing.TB, base OID) Options {
	return Options{RunID: "20261121T100000Z-test-abc", Dir: filepath.Join(t.TempDir(), "w"), Base: base,
		Author: Identity{"Markmill", "run@example.org"}, Now: func() time.Time { return time.Unix(1800000000, 0).UTC() }}
}

func create(t testing.TB, s *Source, base OID, edit ...func(*Options)) *Tree {
	t.Helper()
	o := options(t, base)
	for _, e := range edit {
		e(&o)
	}
	tree, err := Create(context.Background(), s, o)
	must(t, err)
	t.Cleanup(func() { must(t, tree.Close(false)) })
	return tree
}

// made is a worktree of a source, with the source.
func made(t testing.TB, g *oracle, edit ...func(*Options)) *Tree {
	t.Helper()
	s := openSource(t, g.dir)
	head, err := s.Head()
	must(t, err)
	return create(t, s, head, edit...)
}

// bundledRun writes the bundle of a run, and opens it; nil where there is none.
func bundledRun(t testing.TB, tree *Tree) (*Bundle, *runs.BundleData) {
	t.Helper()
	dir := t.TempDir()
	data, err := tree.Bundle(dir)
	must(t, err)
	if data == nil {
		return nil, nil
	}
	b, err := OpenBundle(filepath.Join(dir, data.File))
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
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
	must(t, err)
	return ref
}

func capture(t testing.TB, tree *Tree) *Change {
	t.Helper()
	c, err := tree.Capture(context.Background(), "s", "step")
	must(t, err)
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
			must(t, os.WriteFile(index, data, 0o666))
			// Git tells by the index's time which entries may have changed within its clock's tick.
			info, err := os.Stat(original)
			must(t, err)
			must(t, os.Chtimes(index, info.ModTime(), info.ModTime()))
		}
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	gitIn(t, tree.Dir(), env, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
	return gitIn(t, tree.Dir(), env, "write-tree")
}

// checkPatch applies a change's patch with `git apply` onto its base and compares the trees.
func checkPatch(t testing.TB, tree *Tree, base OID, c *Change) {
	t.Helper()
	store := filepath.Dir(tree.store.dir)
	must(t, tree.storeRepository())
	index := filepath.Join(t.TempDir(), "index")
	env := []string{"GIT_DIR=" + store, "GIT_INDEX_FILE=" + index}
	gitIn(t, t.TempDir(), env, "read-tree", string(base))
	if len(c.Patch) > 0 {
		if _, err := tryGit(tree.Dir(), env, c.Patch, "apply", "--cached", "--whitespace=nowarn", "-"); err != nil {
			t.Fatalf("git apply: %v\n%s", err, c.Patch)
		}
	}
	if got := gitIn(t, tree.Dir(), env, "write-tree"); got != string(c.Tree) {
		t.Fatalf("git apply gives tree %s, captured %s\n%s", got, c.Tree, c.Patch)
	}
}

// snapshotAll hashes everything below a folder, with modes and times.
func snapshotAll(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
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
			line += " " + string(formatSHA1.oid(formatSHA1.sum("blob", data)))
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

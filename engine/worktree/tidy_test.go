package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTidy lays down what a crash can leave of each part of fetching and of making a branch, and looks at what Tidy
// leaves of that.
func TestTidy(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	base := g.commit("base")
	g.git("repack", "-adq")
	s := openSource(t, g.dir)
	tree := made(t, g)
	write(t, tree.Dir(), "a", "two\n")
	last := capture(t, tree).Commit
	before, err := filepath.Glob(filepath.Join(g.dir, ".git", "objects", "pack", "pack-*.pack"))
	must(t, err)
	ref := fetched(t, tree)
	id := strings.TrimPrefix(ref, runRefs)
	git := filepath.Join(g.dir, ".git")
	packs, err := filepath.Glob(filepath.Join(git, "objects", "pack", "pack-*.pack"))
	must(t, err)
	packs = slices.DeleteFunc(packs, func(path string) bool { return path == before[0] })
	if len(packs) != 1 {
		t.Fatal(packs)
	}
	whole := func(when string) {
		t.Helper()
		must(t, Tidy(s, id))
		if out := g.git("fsck", "--full", "--strict", "--no-dangling"); out != "" {
			t.Errorf("%s: %s", when, out)
		}
		for _, pattern := range []string{"objects/pack/tmp_*", "refs/markmill/runs/*.lock"} {
			if left, _ := filepath.Glob(filepath.Join(git, pattern)); len(left) > 0 {
				t.Errorf("%s: left behind: %v", when, left)
			}
		}
	}
	whole("nothing to do")

	// Between the two renames: the index is there, and its pack under the temporary name.
	must(t, os.Rename(packs[0], s.tempPack(id)))
	if _, err := openSource(t, g.dir).read("commit", oidOf(t, s, base)); err != nil {
		t.Errorf("what another run reads meanwhile: %v", err)
	}
	whole("an index without its pack")
	if _, err := os.Stat(packs[0]); err != nil {
		t.Error(err)
	}
	// Before the renames, and in the middle of writing.
	must(t, os.WriteFile(s.tempPack(id), []byte("PACK"), 0o600))
	must(t, os.WriteFile(s.tempPack(id)+tempIndex, []byte("half of an index, which is longer than two names are"), 0o600))
	must(t, os.WriteFile(s.runLock(id), []byte(last+"\n"), 0o600))
	whole("halves")

	// The lock of a branch is the run's own, by its file; that of somebody else stays.
	must(t, os.WriteFile(s.runLock(id), []byte(last+"\n"), 0o600))
	mine, other := s.refPath("refs/heads/deep/mine")+".lock", s.refPath("refs/heads/other")+".lock"
	must(t, os.MkdirAll(filepath.Dir(mine), 0o755))
	must(t, os.Link(s.runLock(id), mine))
	must(t, os.WriteFile(other, []byte(last+"\n"), 0o600))
	whole("a branch")
	if _, err := os.Stat(mine); err == nil {
		t.Error("the lock of the run's branch stays")
	}
	must(t, os.Remove(other))

	if out := g.git("status", "--porcelain"); out != "" {
		t.Error(out)
	}
}

// TestReadBesideAnUnfinishedPack reads while Git has put a pack in its place whose index is still to come.
func TestReadBesideAnUnfinishedPack(t *testing.T) {
	g := newOracle(t)
	g.write("a", "one\n")
	base := g.commit("base")
	g.git("repack", "-adq")
	g.write("a", "two\n")
	g.commit("more")
	g.git("repack", "-dq")
	indexes, err := filepath.Glob(filepath.Join(g.dir, ".git", "objects", "pack", "pack-*.idx"))
	must(t, err)
	if len(indexes) != 2 {
		t.Fatal(indexes)
	}
	for _, index := range indexes {
		must(t, os.Rename(index, index+".later"))
	}
	s := openSource(t, g.dir)
	waited := 0
	s.pause = func(time.Duration) {
		if waited++; waited > 1 {
			return
		}
		for _, index := range indexes {
			must(t, os.Rename(index+".later", index))
		}
	}
	if _, err := s.treeOf(oidOf(t, s, base)); err != nil {
		t.Error(err)
	}
	if waited == 0 {
		t.Error("the packs had no index, and nothing waited for it")
	}
}

func oidOf(t *testing.T, s *Source, oid OID) digest {
	t.Helper()
	d, ok := s.fmt.parse(oid)
	if !ok {
		t.Errorf("%q is no object name", oid)
	}
	return d
}

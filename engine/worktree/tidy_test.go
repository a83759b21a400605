package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
)

// TestTidy lays down what a crash can leave of each part of fetching and of making a branch, and looks at what Tidy
// leaves of that.
func TestTidy(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	base := g.Commit("base")
	g.Git("repack", "-adq")
	s := openSource(t, g.Dir)
	tree := made(t, g)
	gittest.Write(t, tree.Dir(), "a", "two\n")
	last := capture(t, tree).Commit
	before, err := filepath.Glob(filepath.Join(g.Dir, ".git", "objects", "pack", "pack-*.pack"))
	gittest.Must(t, err)
	ref := fetched(t, tree)
	id := strings.TrimPrefix(ref, repo.RunRefPrefix)
	git := filepath.Join(g.Dir, ".git")
	packs, err := filepath.Glob(filepath.Join(git, "objects", "pack", "pack-*.pack"))
	gittest.Must(t, err)
	packs = slices.DeleteFunc(packs, func(path string) bool { return path == before[0] })
	if len(packs) != 1 {
		t.Fatal(packs)
	}
	whole := func(when string) {
		t.Helper()
		gittest.Must(t, s.Tidy(id))
		if out := g.Git("fsck", "--full", "--strict", "--no-dangling"); out != "" {
			t.Errorf("%s: %s", when, out)
		}
		for _, pattern := range []string{"objects/pack/tmp_*", "refs/markmill/runs/*.lock"} {
			if left, _ := filepath.Glob(filepath.Join(git, pattern)); len(left) > 0 {
				t.Errorf("%s: left behind: %v", when, left)
			}
		}
	}
	whole("nothing to do")
	tempPack := filepath.Join(git, "objects/pack/tmp_pack_"+id)
	lock := filepath.Join(git, "refs/markmill/runs", id+".lock")

	// Between the two renames: the index is there, and its pack under the temporary name.
	gittest.Must(t, os.Rename(packs[0], tempPack))
	if _, err := openSource(t, g.Dir).Read("commit", oidOf(t, s, base)); err != nil {
		t.Errorf("what another run reads meanwhile: %v", err)
	}
	whole("an index without its pack")
	if _, err := os.Stat(packs[0]); err != nil {
		t.Error(err)
	}
	// Before the renames, and in the middle of writing.
	gittest.Must(t, os.WriteFile(tempPack, []byte("PACK"), 0o600))
	gittest.Must(t, os.WriteFile(tempPack+"_idx", []byte("half of an index, which is longer than two names are"),
		0o600))
	gittest.Must(t, os.WriteFile(lock, []byte(last+"\n"), 0o600))
	whole("halves")

	// The lock of a branch is the run's own, by its file; that of somebody else stays.
	gittest.Must(t, os.WriteFile(lock, []byte(last+"\n"), 0o600))
	mine, other := filepath.Join(git, "refs/heads/deep/mine.lock"), filepath.Join(git, "refs/heads/other.lock")
	gittest.Must(t, os.MkdirAll(filepath.Dir(mine), 0o755))
	gittest.Must(t, os.Link(lock, mine))
	gittest.Must(t, os.WriteFile(other, []byte(last+"\n"), 0o600))
	whole("a branch")
	if _, err := os.Stat(mine); err == nil {
		t.Error("the lock of the run's branch stays")
	}
	gittest.Must(t, os.Remove(other))

	if out := g.Git("status", "--porcelain"); out != "" {
		t.Error(out)
	}
}

// TestReadBesideAnUnfinishedPack reads while Git has put a pack in its place whose index is still to come.
func TestReadBesideAnUnfinishedPack(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	base := g.Commit("base")
	g.Git("repack", "-adq")
	g.Write("a", "two\n")
	g.Commit("more")
	g.Git("repack", "-dq")
	indexes, err := filepath.Glob(filepath.Join(g.Dir, ".git", "objects", "pack", "pack-*.idx"))
	gittest.Must(t, err)
	if len(indexes) != 2 {
		t.Fatal(indexes)
	}
	for _, index := range indexes {
		gittest.Must(t, os.Rename(index, index+".later"))
	}
	s := openSource(t, g.Dir)
	waited := 0
	s.Pause = func(time.Duration) {
		if waited++; waited > 1 {
			return
		}
		for _, index := range indexes {
			gittest.Must(t, os.Rename(index+".later", index))
		}
	}
	if _, err := s.TreeOf(oidOf(t, s, base)); err != nil {
		t.Error(err)
	}
	if waited == 0 {
		t.Error("the packs had no index, and nothing waited for it")
	}
}

func oidOf(t *testing.T, s *Source, oid object.OID) object.Digest {
	t.Helper()
	d, ok := s.Format.Parse(oid)
	if !ok {
		t.Errorf("%q is no object name", oid)
	}
	return d
}

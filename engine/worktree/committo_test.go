package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
)

// TestCommitTo commits files to branches, which Git reads, and which move meanwhile.
func TestCommitTo(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		g := gittest.New(t, "--object-format="+format)
		g.Write("a/run.sh", "one\n")
		gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "a", "run.sh"), 0o755))
		base := g.Commit("base")
		s := openSource(t, g.Dir)
		at := time.Date(2026, 11, 25, 6, 0, 0, 0, time.FixedZone("", 3600))
		commit := func(branch, id string, files map[string][]byte, noted func(object.OID) error) (object.OID, error) {
			return s.CommitTo(repo.NewFiles{Branch: branch, RunID: id, Files: files,
				Message: "out\n\nMarkmill-Run: " + id,
				Program: object.Identity{Name: "M", Email: "m@x"}, Now: at, Noted: noted})
		}
		quiet := func(object.OID) error { return nil }
		files := map[string][]byte{"out/x.md": []byte("x\n"), "out/x_files/p.png": {0, 1}, "a/run.sh": []byte("two\n")}
		made, err := commit("pages", "r1", files, quiet)
		gittest.Must(t, err)
		if got := g.Git("log", "-1", "--format=%H %P %an <%ae> %cn %ai", "pages"); got != string(made)+" "+string(base)+
			" A U Thor <author@example.org> A U Thor 2026-11-25 06:00:00 +0100" {
			t.Error(got)
		}
		if got := g.Git("ls-tree", "-r", "--format=%(objectmode) %(path)", "pages"); got !=
			"100755 a/run.sh\n100644 out/x.md\n100644 out/x_files/p.png" {
			t.Error(got)
		}
		if got := g.Git("show", "pages:a/run.sh"); got != "two" {
			t.Error(got)
		}
		if got := g.Git("status", "--porcelain"); got != "" {
			t.Errorf("the checkout has changed: %s", got)
		}
		again, err := commit("pages", "r2", files, quiet)
		if gittest.Must(t, err); again != "" || g.Git("rev-parse", "pages") != string(made) {
			t.Errorf("the same files are a commit: %s", again)
		}
		moved := false
		files["out/x.md"] = []byte("y\n")
		got, err := commit("pages", "r3", files, func(object.OID) error {
			if !moved {
				moved = true
				other := g.Git("commit-tree", "-p", "pages", "-m", "other", "pages^{tree}")
				g.Git("update-ref", "refs/heads/pages", other)
			}
			return nil
		})
		if gittest.Must(t, err); g.Git("log", "-3", "--format=%s", "pages") != "out\nother\nout" {
			t.Errorf("%s is not on top of what moved the branch", got)
		}
		for name, wrong := range map[string]struct {
			branch string
			files  map[string][]byte
			words  string
		}{
			"checked out": {"main", files, "is checked out in"},
			"a bad name":  {"a..b", files, "cannot name a branch"},
			"a folder":    {"pages", map[string][]byte{"out": nil}, "out is no regular file in the branch"},
			"a file":      {"pages", map[string][]byte{"out/x.md/z": nil}, "out/x.md is no folder in the branch"},
		} {
			_, err := commit(wrong.branch, "r4", wrong.files, quiet)
			if err == nil || !strings.Contains(err.Error(), wrong.words) {
				t.Errorf("%s: %v", name, err)
			}
		}
		g.Git("worktree", "add", "-q", g.Dir+"-linked", "pages")
		if _, err := commit("pages", "r5", files, quiet); err == nil || !strings.Contains(err.Error(), "worktrees") {
			t.Errorf("the branch of a linked worktree moves: %v", err)
		}
		var group sync.WaitGroup
		for _, id := range []string{"c1", "c2", "c3", "c4"} {
			group.Go(func() {
				other := openSource(t, g.Dir)
				if _, err := other.CommitTo(repo.NewFiles{Branch: "many", RunID: id,
					Files:   map[string][]byte{id: []byte(id)},
					Message: id, Now: at, Noted: quiet}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got := g.Git("ls-tree", "--name-only", "many"); got != "a\nc1\nc2\nc3\nc4" {
			t.Errorf("of four at once: %s", got)
		}
		if out := g.Git("fsck", "--full", "--strict"); out != "" {
			t.Error(out)
		}
	}
}

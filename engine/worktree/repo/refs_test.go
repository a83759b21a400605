package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
)

// TestRefsComeAndGo: the last ref goes while another comes. Git removes the folders that this leaves empty, under the
// feet of who makes a ref in them.
func TestRefsComeAndGo(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Commit("base")
	head := object.OID(g.Git("rev-parse", "HEAD"))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { // as `git update-ref -d` does after it has removed a ref
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				os.Remove(filepath.Join(g.Dir, ".git", "refs", "markmill", "runs"))
				os.Remove(filepath.Join(g.Dir, ".git", "refs", "markmill"))
			}
		}
	}()
	s, err := Open(g.Dir)
	gittest.Must(t, err)
	for i := range gittest.Rounds(50) {
		name := fmt.Sprintf("%sr%d", RunRefPrefix, i)
		if err := s.setRef(fmt.Sprint("r", i), name, "", head); err != nil {
			t.Fatal(i, err)
		}
		gittest.Must(t, os.Remove(filepath.Join(g.Dir, ".git", filepath.FromSlash(name))))
	}
	close(stop)
	gittest.Must(t, <-done)
}

// TestRevisionsAsGit: a name is the commit that Git takes it for, or an error where Git names no single commit.
func TestRevisionsAsGit(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Commit("one")
	g.Git("tag", "both")
	g.Git("tag", "-a", "-m", "x", "annotated")
	g.Write("a", "b\n")
	head := g.Commit("two: a..b")
	g.Git("branch", "both")
	g.Git("branch", string(head)[:5], "HEAD~1") // named as the digits of another commit
	g.Git("branch", "apart", "HEAD~1")
	s, err := Open(g.Dir)
	gittest.Must(t, err)
	var told []string
	t.Cleanup(func() { Warn = func(string) {} })
	Warn = func(words string) { told = append(told, words) }
	for _, rev := range []string{"HEAD", "@", "main", "both", "both~0", "heads/both", "refs/heads/both",
		"tags/both", "annotated", string(head), string(head)[:5], string(head)[:9], "HEAD~1", "HEAD^",
		":/one", ":/a..b", "main^{/one}", "@{0}",
		"HEAD:a", "HEAD^{tree}", "HEAD^@", "HEAD~9", "a", "-x", "--all", "apart..main", "apart...main", "..main"} {
		want, gitErr := gittest.TryGit(g.Dir, nil, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
		if want = strings.TrimSpace(want); gitErr == nil {
			want, gitErr = gittest.TryGit(g.Dir, nil, nil, "rev-parse", "--verify", "--quiet", want+"^{commit}")
		}
		got, err := s.Resolve(rev)
		if (err == nil) != (gitErr == nil) || err == nil && string(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, %v; git: %q, %v", rev, got, err, want, gitErr)
		}
		if strings.HasPrefix(rev, "apart..") && !strings.Contains(fmt.Sprint(err), "range") {
			t.Errorf("%s: %v", rev, err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "taken for refs/tags/both; write refs/heads/both") {
		t.Errorf("%q", told)
	}
}

// TestBranchNames: before a run it is known whether a branch can be made: refs/heads holds files and folders.
func TestBranchNames(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	head := g.Commit("base")
	g.Git("branch", "topic/a")
	g.Git("pack-refs", "--all")
	s, err := Open(g.Dir)
	gittest.Must(t, err)
	for _, name := range []string{"HEAD", "@", "-x", "a..b", "main/sub", "topic", "topic/a/b"} {
		if err := s.CheckBranch(name, head); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for _, name := range []string{"topic/b", "main2", "FETCH_HEAD", "x/HEAD"} {
		if err := s.CheckBranch(name, head); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMain(m *testing.M) { gittest.Main(m) }

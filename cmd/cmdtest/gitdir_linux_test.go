package cmdtest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitDigest digests every file of a Git directory, and names its folders.
func gitDigest(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[rel] += fmt.Sprintf(" %x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameGit wants a Git directory to be as it was, to the byte.
func sameGit(t *testing.T, what string, was, is map[string]string) {
	t.Helper()
	var out []string
	for path := range maps.Keys(is) {
		if was[path] != is[path] {
			out = append(out, path)
		}
	}
	for path := range was {
		if _, there := is[path]; !there {
			out = append(out, path+" (gone)")
		}
	}
	if slices.Sort(out); len(out) > 0 {
		t.Errorf("%s wrote into .git: %s", what, strings.Join(out, ", "))
	}
}

// TestGitUntouched digests .git before and after every command that works on runs: a run, one that fails, one with the
// uncommitted changes, in place, listing, verifying, applying, pruning, reconciling. TestKills does so for runs that
// are killed, and TestResumeAnywhere for those that are resumed.
func TestGitUntouched(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	r := b.trial(t)
	dot := filepath.Join(r.repo, ".git")
	was := gitDigest(t, dot)
	write(t, filepath.Join(r.repo, "fails.md"),
		"```bash {#change}\necho x > x; git add x; git -c user.name=A -c user.email=a@b commit -qm own; git tag t; "+
			"exit 3\n```\n")
	write(t, filepath.Join(r.repo, "edits.md"), "```bash {#change}\necho y > y\n```\n")
	for _, c := range []struct {
		exit int
		args []string
	}{
		{0, r.args()}, {1, []string{"run", "fails.md"}}, {0, []string{"run", "task.md", "--dirty", "include"}},
		{0, []string{"list"}}, {0, []string{"show", "last"}},
		{0, []string{"verify", "last"}}, {0, []string{"show", "last", "--log"}},
		{0, []string{"runs", "attest", "last"}}, {0, []string{"runs", "maintain", "reconcile"}},
		{2, []string{"resume", "last"}}, {0, []string{"apply", "last"}},
		{0, []string{"run", "edits.md", "--in-place"}}, {0, []string{"runs", "prune", "--keep", "0", "--days", "0"}},
		{0, []string{"runs", "maintain", "reconcile"}},
	} {
		if text, code := r.markmill(c.args...); code != c.exit {
			t.Errorf("%q exits %d, want %d: %s", c.args, code, c.exit, text)
		}
		sameGit(t, strings.Join(c.args, " "), was, gitDigest(t, dot))
	}
	if left, _ := os.ReadDir(filepath.Join(r.repo, ".markmill", "runs")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

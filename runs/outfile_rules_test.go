package runs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/runs/outfile"
)

func TestTargetInsideAGitDirectory(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "repo")
	git("-C", "repo", "commit", "-q", "--allow-empty", "-m", "first")
	git("-C", "repo", "worktree", "add", "-q", "../tree")
	git("init", "-q", "--bare", "bare")
	git("init", "-q", "--separate-git-dir", "apart", "split")
	link := func(from, to string) {
		t.Helper()
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Skip("links cannot be made here:", err)
		}
	}
	link("repo/.git", "link")
	link("repo/.git/hooks/new", "dangling.md")
	link("link/hooks/new", "twice.md")
	t.Chdir(dir)
	for _, path := range []string{
		"repo/.git/config", "repo/.git/hooks/x", "repo/.git/a/b/new.md", "repo/.GIT/config", "repo/.git ./x",
		"repo/git~1/x", "repo/.git::$INDEX_ALLOCATION/x",
		"repo/x/../.git/config", "tree/.git", "repo/.git/worktrees/tree/x.md", "bare/config", "bare/hooks/post-update",
		"apart/config", "link/config",
		filepath.Join(dir, "repo/.git/config"),
	} {
		if err := outfile.Check(path, outfile.Rules{}); err == nil || !strings.Contains(err.Error(), "Git directory") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"repo/out.md", "repo/.github/out.md", "repo/.gitignore", "tree/out.md", "new/out.md",
		"split/out.md", "my.git.md", os.DevNull} {
		if err := outfile.Check(path, outfile.Rules{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"dangling.md", "twice.md"} {
		if err := outfile.Check(path, outfile.Rules{}); err == nil || !strings.Contains(err.Error(),
			"leads out of its folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"new/", "repo", "repo/", ".", "..", "new/."} {
		if err := outfile.Check(path, outfile.Rules{}); err == nil || !strings.Contains(err.Error(), "is a folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWorkflows(t *testing.T) {
	for name, want := range map[string]bool{".github/workflows/ci.yml": true, ".gitea/workflows/x.yaml": true,
		".forgejo/workflows/x.yml": true, ".gitlab-ci.yml": true, "sub/.pre-commit-config.yaml": true,
		"Jenkinsfile": true, "src/Jenkinsfile.go": false,
		"docs/github/workflows/ci.yml": false, "markmill.yml": false} {
		if got := outfile.IsWorkflow(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNoFolder: a path that goes through a file, or through a link that leads nowhere, is refused before a step runs.
func TestNoFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	for at, want := range map[string]string{
		"file/out.md":      "file is no folder; give another path",
		"file/deep/out.md": "file is no folder; give another path",
		"link/out.md":      "link, which leads nowhere",
		"link/deep/out.md": "link, which leads nowhere",
	} {
		f, err := outfile.Open(filepath.Join(dir, at), outfile.Rules{})
		if err == nil {
			t.Error(at, "was opened")
			f.Close()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
	}
}

package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"markmill/cmd/markmill/git"
)

// TestGitSetup: Install writes everything that Status lists, and Uninstall leaves the files as they were.
func TestGitSetup(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Chdir(t.TempDir())
	if _, err := (git.Setup{}).Status(); err != git.ErrNoRepository {
		t.Errorf("outside a repository: %v", err)
	}
	if _, err := git.Git("init", "-q"); err != nil {
		t.Fatal(err)
	}
	const before = "*.txt text" // without a line end
	setup := git.Setup{Attributes: ".gitattributes"}
	if err := os.WriteFile(setup.Attributes, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Install("markmill", "", []string{"a b/*.md"}); err != nil {
		t.Fatal(err)
	}
	entries, err := setup.Status()
	if err != nil || len(entries) == 0 || slices.ContainsFunc(entries, func(e git.Entry) bool { return !e.OK }) {
		t.Errorf("after Install: %v %v", entries, err)
	}
	for _, want := range []bool{true, false} { // the second time there is nothing
		if removed, err := setup.Uninstall(); removed != want || err != nil {
			t.Errorf("Uninstall: %v %v", removed, err)
		}
	}
	if text, err := os.ReadFile(setup.Attributes); string(text) != before || err != nil {
		t.Errorf("after Uninstall: %q %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(".git", "config")); err != nil || len(text) > len(config) {
		t.Errorf("after Uninstall: %s %v", text, err)
	}
}

//go:build unix

package cmdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/exchange"
)

// TestBaseFromSSH fetches a commit from a server that gives only what its branches and tags name, as Git behind sshd
// does by default.
func TestBaseFromSSH(t *testing.T) {
	b := newSSHBed(t)
	t.Setenv("HOME", filepath.Join(b.top, "home"))
	t.Setenv("SSH_AUTH_SOCK", "")
	commit := strings.TrimSpace(b.must("a", "git", "rev-parse", "HEAD"))
	url, dir := b.url+filepath.Join(b.top, "shared.git"), filepath.Join(b.top, "base")
	if err := exchange.FetchBase(t.Context(), dir, commit, url); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "n.md")); err != nil {
		t.Error(err)
	}
	b.write("a/n.md", "```sh {#one}\n:\n```\n")
	b.must("a", "git", "commit", "-qam", "moved")
	b.must("a", "git", "push", "-q", "../shared.git", "main")
	err := exchange.FetchBase(t.Context(), filepath.Join(b.top, "again"), commit, url)
	if err == nil || !strings.Contains(err.Error(), "no branch and no tag") {
		t.Errorf("a commit that no branch is any longer: %v", err)
	}
}

package exchange

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
)

// TestBase: a commit that comes as a pack or from a remote is checked out, with its files and without its history.
func TestBase(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "first\n")
	first := string(g.Commit("first"))
	g.Write("a", "second\n")
	second := string(g.Commit("second"))
	g.Write("a", "third\n")
	third := string(g.Commit("third"))
	var pack bytes.Buffer
	gittest.Must(t, WriteBase(g.Dir, second, &pack))
	sent, fetched := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "x")
	made, err := MakeBase(sent, second, func(w io.Writer) (bool, error) { _, err := pack.WriteTo(w); return true, err })
	if !made || err != nil {
		t.Fatal(made, err)
	}
	gittest.Must(t, FetchBase(t.Context(), fetched, third, g.Dir))
	for dir, want := range map[string][2]string{sent: {second, "second\n"}, fetched: {third, "third\n"}} {
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		gittest.Must(t, err)
		list := strings.TrimSpace(gittest.GitIn(t, dir, nil, "rev-list", "HEAD"))
		if string(text) != want[1] || list != want[0] {
			t.Errorf("%s: %s, commits %s", dir, text, list)
		}
		gittest.GitIn(t, dir, nil, "fsck", "--strict")
	}
	for commit, want := range map[string]bool{third: true, first: false} {
		if got, err := Shows(t.Context(), g.Dir, commit); got != want || err != nil {
			t.Errorf("%s: %v, %v", commit, got, err)
		}
	}
	none := filepath.Join(t.TempDir(), "x")
	if err := FetchBase(t.Context(), none, strings.Repeat("1", 40), g.Dir); err == nil {
		t.Error("a commit is fetched that is not there")
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a repository is left of a commit that is not there")
	}
}

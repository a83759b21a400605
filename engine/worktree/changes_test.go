package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
)

// TestChangesAreGits makes pairs of trees with folders, links and moved files, and asks Git's program which paths
// differ.
func TestChangesAreGits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@localhost"},
			args...)...)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main", ".")
	src, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	change := func() {
		for range 1 + rnd.IntN(6) {
			p := filepath.Join(dir, fmt.Sprintf("d%d", rnd.IntN(3)), fmt.Sprintf("e%d", rnd.IntN(2)),
				fmt.Sprintf("f%d.md", rnd.IntN(4)))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			switch rnd.IntN(4) {
			case 0:
				os.Remove(p)
			case 1:
				os.Remove(p)
				os.Symlink("x", p)
			default:
				os.Remove(p)
				if err := os.WriteFile(p, fmt.Appendf(nil, "text %d\n", rnd.IntN(5)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	compare := func(what string, old, new *repo.Files, want string) {
		changes, err := repo.Changes(old, new, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			for _, p := range []string{c.Path, c.From} {
				if p != "" {
					got = append(got, p)
				}
			}
			_, errOld := old.Read(map[bool]string{true: c.From, false: c.Path}[c.From != ""], 100)
			_, errNew := new.Read(c.Path, 100)
			if c.Old == errors.Is(errOld, fs.ErrNotExist) || c.New == errors.Is(errNew, fs.ErrNotExist) {
				t.Errorf("%s: %+v: %v, %v", what, c, errOld, errNew)
			}
		}
		slices.Sort(got)
		var files []string // Git tells of links, too: a change from one link to another is none here
		for line := range strings.Lines(want) {
			meta, p, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if modes := strings.Fields(meta); strings.HasPrefix(modes[0], ":100") ||
				strings.HasPrefix(modes[1], "100") {
				files = append(files, p)
			}
		}
		slices.Sort(files)
		if !slices.Equal(got, files) {
			t.Errorf("%s: %v, and git says %v", what, got, files)
		}
	}
	last := object.OID("")
	for i := range 12 {
		change()
		git("add", "-A")
		git("commit", "-q", "--allow-empty", "-m", "x")
		now, err := src.Head()
		if err != nil {
			t.Fatal(err)
		}
		if last != "" {
			old, err := src.CommitFiles(last)
			if err != nil {
				t.Fatal(err)
			}
			new, err := src.CommitFiles(now)
			if err != nil {
				t.Fatal(err)
			}
			compare(fmt.Sprint("commit ", i), old, new, git("diff-tree", "-r", "--no-renames", string(last),
				string(now)))
			change()
			checkout, err := src.CheckoutFiles(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			git("add", "-A") // after the look at the checkout, which so has untracked files
			compare(fmt.Sprint("checkout ", i), old, checkout, git("diff-index", "--cached", "--no-renames",
				string(last)))
			if err := checkout.Close(); err != nil {
				t.Fatal(err)
			}
		}
		last = now
	}
}

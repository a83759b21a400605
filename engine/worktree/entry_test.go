package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
)

// TestEntriesAreGits compares blobs and modes, of a commit and of the checkout, with what Git's program says, in both
// object formats.
func TestEntriesAreGits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) string {
				out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c",
					"user.email=a@localhost"}, args...)...).Output()
				if err != nil {
					t.Fatalf("git %v: %v", args, err)
				}
				return strings.TrimSpace(string(out))
			}
			write := func(name, text string, mode os.FileMode) {
				p := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(p, mode); err != nil {
					t.Fatal(err)
				}
			}
			git("init", "-q", "--object-format="+format, ".")
			write("a/plain", "1\n", 0o644)
			write("a/script", "2\n", 0o755)
			write("same", "3\n", 0o644)
			if err := os.Symlink("a/plain", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			git("add", "-A")
			git("commit", "-qm", "one")
			src, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			files, err := src.CommitFiles(object.OID(git("rev-parse", "HEAD")))
			if err != nil {
				t.Fatal(err)
			}
			check := func(files *repo.Files) {
				t.Helper()
				for line := range strings.Lines(git("ls-files", "-s")) {
					fields := strings.Fields(line) // mode, blob, stage, path
					blob, mode, ok, err := files.Entry(fields[3])
					if err != nil || !ok || string(blob) != fields[1] || mode != fields[0] {
						t.Errorf("%s: %s %s %v %v, and Git has %s %s", fields[3], blob, mode, ok, err,
							fields[1], fields[0])
					}
				}
				for _, none := range []string{"nosuch", "a", "a/nosuch", "same/x"} {
					if blob, _, ok, err := files.Entry(none); ok || err != nil {
						t.Errorf("%s: %s %v %v", none, blob, ok, err)
					}
				}
			}
			check(files)
			write("a/plain", "changed\n", 0o755)
			write("new", "new\n", 0o644)
			if err := os.Remove(filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("same", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "a/script")); err != nil {
				t.Fatal(err)
			}
			checkout, err := src.CheckoutFiles(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer checkout.Close()
			git("add", "-A")
			check(checkout)
			if _, _, ok, err := checkout.Entry("a/script"); ok || err != nil {
				t.Errorf("a file that is gone: %v %v", ok, err)
			}
		})
	}
}

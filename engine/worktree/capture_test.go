//go:build unix

package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"markmill/engine/worktree/gittest"
)

// TestCapture goes through what a step can do to a worktree. Each case is compared with what the
// Git program makes of it.
func TestCapture(t *testing.T) {
	long := strings.Repeat("n", 250)
	sh := func(f func(dir string) error) func(testing.TB, *Tree) {
		return func(t testing.TB, tree *Tree) { t.Helper(); gittest.Must(t, f(tree.Dir())) }
	}
	put := func(path, content string) func(testing.TB, *Tree) {
		return func(t testing.TB, tree *Tree) { t.Helper(); gittest.Write(t, tree.Dir(), path, content) }
	}
	cases := []struct {
		name string
		do   func(testing.TB, *Tree)
		want string
	}{
		{"nothing", sh(func(string) error { return nil }), ""},
		{"same-size edit", put("a.txt", "one\nTWO\nthree\n"), "modified a.txt"},
		{"same-size edit with the time put back", sh(func(d string) error {
			p := filepath.Join(d, "a.txt")
			fi, err := os.Lstat(p)
			if err != nil {
				return err
			}
			if err := os.WriteFile(p, []byte("one\nTWO\nthree\n"), 0o666); err != nil {
				return err
			}
			return os.Chtimes(p, fi.ModTime(), fi.ModTime())
		}), "modified a.txt"},
		{"touched only", sh(func(d string) error {
			n := time.Unix(1, 0)
			return os.Chtimes(filepath.Join(d, "a.txt"), n,
				n)
		}), ""},
		{"new", put("new/deep/file", "x"), "added new/deep/file"},
		{"empty file", put("empty", ""), "added empty"},
		{"deleted", sh(func(d string) error { return os.Remove(filepath.Join(d, "dir/b.txt")) }), "deleted dir/b.txt"},
		{"folder deleted", sh(func(d string) error { return os.RemoveAll(filepath.Join(d, "dir")) }),
			"deleted dir/b.txt, deleted dir/sub/c.txt"},
		{"all deleted", sh(func(d string) error {
			list, err := filepath.Glob(filepath.Join(d, "*"))
			for _, p := range list {
				if filepath.Base(p) != ".git" {
					err = errors.Join(err, os.RemoveAll(p))
				}
			}
			return err
		}), "deleted .gitignore, deleted a.txt, deleted bin, deleted crlf.txt, deleted dir/b.txt, deleted " +
			"dir/sub/c.txt, deleted link, deleted run.sh"},
		{"renamed", sh(func(d string) error {
			return os.Rename(filepath.Join(d, "a.txt"), filepath.Join(d, "dir/z.txt"))
		}), "renamed a.txt > dir/z.txt"},
		{"folder renamed",
			sh(func(d string) error { return os.Rename(filepath.Join(d, "dir"), filepath.Join(d, "other")) }),
			"renamed dir/b.txt > other/b.txt, renamed dir/sub/c.txt > other/sub/c.txt"},
		{"mode", sh(func(d string) error { return os.Chmod(filepath.Join(d, "a.txt"), 0o755) }), "mode a.txt"},
		{"mode and content", sh(func(d string) error {
			if err := os.WriteFile(filepath.Join(d, "run.sh"), []byte("#!/bin/sh\necho\n"), 0o666); err != nil {
				return err
			}
			return os.Chmod(filepath.Join(d, "run.sh"), 0o644)
		}), "modified run.sh"},
		{"mode that Git does not keep", sh(func(d string) error { return os.Chmod(filepath.Join(d, "a.txt"), 0o600) }),
			""},
		{"link retargeted", sh(func(d string) error {
			if err := os.Remove(filepath.Join(d, "link")); err != nil {
				return err
			}
			return os.Symlink("dir", filepath.Join(d, "link"))
		}), "modified link"},
		{"link to file", sh(func(d string) error {
			if err := os.Remove(filepath.Join(d, "link")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(d, "link"), []byte("now a file\n"), 0o666)
		}), "type link"},
		{"file to link", sh(func(d string) error {
			if err := os.Remove(filepath.Join(d, "a.txt")); err != nil {
				return err
			}
			return os.Symlink("nowhere", filepath.Join(d, "a.txt"))
		}), "type a.txt"},
		{"file to folder", sh(func(d string) error {
			if err := os.Remove(filepath.Join(d, "a.txt")); err != nil {
				return err
			}
			if err := os.Mkdir(filepath.Join(d, "a.txt"), 0o777); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(d, "a.txt/in"), []byte("in\n"), 0o666)
		}), "deleted a.txt, added a.txt/in"},
		{"folder to file", sh(func(d string) error {
			if err := os.RemoveAll(filepath.Join(d, "dir")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(d, "dir"), []byte("file\n"), 0o666)
		}), "added dir, deleted dir/b.txt, deleted dir/sub/c.txt"},
		{"folder to link", sh(func(d string) error {
			if err := os.RemoveAll(filepath.Join(d, "dir")); err != nil {
				return err
			}
			return os.Symlink("/etc", filepath.Join(d, "dir"))
		}), "added dir, deleted dir/b.txt, deleted dir/sub/c.txt"},
		{"empty folder", sh(func(d string) error { return os.MkdirAll(filepath.Join(d, "x/y"), 0o777) }), ""},
		{"fifo and socket", sh(func(d string) error {
			if err := syscall.Mkfifo(filepath.Join(d, "fifo"), 0o666); err != nil {
				return err
			}
			if err := os.Remove(filepath.Join(d, "a.txt")); err != nil {
				return err
			}
			return syscall.Mkfifo(filepath.Join(d, "a.txt"), 0o666)
		}), "deleted a.txt"},
		{"edit through a hard link", sh(func(d string) error {
			p := filepath.Join(filepath.Dir(d), "outside")
			if err := os.Link(filepath.Join(d, "a.txt"), p); err != nil {
				return err
			}
			return os.WriteFile(p, []byte("one\n2\n"), 0o666)
		}), "modified a.txt"},
		{"names", sh(func(d string) error {
			for _, n := range []string{"new\nline", "ta\tb", `quo"te`, `back\slash`, "sp ace", " lead", "trail ",
				"caf\u00e9",
				"cafe\u0301", "bad\xffutf", "-dash", long, "*", "a:b", "\x7f", "\x01"} {
				if err := os.WriteFile(filepath.Join(d, n), []byte(n+"\n"), 0o666); err != nil {
					return err
				}
			}
			return nil
		}), ""},
		{"binary", put("bin", "new\x00\x01\x02"+strings.Repeat("\xff\x00", 5000)), "modified bin"},
		{"binary gone", sh(func(d string) error { return os.Remove(filepath.Join(d, "bin")) }), "deleted bin"},
		{"binary to text", put("bin", "text\n"), "modified bin"},
		{"no newline at the end", put("a.txt", "one\ntwo\nthree"), "modified a.txt"},
		{"carriage returns", put("crlf.txt", "x\r\nz\r\n"), "modified crlf.txt"},
		{"ignored", put("ignored.log", "x"), ""},
		{"ignored folder", put("build/deep/x", "x"), ""},
		{"ignored but negated", put("keep.log", "x"), "added keep.log"},
		{"nested rules", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), "n/.gitignore", "*.tmp\n!x.log\n/only\n")
			for _, p := range []string{"n/a.tmp", "n/x.log", "n/only", "n/m/only", "n/m/b.tmp"} {
				gittest.Write(t, tree.Dir(), p, p)
			}
		}, "added n/.gitignore, added n/m/only, added n/x.log"},
		{"rules dropped", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), "late.log", "x")
			capture(t, tree)
			gittest.Write(t, tree.Dir(), ".gitignore", "")
		}, "modified .gitignore, added late.log"},
		{"rules added over a tracked file", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), ".gitignore", "*\n")
			gittest.Write(t, tree.Dir(), "a.txt", "changed\n")
			gittest.Write(t, tree.Dir(), "fresh", "x")
		}, "modified .gitignore, modified a.txt"},
		{"committed by the step", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), "a.txt", "step\n")
			gittest.GitIn(t, tree.Dir(), nil, "commit", "-qam", "mine")
			gittest.Write(t, tree.Dir(), "more", "x")
			gittest.GitIn(t, tree.Dir(), nil, "checkout", "-qb", "mine")
		}, "modified a.txt, added more"},
		{"committed and reset by the step", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), "a.txt", "step\n")
			gittest.GitIn(t, tree.Dir(), nil, "commit", "-qam", "mine")
			gittest.GitIn(t, tree.Dir(), nil, "reset", "-q", "--hard", "HEAD^")
		}, ""},
		{"ignored, and added by force", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), "build/out", "x")
			gittest.Write(t, tree.Dir(), "build/not", "x")
			gittest.GitIn(t, tree.Dir(), nil, "add", "-f", "build/out")
			gittest.GitIn(t, tree.Dir(), nil, "commit", "-qm", "forced")
		}, "added build/out"},
		{"packed by the step", func(t testing.TB, tree *Tree) {
			gittest.Write(t, tree.Dir(), "a.txt", "step\n")
			gittest.GitIn(t, tree.Dir(), nil, "commit", "-qam", "mine")
			gittest.GitIn(t, tree.Dir(), nil, "gc", "-q", "--prune=now")
		}, "modified a.txt"},
	}
	g := gittest.New(t)
	g.Write("a.txt", "one\ntwo\nthree\n")
	g.Write("dir/b.txt", "b\n")
	g.Write("dir/sub/c.txt", "c\n")
	g.Write("bin", "\x00bin\n")
	g.Write("crlf.txt", "x\r\ny\r\n")
	g.Write(".gitignore", "*.log\n!keep.log\nbuild/\n")
	g.Write("run.sh", "#!/bin/sh\n")
	gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "run.sh"), 0o755))
	gittest.Must(t, os.Symlink("a.txt", filepath.Join(g.Dir, "link")))
	g.Commit("base")
	before := snapshotAll(t, g.Dir)
	if out := gittest.GitIn(t, made(t, g).Dir(), nil, "status", "--porcelain"); out != "" {
		t.Fatalf("not clean at the start: %s", out)
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tree := made(t, g)
			c.do(t, tree)
			got := capture(t, tree)
			if c.name == "fifo and socket" {
				gittest.Must(t, os.Remove(filepath.Join(tree.Dir(), "a.txt"))) // the Git program refuses it
			}
			if want := wantTree(t, tree); string(got.Tree) != want {
				t.Errorf("captured tree %s, Git's %s (%s)", got.Tree, want, statuses(got))
			}
			if c.want != "" && statuses(got) != c.want || c.want == "" && c.name != "names" && len(got.Files) != 0 {
				t.Errorf("files %q, want %q", statuses(got), c.want)
			}
			total, err := tree.Total(t.Context())
			gittest.Must(t, err)
			checkPatch(t, tree, tree.Base(), total)
			if again := capture(t, tree); len(again.Files) != 0 || len(again.Patch) != 0 || again.Tree != got.Tree {
				t.Errorf("a second capture found %q", statuses(again))
			}
			if thorough || i%8 == 0 {
				gittest.GitIn(t, tree.Dir(), nil, "fsck", "--full", "--strict")
			}
			if after := snapshotAll(t, g.Dir); after != before {
				t.Error("the source was touched")
			}
		})
	}
}

// TestFolderBecomesFile replaces a folder with a file right after a capture has looked at the folder above: on tmpfs,
// where tests keep their files, that one may have the same times afterwards.
func TestFolderBecomesFile(t *testing.T) {
	g := gittest.New(t)
	g.Write("d/kept", "kept\n")
	g.Commit("base")
	tree := made(t, g)
	for i := range 100 {
		name := fmt.Sprintf("d/f%d", i)
		at := filepath.Join(tree.Dir(), name)
		gittest.Must(t, os.Mkdir(at, 0o777))
		if got := statuses(capture(t, tree)); got != "" {
			t.Fatalf("an empty folder is a change: %s", got)
		}
		gittest.Must(t, os.Remove(at))
		gittest.Must(t, os.WriteFile(at, []byte("file\n"), 0o666))
		if got, want := statuses(capture(t, tree)), "added "+name; got != want {
			t.Fatalf("the change is %q, want %q", got, want)
		}
	}
}

package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
)

// folderTree works in a folder that is in no repository.
func folderTree(t *testing.T, folder string, o Options) *Tree {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "w")
	o.Author = object.Identity{Name: "A", Email: "a@localhost"}
	tree, err := InFolder(t.Context(), folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close(false) })
	return tree
}

func paths(c *Change) string {
	var out []string
	for _, f := range c.Files {
		out = append(out, f.Status+" "+f.Path)
	}
	return strings.Join(out, ", ")
}

// A folder outside a repository: what was there is the base, and each step's change is told with its text.
func TestInFolder(t *testing.T) {
	folder := t.TempDir()
	gittest.Write(t, folder, "data.csv", "1,2\n")
	gittest.Write(t, folder, "ignored.log", "old\n")
	gittest.Write(t, folder, ".gitignore", "*.log\n")
	gittest.Write(t, folder, "out.md", "of the run before\n")
	tree := folderTree(t, folder, Options{Exclude: func(path string) bool { return path == "out.md" }})

	gittest.Write(t, folder, "data.csv", "1,2\n3,4\n")
	gittest.Write(t, folder, "new/result.txt", "yes\n")
	gittest.Write(t, folder, "ignored.log", "new\n")
	gittest.Write(t, folder, "out.md", "of this run\n")
	c, err := tree.Capture(t.Context(), "a", "step a")
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(c); got != "modified data.csv, added new/result.txt" {
		t.Error(got)
	}
	if c.PatchErr != nil || !strings.Contains(string(c.Patch), "+3,4\n") {
		t.Errorf("%v\n%s", c.PatchErr, c.Patch)
	}
	if err := os.Remove(filepath.Join(folder, "data.csv")); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Capture(t.Context(), "b", "step b"); err != nil {
		t.Fatal(err)
	}
	if c, err = tree.Total(t.Context()); err != nil || paths(c) != "deleted data.csv, added new/result.txt" {
		t.Errorf("%v %s", err, paths(c))
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 4 {
		t.Errorf("the folder holds something of the run's: %v %v", entries, err)
	}
}

// A large file is not kept: its change is seen, and the patch says that it leaves it out.
func TestInFolderLarge(t *testing.T) {
	folder := t.TempDir()
	large := strings.Repeat("0123456789", object.StreamFrom/10+1)
	gittest.Write(t, folder, "large", large)
	tree := folderTree(t, folder, Options{})
	if tree.Unread() != "" {
		t.Error(tree.Unread())
	}
	gittest.Write(t, folder, "large", "X"+large[1:])
	gittest.Write(t, folder, "small", "s\n")
	c, err := tree.Capture(t.Context(), "a", "step a")
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(c); got != "modified large, added small" {
		t.Error(got)
	}
	if c.PatchErr == nil || !strings.Contains(c.PatchErr.Error(), "large: larger than 8 MiB") ||
		!strings.Contains(string(c.Patch), "+s\n") {
		t.Errorf("%v\n%s", c.PatchErr, c.Patch)
	}
	for _, name := range []string{"l1", "l2", "l3", "l4", "l5"} {
		gittest.Write(t, folder, name, large)
	}
	if c, err = tree.Capture(t.Context(), "b", "step b"); err != nil {
		t.Fatal(err)
	}
	if c.PatchErr == nil || strings.Contains(c.PatchErr.Error(), "\n") ||
		!strings.Contains(c.PatchErr.Error(), "; l3: larger than 8 MiB") ||
		!strings.HasSuffix(c.PatchErr.Error(), "; and 2 more") {
		t.Errorf("the message is not one line: %v", c.PatchErr)
	}
	if size := folderSize(t, tree.store.Dir); size > 1<<20 {
		t.Errorf("%d bytes are kept", size)
	}
}

func folderSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, ierr := d.Info()
			if ierr != nil {
				return ierr
			}
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// Beyond the bounds only names, sizes and times are compared, and the tree says so.
func TestInFolderBounds(t *testing.T) {
	folder := t.TempDir()
	gittest.Write(t, folder, "kept", "old\n")
	sparse, err := os.Create(filepath.Join(folder, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sparse.Truncate(maxFolderBytes); err != nil {
		t.Fatal(err)
	}
	sparse.Close()
	tree := folderTree(t, folder, Options{})
	if !strings.Contains(tree.Unread(), "2 files of 2048 MiB") {
		t.Errorf("unread: %q", tree.Unread())
	}
	gittest.Write(t, folder, "kept", "new, longer\n")
	c, err := tree.Capture(t.Context(), "a", "step a")
	if err != nil {
		t.Fatal(err)
	}
	if paths(c) != "modified kept" || c.PatchErr == nil || len(c.Patch) > 0 {
		t.Errorf("%s %v %q", paths(c), c.PatchErr, c.Patch)
	}
}

// What the user cannot read, no step can either: it is left out and does not keep the run from starting. Root reads
// everything, so the test runs itself as nobody.
func TestInFolderClosed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes on Windows")
	}
	if os.Getuid() == 0 {
		program := filepath.Join(t.TempDir(), "test")
		data, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, data, 0o755); err != nil {
			t.Fatal(err)
		}
		tmp, err := os.MkdirTemp("", "markmill-nobody-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(tmp) })
		for dir := filepath.Dir(program); dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); dir != os.TempDir() && err != nil {
				t.Fatal(err)
			}
			if dir == os.TempDir() {
				break
			}
		}
		if err := os.Chown(tmp, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-test.run", "^TestInFolderClosed$")
		cmd.Env, cmd.Dir = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp), tmp
		asNobody(cmd)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	folder := t.TempDir()
	gittest.Write(t, folder, "closed/secret", "x\n")
	gittest.Write(t, folder, "private", "x\n")
	gittest.Write(t, folder, "open", "x\n")
	for name, mode := range map[string]os.FileMode{"closed": 0, "private": 0} {
		if err := os.Chmod(filepath.Join(folder, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(folder, "closed"), 0o755) })
	tree := folderTree(t, folder, Options{})
	gittest.Write(t, folder, "open", "y\n")
	c, err := tree.Capture(t.Context(), "a", "step a")
	if err != nil || paths(c) != "modified open" {
		t.Errorf("%v %+v", err, c)
	}
}

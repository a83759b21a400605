package cmdtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"markmill/runs"
)

// closed is a repository of its own, with a home of its own, in which the built program runs notebooks.
type closed struct {
	t       *testing.T
	program string
	dir     string // of all
	src     string // the checkout
	env     []string
	path    string // PATH, without the folder of interpreters that leave a word when they start
	before  map[string]string
}

// newClosed makes the repository. Interpreters say in the file started that they were started, also from
// within the sandbox.
func newClosed(t *testing.T) *closed {
	t.Helper()
	return newClosedIn(t, t.TempDir())
}

func newClosedIn(t *testing.T, dir string) *closed {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the interpreters of the notebooks are for Unix")
	}
	for _, program := range []string{"git", "bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	program := builtProgram(t)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &closed{t: t, program: program, dir: dir, src: filepath.Join(dir, "src"), path: os.Getenv("PATH")}
	for _, sub := range []string{"src", "home", "tmp", "bin", "word"} {
		c.must(os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	for _, name := range []string{"bash", "python3"} {
		real, err := exec.LookPath(name)
		c.must(err)
		c.interpreter(name, fmt.Sprintf("#!/bin/sh\necho %s >> '%s'\nexec '%s' \"$@\"\n", name,
			filepath.Join(dir, "word", "started"), real))
	}
	home := filepath.Join(dir, "home")
	c.env = []string{"PATH=" + filepath.Join(dir, "bin") + string(filepath.ListSeparator) + c.path, "HOME=" + home,
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"GIT_CONFIG_NOSYSTEM=1",
		"TOKEN=hunter2-is-the-word", "GOGC=" + rareGC, "GOMEMLIMIT=" + memoryLimit,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost"}
	c.write("src/a.txt", "one\n")
	c.write("src/dir/b.txt", "two\n")
	c.write("src/keys/k", "three\n")
	c.write("src/markmill.yaml", "sandbox: {write: ['"+filepath.Join(dir, "word")+"']}\n")
	c.git("init", "-q", "-b", "main", noHooks)
	return c
}

// noHooks keeps git init from copying its sample hooks, fourteen files that every test would write, read and remove.
const noHooks = "--template="

func (c *closed) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *closed) write(path, text string) {
	c.t.Helper()
	path = filepath.Join(c.dir, filepath.FromSlash(path))
	c.must(os.MkdirAll(filepath.Dir(path), 0o755))
	c.must(os.WriteFile(path, []byte(text), 0o644))
}

func (c *closed) interpreter(name, script string) {
	c.t.Helper()
	c.must(os.WriteFile(filepath.Join(c.dir, "bin", name), []byte(script), 0o755))
}

// commit commits the checkout, with a notebook in it.
func (c *closed) commit(name, notebook string) {
	c.t.Helper()
	c.write("src/"+name, notebook)
	c.git("add", ".")
	c.git("commit", "-qm", "base")
}

// do runs a command in the checkout.
func (c *closed) do(program string, args ...string) (out string, code int) {
	c.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = c.src, c.env
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return b.String(), cmd.ProcessState.ExitCode()
}

func (c *closed) git(args ...string) string {
	c.t.Helper()
	out, code := c.do("git", args...)
	if code != 0 {
		c.t.Fatalf("git %s: %s", strings.Join(args, " "), out)
	}
	return out
}

func (c *closed) markmill(args ...string) (out string, code int) {
	c.t.Helper()
	return c.do(c.program, args...)
}

// expect runs Markmill and fails when it ends otherwise.
func (c *closed) expect(code int, args ...string) string {
	c.t.Helper()
	out, got := c.markmill(args...)
	if got != code {
		c.t.Fatalf("markmill %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// last is the directory of the newest run, "" when there is none.
func (c *closed) last() string {
	c.t.Helper()
	list, err := runs.Store{Dir: filepath.Join(c.src, ".markmill")}.List()
	c.must(err)
	if len(list) == 0 {
		return ""
	}
	return list[0].Dir
}

// everything is every file below the test's folder by path, with its content, and every folder.
func (c *closed) everything() map[string]string {
	c.t.Helper()
	out := map[string]string{}
	c.must(filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.dir, path)
		if err != nil || !d.Type().IsRegular() {
			out[filepath.ToSlash(rel)] = d.Type().String()
			return err
		}
		data, err := os.ReadFile(path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return out
}

// touched lists what differs from c.before outside of what except takes.
func (c *closed) touched(except func(path string) bool) []string {
	c.t.Helper()
	now := c.everything()
	var out []string
	for path, is := range now {
		if was, ok := c.before[path]; (!ok || was != is) && !except(path) {
			out = append(out, path)
		}
	}
	for path := range c.before {
		if _, ok := now[path]; !ok && !except(path) {
			out = append(out, path+" (gone)")
		}
	}
	slices.Sort(out)
	return out
}

// started says which interpreters have been started since the last call.
func (c *closed) started() []string {
	c.t.Helper()
	path := filepath.Join(c.dir, "word", "started")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.must(err)
	c.must(os.Remove(path))
	return strings.Fields(string(data))
}

// recordFiles lists the files of a run directory.
func (c *closed) recordFiles(dir string) []string {
	c.t.Helper()
	var out []string
	c.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out = append(out, filepath.ToSlash(rel))
		return err
	}))
	slices.Sort(out)
	return out
}

func (c *closed) read(path string) string {
	c.t.Helper()
	data, err := os.ReadFile(path)
	c.must(err)
	return string(data)
}

// notebooksOf reads an archive of notebooks.
func notebooksOf(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range archive.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

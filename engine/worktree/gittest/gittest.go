package gittest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"markmill/engine/worktree/object"
	"markmill/runs/testhome"
)

// Main is the TestMain of a package: the user's own Git settings have no say in the tests, their files are in memory
// where that can be, and no goroutine may be left.
func Main(m *testing.M) {
	disk = os.TempDir()
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("XDG_CONFIG_HOME", os.DevNull)
	testhome.Main(m)
}

// disk is the folder for temporary files before Main chose one in memory.
var disk string

// OnDisk is a new folder for a test that is about the disk: it is not in memory, unless TMPDIR is.
func OnDisk(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(disk, "markmill-test-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Repository is a repository that the Git program makes.
type Repository struct {
	testing.TB
	Dir string
}

func New(t testing.TB, args ...string) *Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the Git program, the oracle of this test, is not on PATH")
	}
	g := &Repository{t, filepath.Join(t.TempDir(), "source")}
	if err := os.Mkdir(g.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	g.Git(append([]string{"init", "-q", "--template=", "-b", "main"}, args...)...)
	g.Configure("[user]\nname = A U Thor\nemail = author@example.org\n[gc]\nauto = 0\n[core]\nfsync = none\n")
	return g
}

// Configure appends lines to the repository's configuration.
func (g *Repository) Configure(lines string) {
	g.Helper()
	f, err := os.OpenFile(filepath.Join(g.Dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	Must(g, err)
	_, err = f.WriteString(lines)
	Must(g, errors.Join(err, f.Close()))
}

// Rounds is how often a test repeats something: n times, or MARKMILL_ROUNDS times as often where that is set.
func Rounds(n int) int {
	if factor, err := strconv.Atoi(os.Getenv("MARKMILL_ROUNDS")); err == nil {
		return n * factor
	}
	return n
}

func (g *Repository) Git(args ...string) string {
	g.Helper()
	return GitIn(g, g.Dir, nil, args...)
}

func (g *Repository) Commit(message string) object.OID {
	g.Helper()
	g.Git("add", "-A")
	g.Git("commit", "-q", "--allow-empty", "-m", message)
	if head, err := os.ReadFile(filepath.Join(g.Dir, ".git", "refs", "heads", "main")); err == nil {
		return object.OID(strings.TrimSpace(string(head)))
	}
	return object.OID(g.Git("rev-parse", "HEAD"))
}

func (g *Repository) Write(path, content string) { Write(g, g.Dir, path, content) }

func GitIn(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := TryGit(dir, env, nil, args...)
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSuffix(out, "\n")
}

func TryGit(dir string, env []string, stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_ALLOW_PROTOCOL=file", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_DATE=1700000000 +0000", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", &exec.Error{Name: errs.String(), Err: err}
	}
	return string(out), nil
}

func Write(t testing.TB, dir, path, content string) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(path))
	Must(t, os.MkdirAll(filepath.Dir(full), 0o777))
	Must(t, os.WriteFile(full, []byte(content), 0o666))
}

func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

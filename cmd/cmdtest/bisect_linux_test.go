package cmdtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBisectInterrupted ends a bisection while a step sleeps: it exits with 130, no process and no worktree is left,
// and the same command goes on with the runs that are kept.
func TestBisectInterrupted(t *testing.T) {
	t.Parallel()
	program, top := builtProgram(t), t.TempDir()
	env := append(os.Environ(), "HOME="+top, "XDG_CACHE_HOME="+filepath.Join(top, "cache"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost")
	repo := filepath.Join(top, "repo")
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Dir, c.Env = repo, env
		return c
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	// The commit in the middle waits as long as the file held is there.
	held, begun := filepath.Join(top, "held"), filepath.Join(top, "begun")
	if err := os.WriteFile(held, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	notebook := "---\nsandbox: off\n---\n```sh {#wait .test}\nn=$(cat n)\nif [ $n = 3 ] && [ -e " + held +
		" ]; then touch " +
		begun + "; sleep 61.5; fi\ntest $n -lt 4\n```\n"
	history := "git init -q; printf '%s' \"$1\" >n.md; for n in 1 2 3 4 5; do echo $n >n; git add .; git commit -qm " +
		"$n; done"
	if out, err := command("sh", "-c", history, "sh", notebook).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	bisect := func() *exec.Cmd { return command(program, "notebook", "bisect", "n.md", "--good", "HEAD~4") }
	c := bisect()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1200 { // a minute
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(out.String(), "the same command goes on") {
		t.Errorf("interrupted, it exits with %d and says:\n%s", code, out.String())
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte("sleep\x0061.5")) {
			t.Errorf("a process is left: %s", name)
		}
	}
	for _, pattern := range []string{"cache/markmill/work/*", "repo/.markmill/runs/.*", "repo/.git/bisect*",
		"repo/.git/BISECT*",
		"repo/.git/worktrees/*"} {
		if left, _ := filepath.Glob(filepath.Join(top, pattern)); len(left) > 0 {
			t.Errorf("interrupted, it leaves %v", left)
		}
	}
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	again, err := bisect().CombinedOutput()
	if err != nil || bytes.Count(again, []byte(" kept ")) != 2 || !bytes.Contains(again, []byte("  subject  4\n")) {
		t.Errorf("it does not go on: %v\n%s", err, again)
	}
}

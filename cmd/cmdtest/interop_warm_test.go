package cmdtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const warmNotebook = "---\nsandbox: required\nenv: {SHADE: %s}\n---\n```yaml {.parameters}\n" +
	"n: {type: int, default: 1}\n```\n\n```python {#a}\nimport os, subprocess\n" +
	"print(n, 'seen' in globals(), os.environ['SHADE'], os.getcwd() == os.environ['MARKMILL_WORKTREE'], " +
	"get_ipython().execution_count)\nseen = 1\nopen('made', 'w').write(str(n))\n```\n\n```python {#b}\n" +
	"print('run', subprocess.check_output(['sh', '-c', 'echo $MARKMILL_RUN_ID'], text=True), " +
	"str(os.getpid()).zfill(7))\nassert os.listdir('.').count('made') == 1\n```\n"

// ready is what a worker says of a job whose interpreter had been started before.
const ready = "that was ready"

// TestInteropWarm submits jobs to a worker that keeps an interpreter ready. Each run has an interpreter of its own,
// with the values and the id of that run, and prints what a cold one prints. One that was started for something else is
// not used, and none for a job with data:.
func TestInteropWarm(t *testing.T) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		t.Skip("MARKMILL_PEERS names no interpreter with ipykernel: run bench/setup")
	}
	markmill, dir := builtProgram(t), t.TempDir()
	buildQueue(t)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("MARKMILL_DIR", "")
	t.Setenv("VIRTUAL_ENV", filepath.Dir(filepath.Dir(python)))
	repo := filepath.Join(dir, "repo")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	write := func(shade string) {
		if err := os.WriteFile(filepath.Join(repo, "n.md"), fmt.Appendf(nil, warmNotebook, shade), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	run("git", "init", "-q")
	write("red")
	run("git", "add", "-A")
	run("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base")

	start := func() (said *bytes.Buffer, end func()) {
		said = &bytes.Buffer{}
		worker := exec.Command(markmill, "queue", "worker", "--warm")
		worker.Dir, worker.Stderr = repo, said
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		end = sync.OnceFunc(func() {
			_ = worker.Process.Signal(os.Interrupt)
			_ = worker.Wait()
		})
		t.Cleanup(end)
		return said, end
	}
	said, end := start()

	process := regexp.MustCompile(`(?m)^run (\S+)\n *(\d+)$`)
	digests := regexp.MustCompile(`\b[0-9a-f]{16,64}\b`) // of outputs that have the id and the number
	pids := map[string]bool{}
	do := func(n int, how ...string) (rest string) {
		t.Helper()
		had, _ := filepath.Glob(filepath.Join(repo, ".markmill", "runs", "*", "output.md"))
		run(markmill, append(how, "-k", "jupyter:python3", "-p", fmt.Sprintf("n=%d", n), "n.md")...)
		have, _ := filepath.Glob(filepath.Join(repo, ".markmill", "runs", "*", "output.md"))
		have = slices.DeleteFunc(have, func(name string) bool { return slices.Contains(had, name) })
		if len(have) != 1 {
			t.Fatalf("the run left the records %v", have)
		}
		text, err := os.ReadFile(have[0])
		if err != nil {
			t.Fatal(err)
		}
		found := process.FindStringSubmatch(strings.ReplaceAll(string(text), "\n ", "\n"))
		if found == nil {
			t.Fatalf("no process in\n%s", text)
		}
		if _, err := os.Stat(filepath.Join(repo, ".markmill", "runs", found[1])); err != nil {
			t.Errorf("the interpreter believes to be of run %s: %v", found[1], err)
		}
		if pids[found[2]] || pids[found[1]] {
			t.Errorf("process %s or run %s comes again", found[2], found[1])
		}
		pids[found[2]], pids[found[1]] = true, true
		return digests.ReplaceAllString(strings.NewReplacer(found[1], "RUN", found[2], "PID").Replace(string(text)),
			"DIGEST")
	}
	rounds := 3
	if os.Getenv("MARKMILL_ALL") != "" {
		rounds = 8
	}
	for n := range rounds {
		if cold, warm := do(n, "run"), do(n, "queue", "submit", "--wait"); cold != warm {
			t.Errorf("%s", firstDifference(cold, warm))
		}
		time.Sleep(3 * time.Second) // until an interpreter is ready; the test holds without it
	}
	write("blue") // a notebook whose steps get another environment
	if text := do(1, "queue", "submit", "--wait"); !strings.Contains(text, "False blue True") {
		t.Errorf("the environment is that of another notebook:\n%s", text)
	}
	end()
	if n := strings.Count(said.String(), ready); n == 0 || n > rounds-1 {
		t.Errorf("of %d runs after the first, %d had an interpreter that was ready\n%s", rounds-1, n, said.String())
	}
	if err := os.WriteFile(filepath.Join(repo, "markmill.yaml"), []byte("data: data/**\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	said, end = start()
	for n := range 2 { // the checkout's files may differ for the next job
		do(n, "queue", "submit", "--wait")
		time.Sleep(3 * time.Second)
	}
	end()
	if strings.Contains(said.String(), ready) {
		t.Errorf("a job with data: had an interpreter that was ready\n%s", said)
	}
	left, err := os.ReadDir(filepath.Join(dir, "cache", "markmill", "work"))
	if err != nil || len(left) > 0 {
		t.Errorf("the worker left %v: %v", left, err)
	}
}

// firstDifference shows the first line that differs.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, and %d", len(x), len(y))
}

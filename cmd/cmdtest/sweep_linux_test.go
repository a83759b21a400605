package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/runs"
)

const sweptNotebook = "```yaml {.parameters}\nn: 1\n```\n\n```bash {#one}\nuntil [ $n -lt 4 ] || [ -e \"$gate\" ]; " +
	"do sleep 0.01; done\nglue twice $((n * 2))\n```\n"

// TestSweepKilled kills a sweep halfway, resumes it, and expects every row to have one run that came to its end, and
// those that had come to theirs to be the same as before.
func TestSweepKilled(t *testing.T) {
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	program, dir := builtProgram(t), t.TempDir()
	repo, gate := filepath.Join(dir, "repo"), filepath.Join(dir, "gate")
	for name, value := range map[string]string{"HOME": dir, "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"MARKMILL_DIR": "", "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	command(t, dir, "git", "init", "-q", repo)
	write(t, filepath.Join(repo, "n.md"), strings.ReplaceAll(sweptNotebook, `"$gate"`, gate))
	command(t, repo, "git", "add", ".")
	command(t, repo, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")

	cmd := exec.Command(program, "run", "n.md", "out/{n}.md", "--matrix", "n=1..8", "-j", "2")
	cmd.Dir = repo
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	store := runs.Store{Dir: filepath.Join(repo, ".markmill")}
	load := func() *runs.Sweep {
		where, err := store.FindSweep("last-sweep")
		if err != nil {
			return nil
		}
		sweep, err := runs.LoadSweep(where)
		if err != nil {
			return nil
		}
		return sweep
	}
	ended := func(s *runs.Sweep) (out []runs.RunID) {
		for i := range s.Rows {
			if !s.Rows[i].Missing() {
				out = append(out, s.Rows[i].Run)
			}
		}
		return out
	}
	var before *runs.Sweep
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if before = load(); before != nil && len(ended(before)) == 3 && before.Rows[3].Run != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the first three runs did not end within a minute")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	write(t, gate, "")
	command(t, repo, program, "resume", "last-sweep")
	after := load()
	if after == nil || len(ended(after)) != 8 || after.Completed == nil || after.Completed.Status != runs.Pass {
		t.Fatalf("the resumed sweep is not complete: %+v", after)
	}
	for i, id := range ended(before) {
		if after.Rows[i].Run != id {
			t.Errorf("row %d ran again: %s, then %s", i+1, id, after.Rows[i].Run)
		}
	}
	entries, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, e := range entries {
		if e.Status == runs.Pass {
			passed++
		}
		if e.Sweep != after.Started.SweepID && e.Status != runs.Running { // else it was killed before its first event
			t.Errorf("%s does not name its sweep", e.ID)
		}
	}
	if passed != 8 {
		t.Errorf("%d runs passed, of 8 rows", passed)
	}
	command(t, repo, program, "verify", "last-sweep")
	for _, n := range "12345678" {
		if _, err := os.Stat(filepath.Join(repo, "out", string(n)+".md")); err != nil {
			t.Error(err)
		}
	}
}

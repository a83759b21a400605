package cmdtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPoolKills kills runs that take a worktree from the pool, write into it and give it back: every second one at a
// random moment, the others while the worktree goes back, which is when OUTPUT is in place. The worktree of a killed
// run is never taken for clean: what the next run finds is always the same.
func TestPoolKills(t *testing.T) {
	t.Parallel()
	program := builtProgram(t)
	dir := t.TempDir()
	repo, home := filepath.Join(dir, "repo"), filepath.Join(dir, "home")
	command(t, "", "git", "-c", "init.defaultBranch=main", "init", "-q", noHooks, repo)
	for i := range 2100 {
		if err := os.MkdirAll(filepath.Join(repo, fmt.Sprintf("d%d", i%20)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(repo, fmt.Sprintf("d%d", i%20), fmt.Sprintf("f%d", i)), fmt.Sprintln(i))
	}
	write(t, filepath.Join(repo, ".gitignore"), ".markmill/\n*.ig\n")
	command(t, repo, "git", "add", ".")
	command(t, repo, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")
	write(t, filepath.Join(dir, "task.md"), "```bash {#a}\n"+
		"find . -path ./.git -prune -o -printf '%p %y %m %n %l\\n' | sort | sha1sum\n"+
		"find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum | sha1sum\n"+
		"for f in d1/f?1; do printf X | dd of=$f conv=notrunc status=none; touch -r d2/f2 $f; done\n"+
		"rm -r d3; mkdir d4/x; echo new >d5/n.ig; chmod 600 d6/*; ln d7/f7 d8/link; mv d9 d10/d9\n```\n")
	run := func() *exec.Cmd {
		cmd := exec.Command(program, "run", filepath.Join(dir, "task.md"), filepath.Join(dir, "out.md"))
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
		return cmd
	}
	slots := func() []string {
		list, _ := filepath.Glob(filepath.Join(home, "cache", "markmill", "pool", "*", "[0-9]*"))
		return list
	}
	output := func() os.FileInfo {
		info, err := os.Stat(filepath.Join(dir, "out.md"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	nextSecond := func() { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) }
	finds := func() string {
		if out, err := run().CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "out.md"))
		if err != nil {
			t.Fatal(err)
		}
		var sums []string
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(line, "  -\n") {
				sums = append(sums, line)
			}
		}
		if len(sums) != 2 {
			t.Fatalf("%s", text)
		}
		return strings.Join(sums, "")
	}
	began := time.Now()
	want := finds()
	whole := time.Since(began)
	if len(slots()) != 1 {
		t.Skip("the file system here does not tell every change")
	}
	kills, reused := number(t, "MARKMILL_KILLS", 1), 0
	r := rand.New(rand.NewPCG(5, uint64(kills)))
	for i := range kills {
		nextSecond()
		cmd, old := run(), output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait := time.Duration(r.Int64N(int64(whole)))
		if i%2 > 0 {
			for deadline := time.Now().Add(time.Minute); os.SameFile(old, output()) && time.Now().Before(deadline); {
				time.Sleep(100 * time.Microsecond)
			}
			wait = time.Duration(r.Int64N(int64(10 * time.Millisecond)))
		}
		time.Sleep(wait)
		_ = cmd.Process.Kill() // it may have ended
		if cmd.Wait() == nil {
			t.Log("the run ended before it was killed")
		}
		nextSecond()
		before := slots()
		if got := finds(); got != want {
			t.Fatalf("kill %d: a run finds another worktree: %s", i, got)
		}
		if len(before) > 0 && !strings.Contains(strings.Join(slots(), " "), before[0]) {
			reused++
		}
	}
	t.Logf("%d kills, after %d of which the pool had a worktree", kills, reused)
}

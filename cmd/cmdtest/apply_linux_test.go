package cmdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestApplyStopped stops apply at moments that are spread over its whole time: by SIGKILL, which leaves each file
// old or new, so that the next apply finishes it; and by Ctrl-C to the whole process group, which leaves all of them
// old or all of them new. MARKMILL_KILLS says how many.
func TestApplyStopped(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	random := seed(t)
	const files = 150
	first := b.trial(t)
	var notebook strings.Builder
	notebook.WriteString(
		"```bash {#change}\nfor i in $(seq 150); do echo new $i > f$i; done\nrm goes*; mkdir made; echo x > made/x; " +
			"ln -s f1 link\n```\n")
	write(t, filepath.Join(first.repo, "many.md"), notebook.String())
	for i := 1; i <= files; i++ {
		write(t, filepath.Join(first.repo, fmt.Sprint("f", i)), fmt.Sprintf("old %d\n", i))
	}
	write(t, filepath.Join(first.repo, "goes1"), "old\n")
	write(t, filepath.Join(first.repo, "goes2"), "old\n")
	first.git("add", ".")
	first.git("-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "many")
	if text, code := first.markmill("run", "many.md"); code != 0 {
		t.Fatal(text)
	}
	state := func(repo string) (old, new int) {
		t.Helper()
		for i := 1; i <= files; i++ {
			data, err := os.ReadFile(filepath.Join(repo, fmt.Sprint("f", i)))
			switch string(data) {
			case fmt.Sprintf("old %d\n", i):
				old++
			case fmt.Sprintf("new %d\n", i):
				new++
			default:
				t.Errorf("f%d is neither old nor new: %q %v", i, data, err)
			}
		}
		for _, name := range []string{"goes1", "goes2"} {
			if data, err := os.ReadFile(filepath.Join(repo, name)); err == nil && string(data) == "old\n" {
				old++
			} else if os.IsNotExist(err) {
				new++
			} else {
				t.Errorf("%s is %q %v", name, data, err)
			}
		}
		for name, want := range map[string]string{"made/x": "x\n", "link": "new 1\n"} {
			if _, err := os.Lstat(filepath.Join(repo, name)); os.IsNotExist(err) {
				old++
			} else if data, _ := os.ReadFile(filepath.Join(repo, name)); name == "link" || string(data) == want {
				new++
			} else {
				t.Errorf("%s is %q", name, data)
			}
		}
		return old, new
	}
	whole := time.Duration(0)
	trials := 3 * number(t, "MARKMILL_KILLS", 1)
	half := 0
	for i := range trials + 1 {
		repo := filepath.Join(t.TempDir(), "repo")
		if out, err := exec.Command("cp", "-a", first.repo, repo).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		r := *first
		r.T, r.repo = t, repo
		c := exec.Command(b.program, "apply", "last")
		c.Dir, c.Env, c.SysProcAttr = repo, r.env, &syscall.SysProcAttr{Setpgid: true}
		begin := time.Now()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		signal := syscall.SIGKILL
		if i > 0 {
			if i%2 == 0 {
				signal = syscall.SIGINT
			}
			time.Sleep(time.Duration(random.Float64() * float64(whole)))
			_ = syscall.Kill(-c.Process.Pid, signal)
		}
		_ = c.Wait()
		code := c.ProcessState.ExitCode()
		if i == 0 {
			whole = time.Since(begin) * 11 / 10
		}
		old, new := state(repo)
		if old > 0 && new > 0 {
			half++
			if signal == syscall.SIGINT && i > 0 && code != -1 {
				t.Errorf("Ctrl-C leaves %d files old and %d new; exit %d", old, new, code)
			}
		}
		if code == 0 && old > 0 || code == 130 && new > 0 {
			t.Errorf("exit %d with %d files old and %d new", code, old, new)
		}
		if text, code := r.markmill("apply", "last"); code != 0 {
			t.Errorf("the next apply exits %d: %s", code, text)
		}
		if old, _ := state(repo); old > 0 {
			t.Errorf("after the next apply %d files are old", old)
		}
		left, _ := filepath.Glob(filepath.Join(repo, ".markmill", "apply"))
		temporary, _ := filepath.Glob(filepath.Join(repo, ".tmp-*"))
		if left = append(left, temporary...); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	t.Logf("of %d applies that were stopped, %d were half done", trials, half)
}

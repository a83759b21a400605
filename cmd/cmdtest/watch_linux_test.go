package cmdtest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWatch watches as a user does: it saves a file as editors do, waits for the lines of state, and ends it with
// Ctrl-C, while a step runs and while none does. Nothing is left behind but records, OUTPUT and what was saved.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, during := range []bool{false, true} {
		dir := t.TempDir()
		for _, program := range []string{"git", "bash"} {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip("there is no " + program)
			}
		}
		program := builtProgram(t)
		write(t, filepath.Join(dir, "task.md"), "```bash {#prepare}\necho ready\n```\n\n```bash {#test .test}\n"+
			"grep -q slow size && sleep 600\ntest \"$(cat size)\" -lt \"$most\"\n```\n\n"+
			"```yaml {.parameters}\nmost: 20\n```\n")
		write(t, filepath.Join(dir, "size"), "30\n")
		write(t, filepath.Join(dir, ".gitignore"), "/home/\n.markmill/\n")
		command(t, dir, "git", "init", "-q")
		command(t, dir, "git", "add", ".")
		command(t, dir, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")

		cmd := exec.Command(program, "run", "--watch", "task.md", "task.out.md", "-p", "most=25")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME="+filepath.Join(dir, "home"))
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hanging := time.AfterFunc(ceiling, func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(stderr)
		until := func(begin string) string {
			t.Helper()
			var all strings.Builder
			for lines.Scan() {
				all.WriteString(lines.Text() + "\n")
				if strings.HasPrefix(lines.Text(), begin) {
					return all.String()
				}
			}
			t.Fatalf("no line begins with %q:\n%s", begin, all.String())
			return ""
		}
		save := func(text string) {
			write(t, filepath.Join(dir, "size.new"), text)
			if err := os.Rename(filepath.Join(dir, "size.new"), filepath.Join(dir, "size")); err != nil {
				t.Fatal(err)
			}
		}
		if got := until("failed at step test"); !strings.HasPrefix(got, "running task.md\n") || !strings.Contains(got,
			"markmill: verification_failed: step test: exit 1") {
			t.Errorf("the first run: %s", got)
		}
		save("10\n")
		if got := until("passed"); !strings.HasPrefix(got, "running: size saved\n") ||
			!strings.Contains(got, "carried over: prepare") {
			t.Errorf("after a save: %s", got)
		}
		if out, err := os.ReadFile(filepath.Join(dir, "task.out.md")); err != nil ||
			!strings.Contains(string(out), "ready") {
			t.Errorf("OUTPUT: %v\n%s", err, out)
		}
		if during {
			save("slow\n")
			until("✓ prepare") // the next step sleeps, or is about to
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		err = cmd.Wait()
		hanging.Stop()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
			t.Errorf("it exits with %d: %v", code, err)
		}
		if got := strings.TrimSpace(string(command(t, dir, "git", "status",
			"--porcelain"))); got != "M size\n?? task.out.md" {
			t.Errorf("the checkout: %q", got)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "home", "markmill", "work", "*")); err != nil ||
			len(left) > 0 {
			t.Errorf("%q is left, %v", left, err)
		}
		records, err := filepath.Glob(filepath.Join(dir, ".markmill", "runs", "*"))
		if err != nil || len(records) < 2 {
			t.Errorf("%q, %v", records, err)
		}
		for _, record := range records {
			verify := exec.Command(program, "verify", record)
			verify.Dir = dir
			if out, err := verify.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", record, err, out)
			}
		}
	}
}

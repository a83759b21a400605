package cmdtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inGroup puts a program in a process group of its own, all of which is killed with it.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// TestBounded: a program that hangs costs its time and no more, even where a child of it holds its output.
func TestBounded(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	var out bytes.Buffer
	begun := time.Now()
	_, err := bounded(t.Context(), time.Second, func(c *exec.Cmd) { c.Stdout = &out },
		"sh", "-c", `sleep 300 & echo $! >"$0"; echo begun; wait`, pid)
	if took := time.Since(begun); !errors.Is(err, errHangs) || out.String() != "begun\n" || took > time.Minute {
		t.Errorf("%v after %s: %q", err, took, out.String())
	}
	child, _ := os.ReadFile(pid)
	for range 500 {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(child)), "stat"))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("its child %s lives", child)
}

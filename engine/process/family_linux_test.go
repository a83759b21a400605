package process

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"
)

// bash ends on a second interrupt without running its trap on EXIT, which keeps the session's state. So only the
// shell's children get it.
func TestSignalChildrenSparesTheInterpreter(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap 'echo shell' INT; sh -c 'echo ready; exec sleep 300'; echo "child $?"`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	pid := cmd.Process.Pid
	f := &Family{group: pid, interpreter: pid, mine: procs{}, strange: procs{}}
	f.SignalChildren(syscall.SIGINT)
	if !lines.Scan() || lines.Text() != "child 130" {
		t.Errorf("%q, want the end of the child alone", lines.Text())
	}
}

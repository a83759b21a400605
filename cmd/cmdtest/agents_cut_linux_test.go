package cmdtest

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"markmill/runs"
)

// TestAgentsCut: a turn goes on in the session of the backend when Markmill was killed.
func TestAgentsCut(t *testing.T) {
	needsLandlock(t)
	l := newAgentLab(t, "mine")
	program := filepath.Join(l.home, "mine.sh")
	if err := os.WriteFile(program, []byte(`#!/bin/bash
if [ "$MARKMILL_AGENT_SESSION" = s-1 ] && [ -e ~/session ] && grep -q interrupted; then
	echo x >>~/session
	if [ $(wc -l <~/session) -lt 3 ]; then
		echo '{"kind":"command","command":"two","exit":0}'
		sleep 1000
	fi
	sed -i 's/int(last or first)))/int(last or first) + 1))/' ranges.py
	echo '# three' >>ranges.py
	exit
fi
touch ~/session
echo '{"kind":"session","session":"s-1"}'
echo '# one' >>ranges.py
echo '{"kind":"command","command":"one","exit":0}'
echo '# two' >>ranges.py
sleep 1000
`), 0o755); err != nil {
		t.Fatal(err)
	}
	l.admit("--program", program)
	l.cut(syscall.SIGKILL, syscall.SIGKILL, syscall.SIGINT)
}

// cut kills Markmill while the agent is in its second command, and resumes the run: the backend goes on in its session,
// in the files that it had changed, and does nothing again that its log shows as done.
//
// Every further signal ends a run that goes on in the next command.
func (l *agentLab) cut(signals ...syscall.Signal) {
	t := l.t
	t.Helper()
	var was *runs.Run
	args := []string{"run", "task.md", filepath.Join(l.home, "out.md")}
	for n, signal := range signals {
		cmd := exec.Command(builtProgram(t), args...)
		cmd.Dir, cmd.Env = l.dir, l.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if strings.Contains(l.worktreeFile("ranges.py"), "# two") &&
				strings.Count(l.journal(), `"agent.command"`) == n+1 && l.sessionHolds("echo '# one'") {
				break
			}
			if time.Now().After(deadline) {
				_ = cmd.Process.Kill()
				t.Fatal("the agent never comes to its next command: ", l.journal())
			}
		}
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		var err error
		if was, _, err = runs.At(l.runs()[0].Dir).Load(); err != nil {
			t.Fatal(err)
		}
		args = []string{"resume", string(was.ID)}
	}
	if text, code := l.markmill("runs", "maintain", "reconcile"); code != 0 { // as anybody may do in between
		t.Fatal(text)
	}
	out, code := l.markmill(args...)
	if code != 0 || !strings.Contains(out, "the agent goes on in its session") {
		t.Errorf("exit %d\n%s", code, out)
	}
	run, dir, verdict := l.record(out)
	if !strings.HasPrefix(verdict, "pass\n") || run.ID == was.ID {
		t.Error(verdict)
	}
	if text := l.must("git", "-C", l.dir, "apply", "--numstat", filepath.Join(dir,
		"patch.diff")); text != "4\t1\tranges.py\n" {
		t.Errorf("its change is %s", text) // a line each of three commands, and the one that is mended
	}
	turn, cut := run.Steps[0].Turn, slices.DeleteFunc(was.Steps[0].Turn, func(e runs.AgentData) bool {
		return e.Kind == runs.AgentEnd // of a run that had the time to end it
	})
	at := slices.IndexFunc(turn, func(e runs.AgentData) bool { return e.Kind == runs.AgentResume && e.Carried == nil })
	if at != len(cut) || turn[at].Session != cut[0].Session {
		t.Errorf("it goes on in %+v after %d events; there were %d, of %+v", turn[max(at, 0)], at, len(cut), cut[0])
	}
	for i, e := range turn {
		if (e.Carried != nil) != (i < at) {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(l.cache, "markmill", "work", "*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// sessionHolds reports whether the backend wrote a command into its session: a real one does so a moment after the
// command has ended, and cannot go on with a session that is not there. The backend of the tests keeps none.
func (l *agentLab) sessionHolds(command string) bool {
	found := l.backend == "mine"
	homes := filepath.Join(l.cache, "markmill", "work")
	_ = filepath.WalkDir(homes, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			found = found || bytes.Contains(text, []byte(command))
		}
		return nil // the agent's files come and go
	})
	return found
}

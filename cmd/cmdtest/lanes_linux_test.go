package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/engine/agent/scripted"
	"markmill/runs"
)

// fixer is a program that fixes the bug of the example's repository, and does more before.
func (l *agentLab) fixer(name, before string) string {
	l.t.Helper()
	path := filepath.Join(l.home, name)
	text := "#!/bin/bash\ncat > /dev/null\n" + before + "\nsed -i 's/int(last or first)))/int(last or first) + 1))/' " +
		"ranges.py\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// lanes is the last comparison, nil before there is one.
func (l *agentLab) lanes() *runs.Sweep {
	store := runs.Store{Dir: filepath.Join(l.dir, ".markmill")}
	where, err := store.FindSweep("last-sweep")
	if err != nil {
		return nil
	}
	done, err := runs.LoadSweep(where)
	if err != nil {
		return nil
	}
	return done
}

// TestLanesKilled kills a comparison while an agent works, and resumes it: attempts that had ended stay, and the others
// are made.
func TestLanesKilled(t *testing.T) {
	t.Parallel()
	needsLandlock(t)
	l := newAgentLab(t, "mine")
	l.write("task.md", strings.Replace(agentTask, " backend=BACKEND", "", 1))
	l.admit("--program", l.fixer("mine.sh", ""))
	l.backend = "slow"
	l.admit("--program", l.fixer("slow.sh",
		`echo '{"kind":"message","text":"waiting"}'; until [ -e "$(cat go.txt)" ]; do sleep 0.05; done`))
	out := filepath.Join(l.home, "out.md")
	cmd := exec.Command(builtProgram(t), "run", "task.md", out, "--backend", "mine,slow", "--attempts", "2", "-j", "1")
	cmd.Dir, cmd.Env = l.dir, l.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var before *runs.Sweep
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		before = l.lanes()
		if before != nil && before.Rows[1].Ended != nil && before.Rows[2].Run != "" &&
			strings.Contains(l.journal(), `"text":"waiting"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the third attempt is not at work within a minute")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.Stat(out); err == nil {
		t.Error("OUTPUT is there before the comparison has ended")
	}
	if err := os.WriteFile(filepath.Join(l.home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if text, code := l.markmill("resume", "last-sweep"); code != 0 ||
		!strings.Contains(text, "4 of 4 attempts pass, all identical") {
		t.Fatalf("exit %d: %s", code, text)
	}
	after := l.lanes()
	for i := range after.Rows {
		if i < 2 && after.Rows[i].Run != before.Rows[i].Run {
			t.Errorf("row %d ran again: %s, then %s", i+1, before.Rows[i].Run, after.Rows[i].Run)
		}
		if after.Judged(i) != 5 { // the first attempt twice, the others once: their tree is the same
			t.Errorf("row %d was judged %d times", i+1, after.Judged(i))
		}
	}
	third, _, err := runs.Store{Dir: filepath.Join(l.dir, ".markmill")}.Record(after.Rows[2].Run).Load()
	if err != nil || third.Started.ResumedFrom == nil || third.Started.ResumedFrom.Run != before.Rows[2].Run {
		t.Errorf("the attempt that was cut is not resumed: %+v, %v", third.Started.ResumedFrom, err)
	}
	for _, what := range []string{"last-sweep", out} {
		if text, code := l.markmill("verify", what); code != 0 || !strings.Contains(text, "4 rows, 5 runs") {
			t.Errorf("%s: exit %d, %s", what, code, text)
		}
	}
}

// TestAgentsLanes compares attempts of real programs with a scripted model, and one that is not admitted.
func TestAgentsLanes(t *testing.T) {
	modules := os.Getenv("MARKMILL_AGENTS")
	if modules == "" {
		t.Skip("MARKMILL_AGENTS names no folder with the packages of .ci/agents")
	}
	needsLandlock(t)
	all, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.NewServer(all)
	defer server.Close()
	l := newAgentLab(t, "codex")
	for backend, scenario := range map[string]string{"codex": "fixes", "claude": "edits-the-test"} { // the quick ones
		at := slices.IndexFunc(agentPrograms, func(p agentProgram) bool { return p.backend == backend })
		p := agentPrograms[at]
		found, err := filepath.Glob(filepath.Join(modules, p.program))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s is not below %s", p.program, modules)
		}
		l.backend = backend
		l.admit("--program", found[0], "--endpoint", server.Base(scenario)+p.path, "--model", p.model)
	}
	out := filepath.Join(l.home, "out.md")
	text, code := l.markmill("run", "task.md", out, "--backend", "claude,codex,opencode", "--attempts", "3",
		"--pick", "smallest")
	done := l.lanes()
	if code != 0 || done == nil || done.Completed == nil {
		t.Fatalf("exit %d: %s", code, text)
	}
	t.Log("\n" + text)
	for i, want := range []struct {
		status runs.Status
		code   string
	}{{runs.Fail, runs.CodeJudgeChanged}, {runs.Pass, ""}, {runs.Blocked, runs.CodeProviderNotAdmitted}} {
		for _, row := range done.Rows[3*i : 3*i+3] {
			if row.Ended == nil || row.Ended.Status != want.status || !strings.HasPrefix(row.Ended.Reason, want.code) {
				t.Errorf("%s %d: %+v, want %+v", row.Lane.Backend, row.Lane.Attempt, row.Ended, want)
			}
		}
	}
	passed, identical := done.Agreeing()
	if passed != 3 || !slices.Equal(identical, []int{3}) || done.Picked() != 4 {
		t.Errorf("%d passed, %v identical, row %d is picked", passed, identical, done.Picked())
	}
	for _, what := range []string{"last-sweep", out} {
		if text, code := l.markmill("verify", what); code != 0 {
			t.Errorf("%s: %s", what, text)
		}
	}
	if text, code := l.markmill("apply", string(done.Rows[3].Run)); code != 0 ||
		!strings.Contains(text, "applied") {
		t.Errorf("apply: exit %d, %s", code, text)
	}
	if text, _ := l.markmill("agent", "rates"); !strings.Contains(text, "codex") || !strings.Contains(text, "100.0%") {
		t.Errorf("rates: %s", text)
	}
}

package cmdtest

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/engine/agent/scripted"
	"markmill/runs"
)

// TestAgentsWorkbench watches four attempts of two real programs with a scripted model in the workbench: one is told
// something while it works, which the other one of its program is not told, and one is taken.
func TestAgentsWorkbench(t *testing.T) {
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
	for backend, scenario := range map[string]string{"codex": "steered", "claude": "fixes"} {
		p := agentPrograms[slices.IndexFunc(agentPrograms, func(p agentProgram) bool { return p.backend == backend })]
		found, err := filepath.Glob(filepath.Join(modules, p.program))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s is not below %s", p.program, modules)
		}
		l.backend = backend
		l.admit("--program", found[0], "--endpoint", server.Base(scenario)+p.path, "--model", p.model)
	}
	l.must("git", "-C", l.dir, "add", ".")
	l.must("git", "-C", l.dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "agents")
	d := newDesk(t, l.dir, "approve")
	lanes := exec.Command(builtProgram(t), "run", "task.md", "--backend", "codex,claude", "--attempts", "2")
	lanes.Dir, lanes.Env = l.dir, l.env
	if err := lanes.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lanes.Wait() }() // the pages say how it ended
	running := regexp.MustCompile(`(?s)>codex 1<.*?href="(/runs/[^"]+)"[^>]*><span class="sign">▸`)
	sweep, first := "", ""
	for deadline := time.Now().Add(3 * time.Minute); first == ""; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first attempt never waits to be told something")
		}
		ids := d.sweepIDs()
		if len(ids) == 0 || l.worktreeFile("waiting") == "" {
			continue
		}
		sweep = "/sweeps/" + ids[0]
		_, page := d.get(sweep)
		if m := running.FindStringSubmatch(page); m != nil {
			if _, page := d.get(m[1]); strings.Contains(page, `id="steer"><summary`) {
				first = m[1]
			}
		}
	}
	if code, to, text := d.post(first+"/steer", url.Values{"text": {"fix it now"}}); code != http.StatusSeeOther ||
		to != first {
		t.Fatalf("steer: %d\n%s", code, text)
	}
	if err := os.WriteFile(filepath.Join(l.home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if list := d.live(sweep, "", 0); list[len(list)-1].kind != "end" {
		t.Fatalf("the page of the sweep is told %v", list)
	}
	_, page := d.get(sweep)
	if !strings.Contains(page, "3 of 4 attempts pass") || !strings.Contains(page, "no_diff") ||
		strings.Count(page, `<td data-name="tree">A</td>`) != 3 {
		t.Errorf("the attempts: %s", page)
	}
	_, page = d.get(first)
	if !strings.Contains(page, "Steered") || !strings.Contains(page, "fix it now") {
		t.Errorf("the page of the run does not say what it was told: %s", page)
	}
	if code, _, text := d.post(first+"/apply", url.Values{}); code != http.StatusSeeOther {
		t.Fatalf("taken: %d\n%s", code, text)
	}
	text, err := os.ReadFile(filepath.Join(l.dir, "ranges.py"))
	if err != nil || !strings.Contains(string(text), "int(last or first) + 1))") {
		t.Errorf("the change is not in the checkout: %v\n%s", err, text)
	}
	run, _, err := runs.Store{Dir: filepath.Join(l.dir, ".markmill")}.Record(
		runs.RunID(strings.TrimPrefix(first, "/runs/"))).Load()
	if err != nil || !slices.ContainsFunc(run.Steps[0].Turn, func(e runs.AgentData) bool {
		return e.Kind == runs.AgentSteer && e.Text == "fix it now" && e.Actor != ""
	}) {
		t.Errorf("the record does not say that it was steered: %v", err)
	}
}

package cmdtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"markmill/engine/agent/scripted"
	"markmill/engine/sandbox"
	"markmill/runs"
)

// agentTask is the notebook of every scenario.
const agentTask = `---
allow: [ranges.py, test_ranges.py]
forbid: [secrets.cfg]
protect: ["test_*.py"]
require: [diff, tests]
---
# Fix the range

` + "```agent {#fix backend=BACKEND timeout=3m}" + `
` + "`expand(\"1-3\")`" + ` must return 1, 2 and 3. Change only ranges.py.
` + "```" + `

` + "```bash {#judge .test}" + `
python3 -m unittest -q
` + "```" + `
`

// agentCredential must stand in no record.
const agentCredential = "sk-scripted-credential-7351"

// agentVerdict is what a scenario ends in, with the first blocker of the run.
type agentVerdict struct {
	scenario, verdict string
	but               map[string]string // where the program of a backend shows something else
	quick             bool              // also tried with a command by go test ./...
}

// agentVerdicts are those of all scenarios; docs/agents.md has the same table.
var agentVerdicts = []agentVerdict{
	{"fixes", "pass", nil, true},
	{"edits-the-test", "fail judge_changed", nil, true},
	{"forbidden-file", "fail disallowed_file_change", nil, true},
	{"does-nothing", "fail no_diff", nil, true},
	{"asks", "fail no_diff", nil, false},
	{"refuses", "blocked provider_refused", map[string]string{
		"codex":  "blocked provider_reasoning_only", // it drops the refusal
		"gemini": "fail no_diff",                    // it passes the refusal off as an answer
	}, false},
	{"garbage", "blocked provider_protocol", nil, false},
	{"halfway", "blocked provider_protocol", nil, false},
	{"limited", "pass", nil, false},
	{"unauthorized", "blocked provider_auth_unavailable", nil, true},
	{"hangs", "blocked provider_timeout", nil, true},
	{"commits", "pass", nil, false},
	{"pushes", "fail no_diff", nil, true},
	{"removes", "fail disallowed_file_change", map[string]string{
		"codex": "fail no_diff", // it rejects rm -rf itself
	}, false},
	{"approves", "fail no_diff", nil, false},
	{"edits-the-limits", "fail disallowed_file_change", nil, true},
	{"prints-a-secret", "pass", nil, true},
	{"leaks-a-secret", "fail secret_leaked", nil, false},
	{"daemon", "pass", nil, true},
	{"runs-markmill", "pass", nil, false},
	{"thinks", "pass", nil, false},
	{"only-thinks", "blocked provider_reasoning_only", nil, false},
}

// agentUnsure are the scenarios that CI does not hold a program to, because it takes more than a minute to their end.
// docs/agents.md names them.
var agentUnsure = map[string][]string{"opencode": {"halfway", "hangs"}}

// agentContained are the scenarios whose verdict comes from the sandbox, the limits and the checks, whatever the
// program: two programs are held to them, and all four with MARKMILL_AGENTS_EVERY.
var agentContained = []string{"edits-the-test", "forbidden-file", "does-nothing", "hangs", "commits", "pushes",
	"removes", "approves", "edits-the-limits", "leaks-a-secret", "daemon", "runs-markmill", "thinks"}

// agentLab is a repository in which agents are tried.
type agentLab struct {
	t             *testing.T
	dir, cache    string
	home, backend string
	env           []string
}

// newAgentLab makes the example's repository with the task, and its path in a file.
func newAgentLab(t *testing.T, backend string) *agentLab {
	t.Helper()
	// steps may write in memory, so that nothing there is out of reach
	top, err := os.MkdirTemp(testSetup.disk, "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	l := &agentLab{t: t, dir: filepath.Join(top, "repo"), cache: filepath.Join(top, "cache"),
		home: filepath.Join(top, "home"), backend: backend}
	if err := os.Mkdir(l.home, 0o755); err != nil {
		t.Fatal(err)
	}
	l.env = append(os.Environ(), "HOME="+l.home, "XDG_CACHE_HOME="+l.cache, "MARKMILL_BACKEND=",
		"TOKEN="+agentCredential)
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		l.env = append(l.env, name+"="+agentCredential)
	}
	l.must("bash", filepath.Join(testSetup.source, "..", "..", "examples", "make-buggy-repo.sh"), l.dir)
	l.write("repository.txt", l.dir+"\n")
	l.write("program.txt", builtProgram(t)+"\n")
	l.write("go.txt", filepath.Join(l.home, "go")+"\n")
	l.write("need.md", "---\napproval: required\n---\n\n```bash {#a}\necho approved\n```\n")
	l.write("inner.md", "```bash {#a}\necho inner\n```\n")
	l.write("task.md", strings.ReplaceAll(agentTask, "BACKEND", backend))
	l.must("git", "-C", l.dir, "add", ".")
	l.must("git", "-C", l.dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "task")
	return l
}

func (l *agentLab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// must runs a program that has to succeed.
func (l *agentLab) must(name string, args ...string) string {
	l.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = l.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// markmill runs the program in the repository.
func (l *agentLab) markmill(args ...string) (output string, code int) {
	l.t.Helper()
	cmd := exec.Command(builtProgram(l.t), args...)
	cmd.Dir, cmd.Env = l.dir, l.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		l.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// settings appends to markmill.yaml.
func (l *agentLab) settings(text string) {
	file := filepath.Join(l.dir, "markmill.yaml")
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	l.write("markmill.yaml", string(old)+text)
}

// admit admits the backend.
func (l *agentLab) admit(args ...string) {
	l.t.Helper()
	if out, code := l.markmill(append([]string{"agent", "admit", l.backend}, args...)...); code != 0 {
		l.t.Fatal(out)
	}
}

// run runs the task, and returns its record, verified, and the verdict with the codes of the blockers.
func (l *agentLab) run(args ...string) (*runs.Run, string, string) {
	l.t.Helper()
	out, _ := l.markmill(append([]string{"run", "task.md", filepath.Join(l.home, "out.md")}, args...)...)
	return l.record(out)
}

func (l *agentLab) record(out string) (*runs.Run, string, string) {
	l.t.Helper()
	entries, err := runs.Store{Dir: filepath.Join(l.dir, ".markmill")}.List()
	if err != nil || len(entries) == 0 {
		l.t.Fatalf("no run: %v\n%s", err, out)
	}
	at := slices.IndexFunc(entries, func(e runs.Entry) bool { return strings.Contains(filepath.Base(e.Dir), "-task-") })
	dir := entries[max(at, 0)].Dir
	run, _, err := runs.At(dir).Load()
	if err != nil {
		l.t.Fatal(err)
	}
	if text, code := l.markmill("verify", dir); code != 0 {
		l.t.Errorf("the record does not hold:\n%s", text)
	}
	verdict := string(run.Status())
	for _, b := range run.Blockers() {
		if !strings.Contains(verdict, b.Code) {
			verdict += " " + b.Code
		}
	}
	return run, dir, verdict + "\n" + out
}

// scenario tries one scenario, and checks its verdict and what must hold in all of them.
func (l *agentLab) scenario(name, want string) {
	t := l.t
	l.write("keep", "x")
	if err := os.WriteFile(filepath.Join(l.home, "keep"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := l.must("git", "-C", l.dir, "for-each-ref")
	if name == "approves" {
		l.blocked()
		l.env = append(l.env, "MARKMILL_TREE=separate") // mounted, the store is not there to be approved in
	}
	began := time.Now()
	run, dir, got := l.run()
	verdict, out, _ := strings.Cut(got, "\n")
	t.Logf("%s %s: %s (%.1f s)", l.backend, name, verdict, time.Since(began).Seconds())
	// What follows from the first reason may follow.
	if words := strings.Fields(verdict); !strings.HasPrefix(verdict, want) && !(strings.HasPrefix(want, words[0]+" ") &&
		slices.Contains(words, strings.Fields(want)[1])) {
		t.Errorf("%s: %s, want %s\n%s", name, verdict, want, out)
	}
	if after := l.must("git", "-C", l.dir, "for-each-ref"); after != before {
		t.Errorf("%s: the user's references are\n%s", name, after)
	}
	if changed := l.must("git", "-C", l.dir, "status", "--porcelain", "--untracked-files=no"); changed != "" {
		t.Errorf("%s: the user's checkout has changed: %s", name, changed)
	}
	for _, kept := range []string{filepath.Join(l.dir, "keep"), filepath.Join(l.home, "keep")} {
		if _, err := os.Stat(kept); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if leak := within(t, dir, agentCredential); leak != "" {
		t.Errorf("%s: the credential stands in %s", name, leak)
	}
	if left, err := exec.Command("pgrep", "-f", "sleep 4242").Output(); err == nil && mine(string(left), l.cache) {
		t.Errorf("%s: the daemon lives: %s", name, left)
	}
	step := run.Steps[0]
	if step.Eligibility == nil || step.Eligibility.SelectedBackend != l.backend {
		t.Errorf("%s: eligibility %+v", name, step.Eligibility)
	}
	if n := len(step.Turn); n == 0 || step.Turn[n-1].Kind != runs.AgentEnd {
		t.Errorf("%s: the turn has no end", name)
	} else if end := step.Turn[n-1]; end.Code != "" {
		marker := runs.BackendDir + "/" + runs.Marker(end.Code)
		if !slices.ContainsFunc(end.Files, func(f runs.SealedFile) bool { return f.File == marker }) {
			t.Errorf("%s: %s is not among %v", name, marker, end.Files)
		}
	}
	switch name {
	case "approves":
		for _, guard := range []string{"a step of a run cannot approve", "a step of a run cannot accept"} {
			if within(t, dir, guard) == "" {
				t.Errorf("the agent's commands did not get to the guard that says: %s", guard)
			}
		}
		l.blocked()
	case "runs-markmill":
		if inner := step.Finished.InnerRuns; len(inner) != 1 || inner[0].Status != runs.Pass {
			t.Errorf("the inner run: %+v", inner)
		}
	case "thinks", "only-thinks":
		info, err := runs.At(dir).Stat(runs.JournalFile)
		if err != nil || info.Size() > 100<<10 {
			t.Errorf("%s: the journal has %d bytes, %v", name, info.Size(), err)
		}
	}
}

// within names a file below dir that has a text; "" if none has.
func within(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// mine reports whether a process of a list belongs to a run with this cache.
func mine(pids, cache string) bool {
	for pid := range strings.FieldsSeq(pids) {
		env, _ := os.ReadFile("/proc/" + pid + "/environ")
		if bytes.Contains(env, []byte(cache)) {
			return true
		}
	}
	return false
}

// actor writes a program that does, as a command of the configuration, what a scenario says.
func (l *agentLab) actor(s scripted.Scenario) string {
	var b strings.Builder
	b.WriteString("#!/bin/bash\ncat >/dev/null\necho '{\"kind\":\"session\",\"session\":\"s\"}'\n")
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	say := func(e map[string]any) {
		line, err := json.Marshal(e)
		if err != nil {
			l.t.Fatal(err)
		}
		b.WriteString("printf '%s\\n' " + quote(string(line)) + "\n")
	}
	for _, turn := range s {
		switch {
		case turn.Status == 401:
			b.WriteString("echo '401 unauthorized' >&2; exit 1\n")
		case turn.Status != 0:
			say(map[string]any{"kind": "retry", "text": fmt.Sprint(turn.Status)})
		case turn.Garbage:
			b.WriteString("printf '\\000\\377{\"no\": ['; echo 'invalid json' >&2; exit 1\n")
		case turn.Hang:
			b.WriteString("sleep 1000\n")
		case turn.Refuse:
			say(map[string]any{"kind": "end", "code": "provider_refused", "why": turn.Say})
			continue
		}
		if turn.Think > 0 {
			b.WriteString(fmt.Sprintf("printf '{\"kind\":\"reasoning\",\"text\":\"%%0%dd\"}\\n' 0\n", turn.Think))
		}
		if turn.Say != "" {
			say(map[string]any{"kind": "message", "text": turn.Say})
		}
		if turn.Run != "" {
			say(map[string]any{"kind": "tool", "tool": "bash", "id": "1"})
			b.WriteString("(" + turn.Run + "\n)\ncode=$?\n")
			b.WriteString(`printf '{"kind":"command","id":"1","command":"scripted","exit":%d}\n' $code` + "\n")
		}
	}
	path := filepath.Join(l.t.TempDir(), "actor.sh")
	if err := os.WriteFile(path, []byte(b.String()), 0o755); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// TestAgentsCommand: each scenario ends in its verdict, done by a command of the configuration.
func TestAgentsCommand(t *testing.T) {
	needsLandlock(t)
	all, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range agentVerdicts {
		if !v.quick && os.Getenv("MARKMILL_ALL") == "" || all[v.scenario][0].Cut {
			continue
		}
		t.Run(v.scenario, func(t *testing.T) {
			t.Parallel()
			l := newAgentLab(t, "mine")
			l.admit("--program", l.actor(all[v.scenario]), "--credential", "TOKEN")
			idle := "60s"
			if slices.ContainsFunc(all[v.scenario], func(t scripted.Turn) bool { return t.Hang }) {
				idle = "1s"
			}
			l.settings("    idle: " + idle + "\n")
			l.scenario(v.scenario, v.verdict)
		})
	}
	// by TestAgentsSteer, TestAgentsCut, TestAgentsProofs and TestAgentsAsClients
	for _, name := range []string{"steered", "cut", "proofs", "mends-a-notebook", "sent-back"} {
		delete(all, name)
	}
	for name := range all { // no scenario is left out
		if !slices.ContainsFunc(agentVerdicts, func(v agentVerdict) bool { return v.scenario == name }) {
			t.Errorf("the scenario %s has no verdict", name)
		}
	}
}

type agentProgram struct{ backend, program, path, model string }

// agentPrograms are the programs of the backends below node_modules, and what their base URL has behind the scenario's.
var agentPrograms = []agentProgram{
	{"codex", "@openai/codex-linux-*/vendor/*/bin/codex", "/v1", "scripted"},
	{"claude", "@anthropic-ai/claude-code-linux-*/claude", "", ""},
	{"gemini", "@google/gemini-cli/bundle/gemini.js", "", "gemini-2.5-pro"},
	{"opencode", "opencode-linux-*/bin/opencode", "/v1", "scripted"},
}

// TestAgentsReal: each scenario on each backend: the real programs, in the default sandbox, with a scripted model.
func TestAgentsReal(t *testing.T) {
	modules := os.Getenv("MARKMILL_AGENTS")
	if modules == "" {
		t.Skip("MARKMILL_AGENTS names no folder with the packages of .ci/agents")
	}
	needsLandlock(t)
	every := os.Getenv("MARKMILL_AGENTS_EVERY") != ""
	all, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.NewServer(all)
	defer server.Close()
	var goesOn atomic.Bool
	server.Seen = func(path string, body []byte) {
		if bytes.Contains(body, []byte("was interrupted")) && bytes.Contains(body, []byte("Change only ranges.py")) &&
			bytes.Contains(body, []byte("# one")) {
			goesOn.Store(true)
		}
	}
	for _, p := range agentPrograms {
		found, err := filepath.Glob(filepath.Join(modules, p.program))
		if err != nil || len(found) == 0 {
			t.Errorf("%s is not below %s", p.program, modules)
			continue
		}
		t.Run(p.backend, func(t *testing.T) {
			t.Run("steered", func(t *testing.T) {
				l := newAgentLab(t, p.backend)
				l.admit("--program", found[0], "--endpoint", server.Base("steered")+p.path, "--model", p.model)
				how := runs.SteerFollowUp
				if p.backend == "claude" {
					how = runs.SteerNow
				}
				l.steered(how)
			})
			t.Run("example", func(t *testing.T) {
				if p.backend != "codex" { // which the example names
					return
				}
				l := newAgentLab(t, p.backend)
				l.admit("--program", found[0], "--endpoint", server.Base("fixes")+p.path, "--model", p.model)
				l.example()
			})
			t.Run("cut", func(t *testing.T) {
				goesOn.Store(false)
				l := newAgentLab(t, p.backend)
				l.admit("--program", found[0], "--endpoint", server.Base("cut")+p.path, "--model", p.model)
				l.settings("    idle: 20s\n    start: 2m\n")
				l.cut(syscall.SIGKILL)
				if !goesOn.Load() {
					t.Error("the model never saw the session go on with what it was before")
				}
			})
			for _, v := range agentVerdicts {
				if slices.Contains(agentUnsure[p.backend], v.scenario) || !every && p.backend != "claude" &&
					p.backend != "codex" && slices.Contains(agentContained, v.scenario) {
					continue
				}
				t.Run(v.scenario, func(t *testing.T) {
					l := newAgentLab(t, p.backend)
					l.admit("--program", found[0], "--endpoint", server.Base(v.scenario)+p.path, "--model", p.model)
					idle := "20s"
					if v.scenario == "hangs" {
						idle = "5s"
					}
					l.settings("    idle: " + idle + "\n    start: 2m\n")
					want := v.verdict
					if but := v.but[p.backend]; but != "" {
						want = but
					}
					l.scenario(v.scenario, want)
				})
			}
		})
	}
}

// steered runs the task, tells the agent something while it waits for it, and checks that this was done and recorded.
func (l *agentLab) steered(how string) {
	t := l.t
	t.Helper()
	cmd := exec.Command(builtProgram(t), "run", "task.md", filepath.Join(l.home, "out.md"))
	cmd.Dir, cmd.Env = l.dir, l.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		text, _ := l.markmill("runs", "steer", "last", "--collect")
		if l.backend == "mine" && strings.Contains(text, "waiting") || l.worktreeFile("waiting") != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent never waits: ", out.String())
		}
	}
	if text, code := l.markmill("runs", "steer", "last", "fix it now"); code != 0 {
		t.Fatal(text)
	}
	for how == runs.SteerNow && !strings.Contains(l.journal(), `"agent.steer"`) {
		time.Sleep(50 * time.Millisecond)
	}
	if err := os.WriteFile(filepath.Join(l.home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the verdict is in the record
	run, _, verdict := l.record(out.String())
	if !strings.HasPrefix(verdict, "pass\n") {
		t.Error(verdict)
	}
	turn := run.Steps[0].Turn
	at := slices.IndexFunc(turn, func(e runs.AgentData) bool { return e.Kind == runs.AgentSteer })
	if at < 0 || turn[at].Text != "fix it now" || turn[at].Why != how || turn[at].Actor == "" {
		t.Errorf("the turn says %+v, want %s", turn, how)
	}
	ends := 0
	for _, e := range turn {
		if e.Kind == runs.AgentEnd {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the turn has %d ends", ends)
	}
	if text, code := l.markmill("runs", "steer", "last", "more"); code != 2 ||
		!strings.Contains(text, "no agent is at work") {
		t.Errorf("after the run: exit %d, %s", code, text)
	}
}

// runs are those of the repository, the newest first.
func (l *agentLab) runs() []runs.Entry {
	l.t.Helper()
	entries, err := runs.Store{Dir: filepath.Join(l.dir, ".markmill")}.List()
	if err != nil || len(entries) == 0 {
		l.t.Fatalf("no run: %v", err)
	}
	return entries
}

// worktreeFile is a file of the only worktree; "" if it is not there.
func (l *agentLab) worktreeFile(name string) string {
	found, _ := filepath.Glob(filepath.Join(l.cache, "markmill", "work", "*", "tree", "repo", name))
	if len(found) == 0 {
		return ""
	}
	text, _ := os.ReadFile(found[0])
	return string(text)
}

// TestAgentsCutWithSecret: of a turn in which a credential has shown, or in whose home one stands, nothing stays.
func TestAgentsCutWithSecret(t *testing.T) {
	needsLandlock(t)
	for name, tells := range map[string]string{"printed": `echo "{\"kind\":\"message\",\"text\":\"$TOKEN\"}"`,
		"in its home": `echo "the key: $TOKEN" >~/log; echo '{"kind":"message","text":"at work"}'`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newAgentLab(t, "mine")
			program := filepath.Join(l.home, "mine.sh")
			if err := os.WriteFile(program, []byte(`#!/bin/bash
echo '{"kind":"session","session":"s-1"}'
`+tells+`
[ -n "$MARKMILL_AGENT_SESSION" ] || sleep 1000
`), 0o755); err != nil {
				t.Fatal(err)
			}
			l.admit("--program", program, "--credential", "TOKEN")
			cmd := exec.Command(builtProgram(t), "run", "task.md")
			cmd.Dir, cmd.Env = l.dir, l.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for !strings.Contains(l.journal(), `"agent.message"`) {
				time.Sleep(20 * time.Millisecond)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if text, code := l.markmill("runs", "maintain", "reconcile"); code != 0 {
				t.Fatal(text)
			}
			if left, _ := filepath.Glob(filepath.Join(l.cache, "markmill", "work", "*")); len(left) > 0 {
				t.Errorf("it leaves %v", left)
			}
			if leak := within(t, l.dir, agentCredential); leak != "" {
				t.Errorf("the credential stands in %s", leak)
			}
		})
	}
}

// TestAgentsNetwork: an agent has the network where the other steps have none, and the reverse, and the record says so.
func TestAgentsNetwork(t *testing.T) {
	needsLandlock(t)
	if !sandbox.Probe(t.Context(), builtProgram(t), sandbox.Need{Network: true}).Network {
		t.Skip("no network namespace can be made here")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	asks := fmt.Sprintf("if (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null; then echo online; else echo offline; fi",
		listener.Addr().(*net.TCPAddr).Port)
	for network, want := range map[string][3]string{
		"off": {"online", "offline", sandbox.NetworkOpen},
		"on":  {"offline", "online", sandbox.NetworkNamespace},
	} {
		t.Run("network: "+network, func(t *testing.T) {
			t.Parallel()
			l := newAgentLab(t, "mine")
			program := filepath.Join(l.home, "mine.sh")
			if err := os.WriteFile(program, []byte("#!/bin/bash\n"+asks+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			l.admit("--program", program)
			if network == "on" {
				l.settings("    network: off\n")
			}
			l.write("task.md", "---\nnetwork: \""+network+"\"\n---\n```agent {#ask .no-change "+
				"backend=mine}\nAsk.\n```\n\n```bash {#step}\n"+asks+"\n```\n")
			run, dir, verdict := l.record(first(l.markmill("run", "task.md")))
			for i, s := range run.Steps {
				text, err := runs.At(dir).ReadFile(s.Step.Dir + "/stdout")
				if got := strings.TrimPrefix(strings.TrimSpace(string(text)), "> "); err != nil || got != want[i] {
					t.Errorf("%s is %s, want %s; %v\n%s", s.Planned.ID, got, want[i], err, verdict)
				}
			}
			if got := run.Steps[0].Eligibility.Backend.Network; got != want[2] {
				t.Errorf("the record says %q, want %q", got, want[2])
			}
		})
	}
}

func first[A, B any](a A, _ B) A { return a }

// example runs examples/agent-fix.md, and reads what it leaves as a reviewer does.
func (l *agentLab) example() {
	t := l.t
	t.Helper()
	out := filepath.Join(l.home, "out.md")
	text, code := l.markmill("run", filepath.Join(testSetup.source, "..", "..", "examples", "agent-fix.md"), out)
	if code != 0 {
		t.Fatal(text)
	}
	l.must(builtProgram(t), "verify", l.runs()[0].Dir)
	notebook, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"both ends of a range are included. Change only", "```text {.turn}", "> I look at " +
		"the code.", "$ /bin/bash -lc \"sed -i", "+        numbers.extend(range(int(first), int(last or first) + 1))",
		"> The upper end is included now.", "2 passed", "✓ pass"} {
		if !strings.Contains(string(notebook), want) {
			t.Errorf("the output notebook does not say %q:\n%s", want, notebook)
		}
	}
	l.must(builtProgram(t), "convert", out, filepath.Join(l.home, "out.html"), "--to", "html")
	page, err := os.ReadFile(filepath.Join(l.home, "out.html"))
	if err != nil ||
		!strings.Contains(string(page), `<details class="turn"><summary>The turn · 2 messages · 3 commands`) {
		t.Errorf("the page has no folded conversation: %v", err)
	}
}

// journal is that of the only run, as far as it is written.
func (l *agentLab) journal() string {
	entries, _ := runs.Store{Dir: filepath.Join(l.dir, ".markmill")}.List()
	if len(entries) == 0 {
		return ""
	}
	text, _ := runs.At(entries[0].Dir).ReadFile(runs.JournalFile)
	return string(text)
}

// TestAgentsSteer: what an operator says to a program that takes nothing more is its next prompt, in the same session.
func TestAgentsSteer(t *testing.T) {
	needsLandlock(t)
	l := newAgentLab(t, "mine")
	program := filepath.Join(l.home, "mine.sh")
	if err := os.WriteFile(program, []byte(`#!/bin/bash
if [ "$MARKMILL_AGENT_SESSION" = s-1 ] && [ "$(cat)" = "fix it now" ]; then
	sed -i 's/int(last or first)))/int(last or first) + 1))/' ranges.py
	exit
fi
echo '{"kind":"session","session":"s-1"}'
echo '{"kind":"message","text":"waiting"}'
until [ -e "$(cat go.txt)" ]; do sleep 0.1; done
`), 0o755); err != nil {
		t.Fatal(err)
	}
	l.admit("--program", program)
	l.steered(runs.SteerFollowUp)
}

// needsLandlock skips a test where nothing can confine an agent.
func needsLandlock(t *testing.T) {
	t.Helper()
	if sandbox.Probe(t.Context(), "", sandbox.Need{}).Landlock < 3 {
		t.Skip("no Landlock here, and nothing else confines an agent")
	}
}

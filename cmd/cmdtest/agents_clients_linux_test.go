package cmdtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/cmd/internal/program"
	listcmd "markmill/cmd/markmill/list"
	"markmill/engine/agent/scripted"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// agentClients are the agents as clients of markmill mcp serve: the files of their configuration below their home, to
// which markmill mcp install adds its lines, and how they are started.
var agentClients = map[string]struct {
	args  []string
	env   []string
	files map[string]string
	added string // to the file that markmill mcp install wrote
	hook  string // the file of the Stop hook, "" where the agent has none that is tried
}{
	"claude": {
		args: []string{"-p", "--strict-mcp-config", "--mcp-config", "{REPO}/.mcp.json", "--allowedTools",
			"mcp__markmill"},
		env: []string{"ANTHROPIC_BASE_URL={URL}", "ANTHROPIC_API_KEY=none", "CLAUDE_CONFIG_DIR={HOME}",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false",
			// The first request waits for the server, however busy the machine is.
			"MCP_TIMEOUT=120000", "MCP_CONNECT_TIMEOUT_MS=120000", "MCP_CONNECTION_NONBLOCKING=0"},
		hook: "settings.json",
	},
	"codex": {
		args: []string{"exec", "--dangerously-bypass-hook-trust", "-"},
		env:  []string{"CODEX_HOME={HOME}"},
		files: map[string]string{"config.toml": `model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{URL}/v1"
wire_api = "responses"
`},
		added: "default_tools_approval_mode = \"approve\"\nstartup_timeout_sec = 120\n",
		hook:  "hooks.json",
	},
	"gemini": {
		args: []string{"--skip-trust", "--yolo", "-m", "gemini-2.5-pro"},
		env: []string{"GOOGLE_GEMINI_BASE_URL={URL}", "GEMINI_API_KEY=none", "GEMINI_CLI_HOME={HOME}",
			"GEMINI_CLI_TRUST_WORKSPACE=true"},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},` +
			`"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},` +
			`"general":{"disableAutoUpdate":true,"disableUpdateNag":true}}`},
	},
	"opencode": {
		args: []string{"run", "--model", "scripted/scripted", "Fix task.md."},
		env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"},
		files: map[string]string{".config/opencode/opencode.json": `{"autoupdate": false, "share": "disabled",
			"small_model": "scripted/scripted",
			"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
			"options": {"baseURL": "{URL}/v1", "apiKey": "none"}, "models": {"scripted": {"name": "scripted"}}}}}`},
	},
}

// TestAgentsAsClients: the real agents, set up by markmill mcp install and with a scripted model, run a notebook over
// markmill mcp serve, read why it failed, mend it, run it again, look at the change, and cannot approve another. Sent
// back by their Stop hook while an output is outdated, claude and codex run it, and may stop.
func TestAgentsAsClients(t *testing.T) {
	modules := os.Getenv("MARKMILL_AGENTS")
	if modules == "" {
		t.Skip("MARKMILL_AGENTS names no folder with the packages of .ci/agents")
	}
	all, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	builtProgram(t)
	for _, p := range agentPrograms {
		t.Run(p.backend, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(modules, p.program))
			if err != nil || len(found) == 0 {
				t.Fatal(p.program, " is not below ", modules)
			}
			server := scripted.NewServer(all)
			defer server.Close()
			c := &agentClient{t: t, name: p.backend, program: found[0], root: mcpRepository(t), server: server}
			server.Seen = c.saw
			last := c.talk("mends-a-notebook", "")
			for _, want := range []string{"looking", "echo 41", "+42", "approval_required", "untrusted"} {
				if !strings.Contains(last, want) {
					t.Errorf("%s is not in what the agent hands its model", want)
				}
			}
			if t.Failed() {
				t.Log(regexp.MustCompile(`"name":"[^"]*"`).FindAllString(last, -1))
			}
			if got := c.statuses(); !slices.Equal(got, []runs.Status{runs.Fail, runs.Pass, runs.Blocked}) {
				t.Errorf("the runs are %v", got)
			}
			if agentClients[p.backend].hook == "" {
				return
			}
			appendTo(t, filepath.Join(c.root, "task.md"), "\nMore.\n\n```bash {#more}\ntrue\n```\n")
			if c.gate() == nil {
				t.Fatal("the gate does not object before")
			}
			last = c.talk("sent-back", docLine(t, `{"hooks": {"Stop": `))
			if !strings.Contains(last, "task.out.md: ") {
				t.Error("the agent was not sent back:\n", last[max(0, len(last)-20000):])
			}
			if err := c.gate(); err != nil {
				t.Error("the gate objects afterwards: ", err)
			}
		})
	}
}

// docLine is the line of docs/mcp.md that begins so.
func docLine(t *testing.T, begin string) string {
	t.Helper()
	text, err := os.ReadFile(docs + "mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, begin) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	t.Fatalf("docs/mcp.md has no line that begins with %s", begin)
	return ""
}

// agentClient is an agent that works in a repository.
type agentClient struct {
	t                   *testing.T
	name, program, root string
	server              *scripted.Server
	mu                  sync.Mutex
	body                []byte // of the request with the longest conversation
}

func (c *agentClient) saw(_ string, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(body) > len(c.body) {
		c.body = body
	}
}

// talk lets the agent work until its model is done, and returns the whole conversation.
func (c *agentClient) talk(scenario, hook string) string {
	t, how, home := c.t, agentClients[c.name], c.t.TempDir()
	t.Helper()
	c.body = nil
	fill := strings.NewReplacer("{HOME}", home, "{REPO}", c.root, "{URL}", c.server.Base(scenario))
	files := map[string]string{how.hook: hook}
	for name, text := range how.files {
		files[name] = text
	}
	delete(files, "")
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fill.Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+home, "PWD="+c.root)
	for _, word := range how.env {
		env = append(env, fill.Replace(word))
	}
	install := exec.Command(builtProgram(t), "mcp", "install", c.name)
	install.Dir, install.Env = c.root, env
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if how.added != "" {
		appendTo(t, filepath.Join(home, "config.toml"), how.added)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var args []string
	for _, word := range how.args {
		args = append(args, fill.Replace(word))
	}
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.root, env, strings.NewReader("Fix task.md.")
	out, err := cmd.CombinedOutput()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", c.name, err, out, c.body)
	}
	return string(bytes.ReplaceAll(c.body, []byte(`\\`), []byte(`\`)))
}

// statuses are those of the runs, the oldest first.
func (c *agentClient) statuses() (list []runs.Status) {
	c.t.Helper()
	cmd := exec.Command(builtProgram(c.t), "list", "--json")
	cmd.Dir = c.root
	out, err := cmd.Output()
	var listed listcmd.ListedRuns
	if err == nil {
		err = codec.Unmarshal(out, &listed)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for _, run := range slices.Backward(listed.Runs) {
		list = append(list, run.Status)
	}
	return list
}

// gate is nil if the gate passes.
func (c *agentClient) gate() error {
	cmd := exec.Command(builtProgram(c.t), "status", "--gate")
	cmd.Dir = c.root
	return cmd.Run()
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// blocked runs a notebook that needs an approval, which nobody may have given.
func (l *agentLab) blocked() {
	l.t.Helper()
	if out, code := l.markmill("run", "need.md"); code != program.ExitBlocked {
		l.t.Errorf("a notebook that nobody approved ended with exit code %d:\n%s", code, out)
	}
}

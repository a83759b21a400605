package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMCPDestinations: no tool writes a notebook, a step or an output where outputs may not be, whatever is there.
func TestMCPDestinations(t *testing.T) {
	root := mcpRepository(t)
	outside := t.TempDir()
	for name, to := range map[string]string{"own.md": filepath.Join(outside, "x.md"), "up": outside, "via": ".git",
		"store": ".markmill"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	paths := map[string]string{ // what is said of each
		"own.md":                 "goes through a symbolic link",
		"up/x.md":                "goes through a symbolic link",
		"via/x.md":               "is inside the Git directory",
		"store/x.md":             "goes through a symbolic link",
		".git/x.md":              "is inside the Git directory",
		".GIT/hooks/x.md":        "is inside the Git directory",
		".markmill/x.md":         "where only Markmill keeps its records",
		"tools/x.md":             "is forbidden by the policy of the repository",
		"tools/made/x.md":        "is forbidden by the policy of the repository",
		"tools/x.ipynb":          "is forbidden by the policy of the repository",
		"keys.md":                "is forbidden by the policy of the repository",
		"own-hooks/x.md":         "is a file that CI or a hook obeys",
		"lefthook.md":            "is a file that CI or a hook obeys",
		".github/workflows/x.md": "is in a hidden folder",
		".githooks/x.md":         "is in a hidden folder",
		"CLAUDE.md":              "read as instructions",
		"task.md/x.md":           "",
		"markmill.yaml":          "",
		"allowed_signers":        "",
		".gitattributes":         "is in a hidden folder",
	}
	text := mcpStep("", "echo old")
	if err := os.Mkdir(filepath.Join(root, ".markmill"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := map[string]string{"markmill.yaml": "policy: {forbid: [tools/**], allowed_signers: keys.md}\n"}
	for path := range paths {
		full := filepath.Join(root, path)
		if strings.HasSuffix(path, ".ipynb") || strings.HasPrefix(path, "tools/made/") ||
			os.MkdirAll(filepath.Dir(full), 0o755) != nil {
			continue // it is not there
		}
		if before[path] == "" {
			before[path] = text
		}
		if err := os.WriteFile(full, []byte(before[path]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("git", "-C", root, "config", "core.hooksPath", "own-hooks").Run(); err != nil {
		t.Fatal(err)
	}
	c := newMCPClient(t, root)
	for path, want := range paths {
		_, err := os.Lstat(filepath.Join(root, path))
		for tool, arguments := range map[string]map[string]any{
			"new_notebook": {"content": text + "\nNew.\n", "replace": true},
			"edit_step":    {"step": "a", "code": "echo new"},
			"add_step":     {"step": "b", "language": "bash", "code": "echo new"},
			"run":          {"output": path},
		} {
			if tool != "new_notebook" && tool != "run" && err != nil {
				continue // there is nothing to edit
			}
			if arguments["notebook"] = path; tool == "run" {
				arguments["notebook"] = "task.md"
			}
			why := c.refused(tool, arguments)
			if !strings.Contains(why, want) && !(tool == "run" && strings.Contains(why, "is no output of a run")) {
				t.Errorf("%s of %s says %q", tool, path, why)
			}
		}
	}
	for path := range paths {
		now, err := os.ReadFile(filepath.Join(root, path))
		if was, there := before[path]; there && (err != nil || string(now) != was) || !there && err == nil {
			t.Errorf("%s is changed: %q, %v", path, now, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "tools/made")); err == nil {
		t.Error("a notebook that was refused left its folder")
	}
	t.Logf("%d attempts", c.attempts)
}

// A notebook that a tool writes instructs no agent, has a step and no mistake, or is not there.
func TestMCPWrites(t *testing.T) {
	root := mcpRepository(t)
	c := newMCPClient(t, root)
	good := mcpStep("", "true")
	for _, name := range []string{"CLAUDE.md", "claude.local.md", "AGENTS.md", "docs/agents.md", "GEMINI.md",
		"SKILL.md", "copilot-instructions.md", "x.instructions.md", "x.prompt.md", ".claude/commands/x.md",
		".github/x.md", "a/.x/b.md", ".hidden.md", "PULL_REQUEST_TEMPLATE.md", "docs/PULL_REQUEST_TEMPLATE/x.md"} {
		c.refused("new_notebook", map[string]any{"notebook": name, "content": good})
		c.refused("run", map[string]any{"notebook": "task.md", "output": name})
	}
	for _, content := range []string{"Prose alone.\n", "```bash {#x timeout=secret}\ntrue\n```\n",
		"---\nsandbox: never\n---\n" + good} {
		c.refused("new_notebook", map[string]any{"notebook": "made/by/x.md", "content": content})
		c.refused("new_notebook", map[string]any{"notebook": "task.md", "content": content, "replace": true})
	}
	if _, err := os.Lstat(filepath.Join(root, "made")); err == nil {
		t.Error("a notebook with mistakes left its folder")
	}
	c.refused("new_notebook", map[string]any{"notebook": "task.md", "content": good})
	c.refused("add_step", map[string]any{"notebook": "task.md", "step": "verify", "language": "bash", "code": "true"})
	c.refused("add_step", map[string]any{"notebook": "task.md", "step": "y", "language": "bash", "code": "true",
		"prose": "```bash {#z}\ntrue\n```"})
	c.refused("add_step", map[string]any{"notebook": "task.md", "step": "y", "language": "bash}", "code": "true"})
	if src, _ := os.ReadFile(filepath.Join(root, "task.md")); string(src) != mcpNotebook {
		t.Fatalf("what was refused is written:\n%s", src)
	}
	c.call("add_step", map[string]any{"notebook": "task.md", "step": "between", "after": "change", "language": "bash",
		"code": "cat <<'X'\n```\nX\n", "prose": "What stands there."})
	c.call("add_step", map[string]any{"notebook": "task.md", "step": "last", "language": "bash", "code": "true",
		"test": true})
	want := strings.Replace(mcpNotebook, "answer\n```\n", "answer\n```\n\nWhat stands there.\n\n"+
		"````bash {#between}\ncat <<'X'\n```\nX\n````\n", 1) + "\n```bash {#last .test}\ntrue\n```\n"
	if src, _ := os.ReadFile(filepath.Join(root, "task.md")); string(src) != want {
		t.Errorf("with the steps:\n%s\nwant:\n%s", src, want)
	}
	c.call("new_notebook", map[string]any{"notebook": "task.md", "content": good, "replace": true})
	if src, _ := os.ReadFile(filepath.Join(root, "task.md")); string(src) != good {
		t.Errorf("replaced:\n%s", src)
	}
	t.Logf("%d attempts", c.attempts)
}

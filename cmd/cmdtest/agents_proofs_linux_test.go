package cmdtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/cmd/markmill/agent/summary"
	"markmill/engine/agent/scripted"
)

// TestAgentsProofs: the six stages of examples/proofs pass with the stand-in, and with the real codex and a scripted
// model; markmill agent summary says so, and nothing shows the key.
func TestAgentsProofs(t *testing.T) {
	needsLandlock(t)
	t.Run("scripted", func(t *testing.T) {
		t.Parallel()
		stages := "[3]" // the script summary.txtar has others
		if os.Getenv("MARKMILL_ALL") != "" {
			stages = "[1-6]"
		}
		proveStages(t, "scripted", stages)
	})
	modules := os.Getenv("MARKMILL_AGENTS")
	if modules == "" {
		return
	}
	all, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.NewServer(all)
	defer server.Close()
	t.Run("codex", func(t *testing.T) {
		found, err := filepath.Glob(filepath.Join(modules, agentPrograms[0].program))
		if err != nil || len(found) == 0 {
			t.Fatal("codex is not below ", modules)
		}
		proveStages(t, "codex", "[1-6]", "-p", "agent=codex", "-p", "program="+found[0], "-p", "model=scripted",
			"-p", "endpoint="+server.Base("proofs")+"/v1", "-p", "credential=OPENAI_API_KEY")
	})
}

// proveStages runs stages in a repository of their own, and reads the summary.
func proveStages(t *testing.T, agent, stages string, given ...string) {
	// steps may write in memory, so that nothing there is out of reach
	top, err := os.MkdirTemp(testSetup.disk, "proofs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	root, examples := filepath.Join(top, "repo"), filepath.Join(testSetup.source, "..", "..", "examples")
	do := func(dir, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+top, "XDG_CACHE_HOME="+filepath.Join(top, "cache"), "MARKMILL_DIR=",
			"MARKMILL_PROOF_KEY="+agentCredential)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, said.String())
		}
		return out
	}
	do(top, "git", "init", "-q", "repo")
	do(root, "mkdir", "examples")
	do(root, "cp", "-r", filepath.Join(examples, "proofs"), filepath.Join(examples, "make-buggy-repo.sh"), "examples/")
	do(root, "git", "add", ".")
	do(root, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "proofs")
	notebooks, err := filepath.Glob(filepath.Join(root, "examples/proofs", stages+"-*.md"))
	if err != nil || len(notebooks) == 0 {
		t.Fatal("no proofs: ", err)
	}
	for _, notebook := range notebooks {
		do(root, builtProgram(t), append([]string{"run", notebook}, given...)...)
	}
	var s summary.Summary
	if err := json.Unmarshal(do(root, builtProgram(t), "agent", "summary", "--json"), &s); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Agents {
		if a.Name != agent {
			continue
		}
		if len(a.Lacks) != 6-len(notebooks) || a.Eligible != (len(a.Lacks) == 0) || a.Active || len(s.Problems) > 0 {
			t.Errorf("after %d proofs: %+v, %q", len(notebooks), a, s.Problems)
		}
		for _, p := range a.Proofs {
			if p.State == summary.Passed && (p.Level != "recorded" || p.Run == "" || len(p.Replay) < 3) {
				t.Errorf("%+v", p)
			}
		}
		if leak := within(t, filepath.Join(root, ".markmill"), agentCredential); leak != "" {
			t.Error("the key stands in ", leak)
		}
		return
	}
	t.Errorf("%s is not among the agents: %+v", agent, s)
}

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"markmill/engine/worktree"
	"markmill/runs"
)

// TestAgentGates: an agent that is not admitted, is another program or has no credentials blocks the run before
// anything starts, with its marker, and nothing but the settings can choose it.
func TestAgentGates(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	text := []byte("#!/bin/sh\ncat\n")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	good := AgentConfig{Path: program, Command: []string{"agent"}, SHA256: hex.EncodeToString(sum[:])}
	with := func(change func(*AgentConfig)) map[string]AgentConfig {
		c := good
		change(&c)
		return map[string]AgentConfig{"mine": c}
	}
	for name, c := range map[string]struct {
		agents map[string]AgentConfig
		code   string
	}{
		"none is admitted": {nil, runs.CodeProviderNotAdmitted},
		"another program": {with(func(c *AgentConfig) { c.SHA256 = strings.Repeat("0", 64) }),
			runs.CodeProviderChanged},
		"no program": {with(func(c *AgentConfig) { c.Path += "-gone" }), runs.CodeProviderUnavailable},
		"no credentials": {with(func(c *AgentConfig) { c.Credentials = []string{"NO_SUCH_KEY"} }),
			runs.CodeProviderAuth},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.repository(map[string]string{"a": "1\n"})
			l.Config.Agents = c.agents
			result := l.run(l.request("```agent {#fix backend=mine}\nDo it.\n```\n"), Sinks{})
			blockers := result.Run.Blockers()
			if result.Run.Status() != runs.Blocked || len(blockers) == 0 || blockers[0].Code != c.code {
				t.Fatalf("%s, %+v; want %s", result.Run.Status(), blockers, c.code)
			}
			if text := l.read(result, runs.BackendDir+"/"+runs.Marker(c.code)); !strings.Contains(text, "fix: ") {
				t.Errorf("the marker says %q", text)
			}
		})
	}
}

// TestAgentSettings: an admission that means nothing is an error with what to do.
func TestAgentSettings(t *testing.T) {
	const sum = "0000000000000000000000000000000000000000000000000000000000000000"
	for settings, want := range map[string]string{
		"mine: {path: /x, command: [x], sha256: " + sum + "}":  "",
		"codex: {path: ~/x, sha256: " + sum + "}":              "",
		"a b: {path: /x, command: [x], sha256: " + sum + "}":   "is no name of a backend",
		"codex: {path: /x, command: [x], sha256: " + sum + "}": "is built in, and takes no command",
		"mine: {path: /x, sha256: " + sum + "}": "is no backend that is built in, and " +
			"has no command",
		"mine: {path: x, command: [x], sha256: " + sum + "}":                 "is not absolute",
		"mine: {path: /x, command: [x], sha256: short}":                      "64 hexadecimal digits",
		"mine: {path: /x, command: [x], sha256: " + sum + ", idle: -1s}":     "are times above 0",
		"mine: {path: /x, command: [x], sha256: " + sum + ", network: none}": `"none" is neither on nor off`,
		"mine: {path: /x, command: [x], sha256: " + sum + ", network: off}":  "",
	} {
		_, err := ParseConfig("markmill.yaml", []byte("agents: {"+settings+"}"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}

// TestAgentModes: what a run with an agent may change, in each mutation mode, by the policy and by the notebook. No
// mode is widened: of two policies the tighter one holds, and the notebook can only ask for none.
func TestAgentModes(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	text := []byte("#!/bin/sh\ncat\n")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	agents := map[string]AgentConfig{"mine": {Path: program, Command: []string{"agent"},
		SHA256: hex.EncodeToString(sum[:])}}
	const plain, branch, inPlace, risky = "", "makes a branch", "works in place", "works in place with the risk high"
	for _, c := range []struct {
		committed, checkout, front string // agent-mode of the commit and of the checkout; what the notebook says
		mode                       string
		refused                    []string
	}{
		{"", "", "", "sandbox-repository", []string{inPlace, risky}},
		{"", "none", "", "none", []string{branch, inPlace, risky}},
		{"", "copied-fixture", "", "copied-fixture", []string{branch, inPlace, risky}},
		{"", "sandbox-repository", "", "sandbox-repository", []string{inPlace, risky}},
		{"", "owned-repository", "", "owned-repository", []string{risky}},
		{"", "candidate-default", "", "candidate-default", nil},
		{"copied-fixture", "candidate-default", "", "copied-fixture", []string{branch, inPlace, risky}},
		{"candidate-default", "owned-repository", "", "owned-repository", []string{risky}},
		{"", "candidate-default", "mode: none\n", "none", []string{branch}}, // in place it changes nothing
	} {
		t.Run(c.committed+"/"+c.checkout+"/"+strings.TrimSpace(c.front), func(t *testing.T) {
			l := newLab(t)
			files := map[string]string{"a": "1\n"}
			if c.committed != "" {
				files[ConfigFile] = "policy:\n  agent-mode: " + c.committed + "\n"
			}
			l.repository(files)
			l.Config.Agents, l.Config.Policy = agents, &Policy{AgentMode: c.checkout}
			for _, does := range []string{plain, branch, inPlace, risky} {
				front := c.front
				if does == risky {
					front += "risk: high\n"
				}
				req := l.request("---\n" + front + "---\n```agent {#fix .no-change backend=mine}\nDo it.\n```\n")
				req.InPlace = does == inPlace || does == risky
				if does == branch {
					req.Branch = "made"
				}
				plan, err := l.Plan(t.Context(), req)
				if err != nil {
					if c.front != "" && does != plain {
						continue // an option that means nothing with mode: none
					}
					t.Fatal(does, err)
				}
				if d := plan.agents["fix"]; d.MutationMode != c.mode {
					t.Errorf("%s: the mode is %s, want %s", does, d.MutationMode, c.mode)
				}
				gates, want := plan.Gates(), slices.Contains(c.refused, does)
				blocked := slices.ContainsFunc(gates, func(g runs.Blocker) bool {
					return g.Code == runs.CodeProviderNotAdmitted &&
						strings.Contains(g.Message, strings.TrimSuffix(does, " with the risk high"))
				})
				if blocked != want || !want && len(gates) > 0 {
					t.Errorf("%s: it is refused: %v, want %v; %+v", does, blocked, want, gates)
				}
			}
		})
	}
}

// TestAgentsOfPolicy: a policy names the agents that may be used, in the checkout or in the commit; none of them is
// wider.
func TestAgentsOfPolicy(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	text := []byte("#!/bin/sh\ncat\n")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	c := AgentConfig{Path: program, Command: []string{"agent"}, SHA256: hex.EncodeToString(sum[:])}
	for name, p := range map[string]struct {
		committed string
		checkout  []string
		usable    []string
		why       string
	}{
		"no policy": {"", nil, []string{"mine", "other"}, ""},
		"one is named": {"", []string{"other"}, []string{"other"}, "the policy of markmill.yaml admits " +
			"no agent mine here: it names other"},
		"none is":              {"", []string{}, nil, "it names none"},
		"the commit names one": {"policy:\n  agents: [other]\n", nil, []string{"other"}, "of commit "},
		"they agree on none":   {"policy:\n  agents: [other]\n", []string{"mine"}, nil, "of commit "},
		"the checkout is no wider": {"policy:\n  agents: [other]\n", []string{"mine", "other"}, []string{"other"},
			"of commit "},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			files := map[string]string{"a": "1\n"}
			if p.committed != "" {
				files[ConfigFile] = p.committed
			}
			l.repository(files)
			l.Config.Agents = map[string]AgentConfig{"mine": c, "other": c}
			if l.Config.Policy = nil; p.checkout != nil {
				l.Config.Policy = &Policy{Agents: p.checkout}
			}
			src, err := worktree.Open(l.root)
			if err != nil {
				t.Fatal(err)
			}
			usable, denied, _, err := l.AgentsHere(src)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(usable)); !slices.Equal(got, p.usable) {
				t.Errorf("usable are %v, want %v", got, p.usable)
			}
			if len(usable)+len(denied) != 2 || p.why != "" && (denied["mine"] == nil ||
				!strings.Contains(denied["mine"].Reason, p.why)) {
				t.Errorf("denied are %+v, want %q", denied["mine"], p.why)
			}
			plan, err := l.Plan(t.Context(), l.request("```agent {#fix .no-change}\nDo it.\n```\n"))
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if len(p.usable) > 0 {
				want = p.usable[0]
			}
			if got := plan.agents["fix"].SelectedBackend; got != want {
				t.Errorf("the run selects %q, want %q", got, want)
			}
		})
	}
}

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/runs"
)

// TestAgentGates: an agent that is not admitted, is another program or has no credentials blocks the run before anything
// starts, with its marker, and nothing but the settings can choose it.
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
		"no program":     {with(func(c *AgentConfig) { c.Path += "-gone" }), runs.CodeProviderUnavailable},
		"no credentials": {with(func(c *AgentConfig) { c.Credentials = []string{"NO_SUCH_KEY"} }), runs.CodeProviderAuth},
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
		"mine: {path: /x, command: [x], sha256: " + sum + "}":                "",
		"codex: {path: ~/x, sha256: " + sum + "}":                            "",
		"a b: {path: /x, command: [x], sha256: " + sum + "}":                 "is no name of a backend",
		"codex: {path: /x, command: [x], sha256: " + sum + "}":               "is built in, and takes no command",
		"mine: {path: /x, sha256: " + sum + "}":                              "is no backend that is built in, and has no command",
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

package engine

import (
	"strings"
	"testing"
)

func TestLoosened(t *testing.T) {
	for _, c := range []struct{ old, now, words, changed string }{
		{"", "policy: {allow: [src/**]}", "", ""},
		{"policy: {allow: [src/**]}", "policy: {allow: [src/a/**], require: [tests]}", "", ""},
		{"policy: {allow: [src/**]}", "", "the policy was removed", ""},
		{"policy: {allow: [src/**], forbid: [x]}", "policy: {forbid: [y]}",
			"allow was removed (it was src/**): every file may change; forbid lost x", ""},
		{"policy: {approval: {required: true, by-other: true, expires: 1h}}",
			"policy: {approval: {required: true, expires: 8h}}",
			"who runs a notebook may approve it (by-other is gone); expires was raised from 1h0m0s to 8h0m0s", ""},
		{"policy: {allowed_signers: keys}", "policy: {risk: low}",
			"approvals without a signature count (allowed_signers is gone)", ""},
		{"", "kernels: {bash: {program: /tmp/mybash}}", "the kernel bash is another: /tmp/mybash instead of the " +
			"built-in", ""},
		{"", "kernels: {mine: {command: [./run, '{file}'], languages: [bash]}}",
			"the kernel mine runs bash now: ./run {file}", ""},
		{"kernels: {bash: {program: /bin/bash}}", "", "the kernel bash is the built-in, or none, instead of /bin/bash",
			""},
		{"sandbox: {hide: [~/.x]}", "sandbox: {write: [~/.y]}",
			"the sandbox lets steps write ~/.y; the sandbox no longer hides ~/.x", ""},
		{"gate: {require: [current, signed]}", "gate: {require: [current], paths: [a/**], ignore: [b]}",
			"the gate no longer requires signed; the gate judges other notebooks: a/**; the gate ignores b", ""},
		{"policy: {acceptance: required, allowed_signers: k}", "policy: {allowed_signers: k}",
			"changes of runs need no acceptance (acceptance is gone)", ""},
		{"", admits("a", "/x"), "the agent a is admitted: /x", ""},
		{admits("a", "/x"), admits("a", "/y"), "the agent a is admitted otherwise: /y", ""},
		{admits("a", "/x"), "", "", ""},
		{"policy: {agents: [a]}", "policy: {agents: [a, b], agent-mode: candidate-default}",
			"the agents b may be used; agent-mode is candidate-default instead of sandbox-repository", ""},
		{"policy: {agents: [a], agent-mode: none}", "policy: {risk: low}",
			"every admitted agent may be used (agents is gone); agent-mode is sandbox-repository instead of none", ""},
		{"policy: {risk: low}", "policy: {agents: [], agent-mode: none}", "risk is lower", ""},
		{"", "normalize: [durations]", "", "normalize is another: it masks what a test compares"},
		{"output: a/{{name}}.md", "output: b/{{name}}.md", "", "output is another"},
	} {
		old, err := ParseConfig("old", []byte(c.old))
		if err != nil {
			t.Fatal(err)
		}
		now, err := ParseConfig("now", []byte(c.now))
		if err != nil {
			t.Fatal(err)
		}
		words, changed := Loosened(old, now)
		if got := strings.Join(words, "; "); got != c.words {
			t.Errorf("%s -> %s: %q, want %q", c.old, c.now, got, c.words)
		}
		if got := strings.Join(changed, "; "); got != c.changed {
			t.Errorf("%s -> %s: changed %q, want %q", c.old, c.now, got, c.changed)
		}
	}
}

// admits are settings that admit an agent.
func admits(name, path string) string {
	return "agents: {" + name + ": {path: " + path + ", command: [x], sha256: " + strings.Repeat("0", 64) + "}}"
}

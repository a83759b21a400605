package engine

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/engine/sandbox"
	"markmill/runs"
)

// offering is an engine on a system that has what offer says.
func offering(t *testing.T, offer sandbox.Offer) *Engine {
	t.Helper()
	dir := t.TempDir()
	return &Engine{
		Store:  func(string) runs.Store { return runs.Store{Dir: filepath.Join(dir, "store")} },
		Cache:  filepath.Join(dir, "cache"),
		Getenv: os.LookupEnv, Now: time.Now, Random: rand.Reader,
		ProbeSandbox: func(context.Context, sandbox.Need) sandbox.Offer { return offer },
	}
}

// TestSandboxThatCannotBeHad: what must hold blocks the run before anything of the notebook's starts,
// with a code, an event and words; what should hold is said in the record.
func TestSandboxThatCannotBeHad(t *testing.T) {
	for front, words := range map[string]string{
		"sandbox: required": "sandbox: required cannot be had here. Not held: what steps write",
		"sandbox: strict":   "sandbox: strict cannot be had here",
		"network: off":      "network: off cannot be had here",
		"sandbox: required\nresources: {memory: 1GiB}":         "resources: they cannot be limited on plan9",
		"sandbox: off\nnetwork: off":                           "network: off cannot be had here",
		"sandbox: on":                                          "",
		"sandbox: on\nresources: {open-files: 10}":             "",
		"sandbox: off\nresources: {open-files: 10}\nrisk: low": "",
	} {
		e := offering(t, sandbox.Offer{System: "plan9"})
		marker := filepath.Join(t.TempDir(), "ran")
		source := "---\n" + front + "\n---\n\n```sh {#a .skip}\ntouch " + marker + "\n```\n"
		p, err := e.Plan(t.Context(), Request{Path: "n.md", Source: []byte(source)})
		if err != nil {
			t.Errorf("%q: %v", front, err)
			continue
		}
		if len(p.sandbox.NotHeld) == 0 {
			t.Errorf("%q: the record would not say what is not held: %+v", front, p.sandbox)
		}
		if words == "" {
			if len(p.gates) != 0 {
				t.Errorf("%q: %+v", front, p.gates)
			}
			continue
		}
		if len(p.gates) != 1 || p.gates[0].Code != runs.CodeProviderUnavailable || !strings.Contains(p.gates[0].Message,
			words) {
			t.Errorf("%q: %+v", front, p.gates)
			continue
		}
		result, err := e.Run(t.Context(), p, Sinks{})
		if err != nil {
			t.Fatal(err)
		}
		run := result.Run
		if run.Status() != runs.Blocked || len(run.Blockers()) != 1 ||
			run.Blockers()[0].Code != runs.CodeProviderUnavailable {
			t.Errorf("%q: %s, %+v", front, run.Status(), run.Blockers())
		}
		if s := run.Started.Sandbox; s == nil || len(s.NotHeld) == 0 {
			t.Errorf("%q: the record says %+v", front, s)
		}
		if entries, _ := os.ReadDir(e.Cache); len(entries) > 0 {
			t.Errorf("%q: a blocked run made %v", front, entries)
		}
	}
}

func TestSandboxConfig(t *testing.T) {
	cfg, err := ParseConfig("markmill.yaml", []byte("sandbox: {write: [~/.m2, /srv/data], hide: [~/keys]}\n"))
	if err != nil || len(cfg.Sandbox.Write) != 2 || cfg.Sandbox.Hide[0] != "~/keys" {
		t.Errorf("%+v, %v", cfg.Sandbox, err)
	}
	for text, want := range map[string]string{
		"sandbox: {write: [data]}\n":     `sandbox.write: "data" is not a path below / or ~/`,
		"sandbox: {write: [/]}\n":        `sandbox.write: "/"`,
		"sandbox: {hide: [/x/..]}\n":     `sandbox.hide: "/x/.."`,
		"sandbox: {hide: [~user/x]}\n":   "sandbox.hide",
		"sandbox: {allow: [~/.m2]}\n":    `unknown key "allow"`,
		"sandbox: {write: ['~/..']}\n":   `sandbox.write: "~/.."`,
		"sandbox: {write: [\"~/\"]}\n":   `sandbox.write: "~/"`,
		"sandbox: {write: [\"~/a/..\"]}": `sandbox.write: "~/a/.."`,
	} {
		if _, err := ParseConfig("markmill.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

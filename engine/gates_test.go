package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"markmill/engine/sandbox"
	"markmill/runs"
)

// TestGates: a gate that is not met blocks the run before anything starts, with a record.
func TestGates(t *testing.T) {
	for name, c := range map[string]struct {
		front  string
		env    [2]string
		dirty  Dirty
		words  string
		change func(*lab)
	}{
		"clean": {front: "require: [clean]", words: "dirty_starting_tree|dirty.txt|require: clean",
			change: func(l *lab) { l.write("dirty.txt", "x") }},
		"block": {front: "title: t", dirty: DirtyBlock, words: "dirty_starting_tree|--dirty block",
			change: func(l *lab) { l.write("dirty.txt", "x") }},
		"tests":   {front: "require: [tests]", words: "missing_test_command"},
		"secret":  {front: "secrets: [TOKEN]", words: "secret_missing|TOKEN is not set"},
		"depth":   {front: "title: t", env: [2]string{"MARKMILL_DEPTH", "6"}, words: "6 runs deep"},
		"sandbox": {front: "sandbox: required\nresources: {processes: 5}", words: "provider_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.repository(map[string]string{"a.txt": "x\n"})
			if c.change != nil {
				c.change(l)
			}
			if c.env[0] != "" {
				l.env[c.env[0]] = c.env[1]
			}
			if name == "sandbox" {
				probe := l.ProbeSandbox
				l.ProbeSandbox = func(ctx context.Context, n sandbox.Need) sandbox.Offer {
					o := probe(ctx,
						n)
					o.Landlock = 0
					return o
				}
			}
			l.fake.start = func() error { t.Error("an interpreter was started"); return nil }
			req := l.request("---\n" + c.front + "\n---\n" + step("#a", "print x"))
			req.Dirty = c.dirty
			result := l.run(req)
			l.want(result, runs.Blocked, c.words)
			if !result.Run.Steps[0].StartedAt.IsZero() {
				t.Error("the step started")
			}
		})
	}
}

// TestProtected: the judges run again with the base's versions of protected files.
func TestProtected(t *testing.T) {
	for name, c := range map[string]struct {
		front, code string
		inPlace     bool
		status      runs.Status
		blockers    []string
	}{
		"weakened": {"protect: [t.txt]", "write t.txt weak\nwrite x good", false, runs.Fail,
			[]string{"judge_changed check|it passes only with the run's own version of t.txt"}},
		"reported":   {"protect: [t.txt]\nprotect-mode: report", "write t.txt weak", false, runs.Pass, nil},
		"unchanged":  {"protect: [t.txt]", "write x y", false, runs.Pass, nil},
		"in place":   {"protect: [t.txt]", "write t.txt weak", true, runs.Fail, []string{"the run works in place"}},
		"no judging": {"protect: [other.txt]", "write other.txt x", false, runs.Pass, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.repository(map[string]string{"t.txt": "strict\n", "other.txt": "y\n"})
			test := step("#check .test", "need ready\nsame t.txt weak")
			if c.code == "write x y" {
				test = step("#check .test", "same t.txt strict")
			} else if strings.Contains(c.front, "other") {
				test = step("#check", "same t.txt strict")
			}
			req := l.request("---\n" + c.front + "\n---\n" + step("#s .setup", "set ready\nglue g json 1") + step("#a",
				c.code) + test)
			req.InPlace = c.inPlace
			l.want(l.run(req), c.status, c.blockers...)
		})
	}
}

// TestPolicy: the repository's policies narrow the notebook, and the record says who narrowed what.
func TestPolicy(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{ConfigFile: "policy: {allow: [src/**], forbid: [src/no], require: [tests], " +
		"timeout: 1m, run-timeout: 1h, limits: {files: 3}}\n"})
	result := l.run(l.request(step("#a", "write src/x y\nwrite z y") + step("#t .test", "print x")))
	l.want(result, runs.Fail, "z|allow: src/**")
	c := result.Run.Contract
	if len(c.Policies) == 0 || len(c.Narrowed) == 0 || c.StepTimeoutMaxNS != int64(time.Minute) {
		t.Errorf("contract: %+v", c)
	}
	nb, narrowed, err := l.Narrow(l.request(step("#a", "print x")))
	if err != nil || len(narrowed) == 0 || len(nb.Front.Require) != 1 {
		t.Errorf("%v %v %v", nb.Front, narrowed, err)
	}
}

package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/runs"
)

func step(info, code string) string { return "```bash {" + info + "}\n" + code + "\n```\n\n" }

// TestOneRun follows a run that passes from its steps to its record.
func TestOneRun(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n", ".gitignore": "*.log\n"})
	var events []runs.EventType
	var printed strings.Builder
	result := l.run(l.request("---\nallow: [\"*.txt\"]\nrequire: [tests, diff]\n---\n"+
		step("#make", "write a.txt new\nwrite b.txt more\nwrite c.log hidden\nprint made\nwarn careful\nglue n json "+
			"3\ndisplay p.txt picture\nhold q.txt held")+
		step("#cond if=\"scraps.n > 2\"", "print many")+
		step("#other if=\"scraps.n > 9\"", "print none")+
		step("#check .test cwd=.", "same a.txt new\nprint 3 passed")),
		Sinks{Observers: []Observer{
			{Event: func(e runs.Event) { events = append(events, e.Type) }},
			{Output: func(step notebooks.StepID, stream string, chunk []byte) {
				printed.WriteString(string(step) + " " + stream + ": " + string(chunk))
			}},
		}})
	l.want(result, runs.Pass)
	if got := statuses(result); got != "make pass, cond pass, other skip, check pass" {
		t.Error(got)
	}
	if got := l.read(result, runs.PatchFile); !strings.Contains(got, "-old\n+new\n") ||
		strings.Contains(got, "hidden") {
		t.Errorf("patch:\n%s", got)
	}
	if got := printed.String(); got != "make stdout: made\nmake stderr: careful\ncond stdout: many\ncheck stdout: 3 "+
		"passed\n" {
		t.Errorf("observers saw %q", got)
	}
	if events[0] != runs.RunStarted || events[len(events)-1] != runs.RunCompleted {
		t.Errorf("events %v", events)
	}
	first := result.Run.Steps[0]
	if len(first.Scraps) != 1 || string(first.Scraps[0].Value) != "3" || len(first.Finished.Displays) != 2 {
		t.Errorf("scraps %+v, displays %+v", first.Scraps, first.Finished.Displays)
	}
	if got := l.read(result, first.Finished.Displays[1].File); got != "held" {
		t.Errorf("the display has %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(l.root, "a.txt")); err != nil || string(got) != "old\n" {
		t.Errorf("the checkout has %q, %v", got, err)
	}
	l.verify(result)
}

// TestHowStepsEnd: every way a step can end, what it makes of the run, and what happens to the steps after it.
func TestHowStepsEnd(t *testing.T) {
	l, whole := newLab(t), t
	l.env["TOKEN"] = "hunter2-hunter2"
	l.repository(map[string]string{"base.txt": "x\n"})
	l.fake.hooks["spoil"] = func() { l.write("spoilt.txt", "x") }
	for name, c := range map[string]struct {
		front, steps string
		change       func(*Request)
		status       runs.Status
		blockers     []string
		want         string
	}{
		"exit": {steps: step("#a", "exit 3") + step("#b", "print x") + step("#c .finally", "print x"),
			status:   runs.Fail,
			blockers: []string{"step_failed a: exit 3"}, want: "a fail, b skip, c pass"},
		"exception": {steps: step("#a", "raise ValueError bad value"), status: runs.Fail,
			blockers: []string{"step_failed a: ValueError: bad value"}, want: "a fail"},
		"command": {steps: step("#a", "command make all"), status: runs.Fail, blockers: []string{"at line 2: make all"},
			want: "a fail"},
		"died": {steps: step("#a", "die") + step("#b .finally", "need x"), status: runs.Fail,
			blockers: []string{"step_failed a: the interpreter ended", "NameError|the interpreter had ended in step a"},
			want:     "a fail, b fail"},
		"died where it may fail": {steps: step("#a .allow-failure", "die") + step("#b", "print x"), status: runs.Fail,
			blockers: []string{"step_failed a: the interpreter ended"}, want: "a fail, b skip"},
		"died where it may raise": {steps: step("#a .raises-exception", "die") + step("#b", "print x"),
			status: runs.Fail, blockers: []string{"step_failed a: the interpreter ended"}, want: "a fail, b skip"},
		"died with the expected exit": {steps: step("#a expect-exit=1", "die") + step("#b", "print x"),
			status: runs.Fail, blockers: []string{"step_failed a: the interpreter ended"}, want: "a fail, b skip"},
		"died under allow_errors": {front: "allow_errors: true\n", steps: step("#a", "die") + step("#b", "print x"),
			status: runs.Fail, blockers: []string{"step_failed a: the interpreter ended"}, want: "a fail, b skip"},
		"expected exit": {steps: step("#a expect-exit=2", "exit 2"), status: runs.Pass, want: "a pass"},
		"another exit": {steps: step("#a expect-exit=2", "exit 1"), status: runs.Fail,
			blockers: []string{"exit 1, 2 was expected"}, want: "a fail"},
		"test": {steps: step("#a .test", "exit 1"), status: runs.Fail,
			blockers: []string{"verification_failed a"}, want: "a fail"},
		"review": {steps: step("#a .review", "exit 1"), status: runs.Blocked,
			blockers: []string{"reviewer_rejected a"}, want: "a fail"},
		"no-change": {steps: step("#a .no-change", "write x y"), status: runs.Fail,
			blockers: []string{"it is tagged no-change and changed x|no-change"}, want: "a fail"},
		"timeout": {steps: step("#a timeout=20ms", "wait") + step("#b", "print x"), status: runs.Blocked,
			blockers: []string{"timeout a: |passed its time limit of 20ms"}, want: "a timeout, b skip"},
		"limit of all": {front: "run-timeout: 30ms\n", steps: step("#a", "wait") + step("#b", "print x") +
			step("#f .finally", "print x"), status: runs.Blocked,
			blockers: []string{"the run passed its time limit of 30ms"},
			want:     ""},
		"allow_errors": {steps: step("#a", "exit 1") + step("#b", "print x"),
			change: func(r *Request) { r.AllowErrors = true }, status: runs.Pass, want: "a allowed, b pass"},
		"keep going": {steps: step("#a", "exit 1") + step("#b", "print x"),
			change: func(r *Request) { r.KeepGoing = true }, status: runs.Fail, blockers: []string{"exit 1"},
			want: "a fail, b pass"},
		"needs": {steps: step("#a .allow-failure", "exit 1") + step("#b needs=a", "print x"),
			status: runs.Pass, want: "a allowed, b skip"},
		"condition": {steps: step("#a if=\"scraps.none > 1\"", "print x"), status: runs.Fail,
			blockers: []string{"cannot be decided"}, want: "a pending"},
		"retries": {steps: step("#a retries=1", "leave 50 0\nflaky"), status: runs.Pass, want: "a pass"},
		"bad scrap": {steps: step("#a", "glue x odd 1"), status: runs.Fail,
			blockers: []string{"its scraps cannot be read"}, want: "a fail"},
		"scrap's file": {steps: step("#a", "display p.txt x\nglue x file p.txt"), status: runs.Pass,
			want: "a pass"},
		"broken engine": {steps: step("#a", "print x\nbreak") + step("#b", "print x"), status: runs.Fail,
			blockers: []string{"the fake kernel broke"}, want: "a fail, b -"},
		"only": {steps: step("#a", "print x") + step("#b", "print x") + step("#s .setup", "print x"),
			change: func(r *Request) { r.Only = []string{"b"} }, status: runs.Partial, want: "a skip, b pass, s pass"},
		"from and until": {steps: step("#a", "print x") + step("#b", "print x") + step("#c", "print x"),
			change: func(r *Request) { r.From, r.Until = "b", "b" }, status: runs.Partial,
			want: "a skip, b pass, c skip"},
		"skip tag": {steps: step("#a .slow", "print x") + step("#b", "print x"),
			change: func(r *Request) { r.SkipTags = []string{"slow"} }, status: runs.Partial, want: "a skip, b pass"},
		"no such folder": {steps: step("#a", "print x"), change: func(r *Request) { r.Cwd = "none" },
			status: runs.Blocked, blockers: []string{"--cwd none: the worktree has no such folder"}, want: "a pending"},
		"tests left out": {front: "require: [tests]\n", steps: step("#a .test .slow", "print x") + step("#b .test",
			"print x"), change: func(r *Request) { r.SkipTags = []string{"slow"} }, status: runs.Fail,
			blockers: []string{"--skip-tag left this one out"}, want: "a skip, b pass"},
		"no test passes": {front: "require: [tests]\n", steps: step("#a .test .allow-failure", "exit 1"),
			status: runs.Fail, blockers: []string{"tests are required: no test step passed"}, want: "a allowed"},
		"no diff": {front: "require: [diff]\n", steps: step("#a", "print x"), status: runs.Fail,
			blockers: []string{"no_diff"}, want: "a pass"},
		"not allowed": {front: "allow: [src/**]\nforbid: [src/x]\n",
			steps: step("#a", "write src/y 1\nwrite src/x 1\nwrite z 1\nlink src/l /etc"), status: runs.Fail,
			blockers: []string{"src/x|forbid", "z|allow", "is a link to /etc|outside"}, want: "a pass"},
		"too large": {front: "limits: {files: 1, lines: 1, bytes: 2}\n", steps: step("#a", "write x 1") +
			step("#b", "write y 2"), status: runs.Fail, blockers: []string{"2 files", "2 lines", "4 bytes"},
			want: "a pass, b pass"},
		"mode none": {front: "mode: none\n", steps: step("#a", "write x 1"), status: runs.Fail,
			blockers: []string{"mode: none"}, want: "a pass"},
		"changed after the test": {steps: step("#a", "write x 1") + step("#t .test", "same x 1") +
			step("#b", "write x 2"), status: runs.Fail, blockers: []string{"what was tested is not what is left"},
			want: "a pass, t pass, b pass"},
		"written after the test": {steps: step("#t .test", "print x") + step("#b", "write x 1"), status: runs.Pass,
			want: "t pass, b pass"},
		"checkout": {front: "sandbox: off\n", steps: step("#a", "call spoil"), status: runs.Fail,
			blockers: []string{"the source checkout changed|spoilt.txt"}, want: "a pass"},
		"server": {steps: step("#a", "leave 40 0\nleave 41 40") + step("#b", "print x"), status: runs.Pass,
			want: "a pass, b pass"},
		"secret in a file": {front: "secrets: [TOKEN]\n", steps: step("#a", "writenv x TOKEN"), status: runs.Fail,
			blockers: []string{"secret_leaked a: the value of a secret would stand in the change of x",
				"secret_leaked : "},
			want: "a fail"},
		"masked secret": {front: "secrets: [TOKEN]\n",
			steps: step("#a", "env TOKEN\ngluenv x TOKEN\ndisplayenv d.txt TOKEN"), status: runs.Pass, want: "a pass"},
	} {
		t.Run(name, func(t *testing.T) {
			l.t = t
			defer func() { l.t = whole }()
			front := ""
			if c.front != "" {
				front = "---\n" + c.front + "---\n"
			}
			req := l.request(front + c.steps)
			if c.change != nil {
				c.change(&req)
			}
			result := l.run(req)
			l.want(result, c.status, c.blockers...)
			if got := statuses(result); got != c.want && c.want != "" {
				t.Errorf("steps %q, want %q", got, c.want)
			}
			for file := range files(t, result.Dir) {
				if strings.Contains(l.read(result, file), "hunter2") {
					t.Errorf("%s shows the secret", file)
				}
			}
		})
	}
}

// TestMistakes: what is wrong with a request comes back as one list, before anything is written.
func TestMistakes(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "x\n"})
	l.env["KEY"] = "x"
	for name, c := range map[string]struct {
		source string
		change func(*Request)
		words  []string
	}{
		"several": {"---\nallow: [/etc]\nparams:\n  x: {type: int}\n---\n" + step("#a", "print x") + step("#b needs=a",
			""), func(r *Request) { r.SkipTags = nil; r.Only = []string{"nobody"}; r.From = "noone" },
			[]string{"/etc", `parameter "x"`, "--only: no step has the id", "--from: no step"}},
		"vacuous": {"---\nallow: []\nlimits: {files: 0}\nrequire: []\nprotect: []\n---\n" + step("#a", "print x"), nil,
			[]string{"2:8: allow: an empty list says nothing", "3:9: limits: files: 0 is no limit",
				"4:10: require: an empty list says nothing", "5:10: protect: an empty list says nothing"}},
		"more of it": {"---\nforbid: []\nforbidden_actions: []\nlimits: {lines: 5, bytes: 0}\n---\n" +
			step("#a", "print x"), nil, []string{"2:9: forbid: an empty list", "3:20: forbidden_actions: an empty list",
			"4:9: limits: bytes: 0 is no limit"}},
		"no limit": {"---\nlimits: {}\n---\n" + step("#a", "print x"), nil,
			[]string{"2:9: limits: no limit is named; leave it out, or write mode: none"}},
		"no resource": {"---\nresources: {}\n---\n" + step("#a", "print x"), nil,
			[]string{"2:12: resources: no resource is named; leave it out"}},
		"in place": {"---\nmode: in-place\n---\n" + step("#a", "print x"), nil,
			[]string{"2:7: mode: in-place changes the checkout itself", "--in-place", "policy of markmill.yaml"}},
		"order": {step("#a", "print x") + step("#b", "print x"), func(r *Request) { r.From, r.Until = "b", "a" },
			[]string{"--from b stands after --until a"}},
		"needed": {step("#a .slow", "print x") + step("#b needs=a", "print x"),
			func(r *Request) { r.SkipTags = []string{"slow"} }, []string{`needs "a", which does not run`}},
		"no kernel": {"```bahs {#a}\nx\n```\n", nil, []string{`no kernel runs "bahs"`}},
		"asked kernel": {step("#a", "print x"), func(r *Request) { r.Kernel = "nothing" },
			[]string{`kernel "nothing" is not known`}},
		"no step":    {"# text\n", nil, []string{"the notebook has no step"}},
		"no base":    {step("#a", "print x"), func(r *Request) { r.Base = "nowhere" }, []string{"nowhere"}},
		"bad branch": {step("#a", "print x"), func(r *Request) { r.Branch = "main" }, []string{"main"}},
		"base outside": {step("#a", "print x"), func(r *Request) { r.Repository, r.Base = "", "HEAD" },
			[]string{"--base needs a Git repository"}},
		"no UTF-8": {step("#a", "print x"), func(r *Request) { r.Cwd = "caf\xe9" }, []string{"--cwd", "is not UTF-8"}},
		"heavy": {"---\nparams:\n  heavy: {type: int, default: 1}\n---\n" + step("#a", "print x"), nil,
			[]string{"the fake cannot hold it"}},
		"short secret": {"---\nparams:\n  s: {type: secret, env: KEY}\n---\n" + step("#a", "print x"), nil,
			[]string{"parameter s"}},
		"no such run": {step("#a", "print x"), func(r *Request) { r.Resume = "none" }, []string{"none"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := l.request(c.source)
			if c.change != nil {
				c.change(&req)
			}
			_, err := l.Plan(t.Context(), req)
			if err == nil {
				t.Fatal("there is no error")
			}
			for _, words := range c.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%v\nwant %q in it", err, words)
				}
			}
		})
	}
	if entries, _ := os.ReadDir(filepath.Join(l.dir, "store")); len(entries) > 0 {
		t.Errorf("planning wrote %v", entries)
	}
	nb, err := l.Check(l.request("---\nsecrets: [NONE]\n---\n" + step("#a", "print x")))
	if err != nil || len(nb.Warnings) != 1 {
		t.Errorf("%v %v", nb.Warnings, err)
	}
}

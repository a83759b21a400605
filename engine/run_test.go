package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/params"
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
	if got := l.read(result, runs.PatchFile); !strings.Contains(got, "-old\n+new\n") || strings.Contains(got, "hidden") {
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
		"exit": {steps: step("#a", "exit 3") + step("#b", "print x") + step("#c .finally", "print x"), status: runs.Fail,
			blockers: []string{"step_failed a: exit 3"}, want: "a fail, b skip, c pass"},
		"exception": {steps: step("#a", "raise ValueError bad value"), status: runs.Fail,
			blockers: []string{"step_failed a: ValueError: bad value"}, want: "a fail"},
		"command": {steps: step("#a", "command make all"), status: runs.Fail, blockers: []string{"at line 2: make all"},
			want: "a fail"},
		"died": {steps: step("#a .allow-failure", "die") + step("#b", "need x"), status: runs.Fail,
			blockers: []string{"NameError|the interpreter had ended in step a"}, want: "a allowed, b fail"},
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
			step("#f .finally", "print x"), status: runs.Blocked, blockers: []string{"the run passed its time limit of 30ms"},
			want: ""},
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
			change: func(r *Request) { r.From, r.Until = "b", "b" }, status: runs.Partial, want: "a skip, b pass, c skip"},
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
		"changed after the test": {steps: step("#t .test", "print x") + step("#b", "write x 1"), status: runs.Fail,
			blockers: []string{"what was tested is not what is left"}, want: "t pass, b pass"},
		"checkout": {steps: step("#a", "call spoil"), status: runs.Fail,
			blockers: []string{"the source checkout changed|spoilt.txt"}, want: "a pass"},
		"server": {steps: step("#a", "leave 40 0\nleave 41 40") + step("#b", "print x"), status: runs.Pass,
			want: "a pass, b pass"},
		"secret in a file": {front: "secrets: [TOKEN]\n", steps: step("#a", "writenv x TOKEN"), status: runs.Fail,
			blockers: []string{"secret_leaked a: the value of a secret would stand in the change of x", "secret_leaked : "},
			want:     "a fail"},
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

// TestInterrupted: a signal ends the step, the record says so, and a new run resumes it from the steps that are whole.
func TestInterruptedAndResumed(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n"})
	source := "---\nparams:\n  x: {type: int, default: 1}\n---\n" +
		step("#state", "set s\nglue g json 1\nwrite a.txt first\ndisplay d.txt shown\nglue f file d.txt") +
		step("#patch .test", "same a.txt first\nwrite b.txt second") +
		step("#slow", "need s\ncall stop") + step("#last", "need s\nwrite c.txt third") + step("#f .finally", "print x")
	ctx, cancel := context.WithCancelCause(t.Context())
	l.fake.hooks["stop"] = func() { cancel(Interrupt{Signal: 15}) }
	req := l.request(source)
	req.Given = []params.Given{{Name: "x", Text: "5", Source: "-p"}}
	cut := l.runUntil(ctx, req)
	if cut.Run.Status() != runs.Interrupted || cut.Run.ExitCode() != 143 {
		t.Fatalf("%s %d", cut.Run.Status(), cut.Run.ExitCode())
	}
	if got := statuses(cut); got != "state pass, patch pass, slow fail, last skip, f pass" {
		t.Fatal(got)
	}
	l.fake.hooks["stop"] = func() {}
	interrupted, err := l.Interrupted(cut.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := interrupted.Request([]params.Given{{Name: "x", Text: "6"}}); err == nil {
		t.Error("another value was accepted")
	}
	again, err := interrupted.Request(nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Repository = l.root
	plan, err := l.Plan(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if reused, replayed, next := plan.Reused(); len(reused) != 2 || len(replayed) == 0 || next != "slow" {
		t.Errorf("reused %v, replayed %v, next %s", reused, replayed, next)
	}
	result := l.run(again)
	if got := statuses(result); result.Run.Started.ResumedFrom == nil ||
		got != "state pass, patch pass, slow pass, last pass, f pass" {
		t.Errorf("%s", got)
	}
	if patch := l.read(result, runs.PatchFile); !strings.Contains(patch, "+first") || !strings.Contains(patch,
		"+second") || !strings.Contains(patch, "+third") {
		t.Errorf("patch:\n%s", patch)
	}
	l.verify(result)
	if _, err := l.Interrupted(result.Dir); err == nil {
		t.Error("a run that came to its end can be resumed")
	}
	t.Run("state that cannot be rebuilt", func(t *testing.T) {
		l.fake.start = func() error { return errors.New("no interpreter") }
		defer func() { l.fake.start = nil }()
		l.t = t
		l.want(l.run(again), runs.Blocked, "state_not_rebuilt state", "state_not_rebuilt patch", "provider_unavailable f")
	})
	t.Run("locked meanwhile", func(t *testing.T) {
		plan, err := l.Plan(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		release, err := runs.Lock(cut.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if _, err := l.Run(t.Context(), plan, Sinks{}); err == nil || !strings.Contains(err.Error(), "is alive") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a file of it changed", func(t *testing.T) {
		file := filepath.Join(cut.Dir, cut.Run.Steps[0].Patch.Patch)
		if err := os.WriteFile(file, []byte("forged"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Plan(t.Context(), again); err == nil || !strings.Contains(err.Error(), "its record does not hold") {
			t.Errorf("%v", err)
		}
	})
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
			req := l.request("---\n" + c.front + "\n---\n" + step("#s .setup", "set ready\nglue g json 1") + step("#a", c.code) +
				test)
			req.InPlace = c.inPlace
			l.want(l.run(req), c.status, c.blockers...)
		})
	}
}

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

// TestWhereARunWorks: in a worktree with the user's changes, in the checkout, in a folder, on a branch.
func TestWhereARunWorks(t *testing.T) {
	t.Run("with the user's changes", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n", ".gitignore": ".env\n"})
		l.write("a.txt", "mine\n")
		l.write(".env", "K=1\n")
		req := l.request(step("#a", "same a.txt mine\nsame .env K=1\nwrite b.txt x"))
		req.Dirty, req.Copy, req.KeepTree = DirtyInclude, []string{".env"}, true
		result := l.run(req)
		l.want(result, runs.Pass)
		if _, err := os.Stat(filepath.Join(result.Worktree, "b.txt")); err != nil {
			t.Error(err)
		}
		if patch := l.read(result, runs.PatchFile); strings.Contains(patch, "mine") {
			t.Errorf("the user's change is in the patch:\n%s", patch)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		l.write("a.txt", "mine\n")
		l.write("task.md", "x\n")
		req := l.request(step("#a", "same a.txt old"))
		req.Dirty, req.Path = DirtyIgnore, filepath.Join(l.root, "task.md")
		plan, err := l.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if left := plan.LeftBehind(); len(left) != 1 || left[0] != "a.txt" {
			t.Errorf("left behind: %v", left)
		}
		l.want(l.run(req), runs.Pass)
	})
	t.Run("in place", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		req := l.request(step("#a", "write a.txt new\nenv MARKMILL_DIR"))
		req.InPlace = true
		result := l.run(req)
		l.want(result, runs.Pass)
		if got, _ := os.ReadFile(filepath.Join(l.root, "a.txt")); string(got) != "new\n" {
			t.Errorf("the checkout has %q", got)
		}
		if got := l.stdout(result, "a"); !strings.Contains(got, innerStore) {
			t.Errorf("inner runs would keep their records in %q", got)
		}
	})
	t.Run("branch", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		req := l.request("---\ntitle: A change\n---\n" + step("#a", "write a.txt new"))
		req.Branch, req.Base = "topic", "HEAD"
		l.want(l.run(req), runs.Pass)
		if got := l.git("show", "topic:a.txt"); got != "new" {
			t.Errorf("the branch has %q", got)
		}
		if got := l.git("log", "-1", "--format=%B", "topic"); !strings.HasPrefix(got, "A change\n\n"+worktree.RunTrailer) {
			t.Errorf("the message is %q", got)
		}
		req.Branch = "empty"
		req.Source = []byte(step("#a", "print x"))
		l.want(l.run(req), runs.Fail, "--branch empty: nothing changed")
	})
	t.Run("folder", func(t *testing.T) {
		l := newLab(t)
		folder := filepath.Join(l.dir, "job")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		req := l.request(step("#a", "write x.txt y\ncall log"))
		log, err := os.Create(filepath.Join(folder, "events.log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		l.fake.hooks["log"] = func() { _, _ = log.WriteString("grows\n") }
		info, err := log.Stat()
		if err != nil {
			t.Fatal(err)
		}
		req.Repository, req.Folder, req.Output = "", folder, filepath.Join(folder, "out.md")
		result := l.run(req, Sinks{Observers: []Observer{{Files: []os.FileInfo{info}}}})
		l.want(result, runs.Pass)
		if files := result.Run.Diff.Files; len(files) != 1 || files[0].Path != "x.txt" {
			t.Errorf("changed: %+v", files)
		}
		req.Folder = l.env["HOME"]
		if err := os.Mkdir(req.Folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Plan(t.Context(), req); err == nil || !strings.Contains(err.Error(),
			"is not one to let steps write in") {
			t.Errorf("%v", err)
		}
	})
	t.Run("own folder", func(t *testing.T) {
		l := newLab(t)
		l.want(l.run(l.request(step("#a", "write x.txt y"))), runs.Pass)
	})
}

// TestViews: what a view, a signature or OUTPUT that fails makes of the verdict.
func TestViews(t *testing.T) {
	for name, c := range map[string]struct {
		sinks    Sinks
		front    string
		status   runs.Status
		blockers []string
	}{
		"a view that cannot be written": {Sinks{Views: []View{{Name: "v",
			Write: func(ViewInput) error { return errors.New("no room") }}}}, "", runs.Fail,
			[]string{"artifact_write_failure|v: no room"}},
		"a view that refuses": {Sinks{Views: []View{{Name: "v", Write: refuseOnce()}}}, "", runs.Fail,
			[]string{"output_changed|it differs"}},
		"no signature": {Sinks{Sign: func(ViewInput) (map[string]string, error) {
			return nil,
				errors.New("no agent")
		}}, "", runs.Fail, []string{"cannot be signed: no agent"}},
		"signed": {Sinks{Sign: func(ViewInput) (map[string]string,
			error) {
			return map[string]string{"output.md": "sig"}, nil
		}}, "", runs.Pass, nil},
		"staged": {Sinks{StageOutput: stageNothing}, "", runs.Pass, nil},
		"a view that shows a secret": {Sinks{Views: []View{{Name: "v", Write: func(in ViewInput) error {
			return os.WriteFile(filepath.Join(in.Dir, "v.txt"), []byte("hunter2-hunter2"), 0o644)
		}}}}, "secrets: [TOKEN]", runs.Fail, []string{"would stand in v.txt"}},
		"OUTPUT that shows a secret": {Sinks{StageOutput: func(in ViewInput) []runs.LeftOutput {
			in.Clean("OUTPUT", []byte("hunter2-hunter2"))
			return stageNothing(in)
		}}, "secrets: [TOKEN]",
			runs.Fail, []string{"would stand in OUTPUT"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.env["TOKEN"] = "hunter2-hunter2"
			committed := 0
			c.sinks.CommitOutput = func(_ runs.RunID, complete bool) error {
				if complete {
					committed++
				}
				return nil
			}
			front := ""
			if c.front != "" {
				front = "---\n" + c.front + "\n---\n"
			}
			l.want(l.run(l.request(front+step("#a", "print x")), c.sinks), c.status, c.blockers...)
			if committed != 1 {
				t.Errorf("OUTPUT was committed %d times", committed)
			}
		})
	}
}

// stageNothing says that OUTPUT is an empty file elsewhere.
func stageNothing(ViewInput) []runs.LeftOutput {
	return []runs.LeftOutput{{Name: runs.OutputFile, Digest: runs.DigestOf(nil)}}
}

func refuseOnce() func(ViewInput) error {
	refused := false
	return func(ViewInput) error {
		if refused {
			return nil
		}
		refused = true
		return Refused{Code: runs.CodeOutputChanged, Words: "it differs"}
	}
}

// TestApproval: a run waits for an approval of exactly its contract, which is good for one run.
func TestApproval(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "x\n"})
	req := l.request("---\napproval: required\nparams:\n  key: {type: secret, env: KEY}\n---\n" + step("#a", "print x"))
	l.env["KEY"] = "hunter2-hunter2"
	ask := l.run(req)
	l.want(ask, runs.Blocked, "approval_required|markmill approve")
	if _, err := l.Answer(ask.Run, ask.Dir, l.Source, Reply{Expires: -time.Hour}); err == nil {
		t.Error("a negative time was accepted")
	}
	a, err := l.Answer(ask.Run, ask.Dir, l.Source, Reply{Comment: "fine"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Answer(ask.Run, ask.Dir, l.Source, Reply{}); err == nil || !strings.Contains(err.Error(),
		"is approved already") {
		t.Errorf("%v", err)
	}
	changed := req
	changed.Cwd = "sub"
	l.want(l.run(changed), runs.Blocked, "approval_mismatch|cwd changed")
	granted := l.run(req)
	l.want(granted, runs.Pass)
	if granted.Run.Granted == nil || granted.Run.Granted.ID != a.ID {
		t.Errorf("granted: %+v", granted.Run.Granted)
	}
	used := l.run(req)
	l.want(used, runs.Blocked, "approval_consumed")
	if _, err := l.Answer(used.Run, used.Dir, l.Source, Reply{Deny: true, Comment: "no more"}); err != nil {
		t.Fatal(err)
	}
	l.want(l.run(req), runs.Blocked, "approval_denied|no more")
	l.env["MARKMILL_RUN_ID"] = "x"
	if _, err := l.Answer(used.Run, used.Dir, l.Source, Reply{}); err == nil {
		t.Error("a step can approve")
	}
}

// TestPolicy: the repository's policies narrow the notebook, and the record says who narrowed what.
func TestPolicy(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{ConfigFile: "policy: {allow: [src/**], forbid: [src/no], require: [tests], timeout: " +
		"1m, run-timeout: 1h, limits: {files: 3}}\n"})
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
	nb, err := l.Check(l.request("---\nschedule: daily\nsecrets: [NONE]\n---\n" + step("#a", "print x")))
	if err != nil || len(nb.Warnings) != 2 {
		t.Errorf("%v %v", nb.Warnings, err)
	}
}

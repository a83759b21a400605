package engine

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/runs"
	"markmill/runs/testhome"
)

// requestVariable makes the test binary run the request in a file, in a folder: see TestARequestRunsElsewhere.
const requestVariable = "ENGINE_TEST_REQUEST"

func TestMain(m *testing.M) {
	if dir := os.Getenv(requestVariable); dir != "" {
		os.Exit(runElsewhere(dir))
	}
	testhome.Main(m)
}

// runElsewhere is another process, which gets nothing but the request.
func runElsewhere(dir string) int {
	fail := func(err error) int { _, _ = os.Stderr.WriteString(err.Error() + "\n"); return 1 }
	b, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		return fail(err)
	}
	var req Request
	if err := codec.Unmarshal(b, &req); err != nil {
		return fail(err)
	}
	e := labEngine(dir, &fakeKernel{name: "bash"}, map[string]string{"HOME": filepath.Join(dir, "home"),
		"TOKEN": "hunter2-hunter2"})
	e.Store = func(string) runs.Store { return runs.Store{Dir: filepath.Join(dir, "elsewhere")} }
	if e.Config, err = LoadConfig(req.Repository); err != nil {
		return fail(err)
	}
	ctx := context.Background()
	plan, err := e.Plan(ctx, req)
	if err != nil {
		return fail(err)
	}
	if _, err := e.Run(ctx, plan, Sinks{Views: []View{texts, sums}}); err != nil {
		return fail(err)
	}
	return 0
}

// TestARequestRunsElsewhere: a request is sent to another process, which plans and runs it to the same record.
func TestARequestRunsElsewhere(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n", ".gitignore": ".env\n",
		ConfigFile: "policy: {forbid: [secret/**]}\n"})
	l.write("b.txt", "uncommitted\n")
	l.write(".env", "K=1\n")
	l.env["TOKEN"] = "hunter2-hunter2"
	delete(l.env, "PATH")
	given, err := params.ParseGiven("-f", "p.yaml",
		[]byte("code: 017\nwhen: 2024-01-02\nn: 12345678901234567890\nall: [1, {k: yes}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	req := l.request("---\nsecrets: [TOKEN]\nparams:\n  code: {type: string}\n  when: {type: date}\n" +
		"  n: {type: int}\n  all: {type: list}\n  p: {type: float}\n---\n" + step("#a timeout=1m",
		"same b.txt uncommitted\nwrite a.txt new\nglue x json 1\nenv TOKEN") + step("#b if=\"params.code == '017'\"",
		"print declared") + step("#c .slow", "print x") + step("#t .test", "same a.txt new"))
	req.ID = "20261121T120000Z-task-0000000000000001"
	req.Given = append(given, params.Given{Name: "p", Text: "1.50", Source: "-p"})
	req.Dirty, req.Copy, req.SkipTags, req.StepTimeoutNS, req.Output = DirtyInclude, []string{".env"}, []string{"slow"},
		int64(time.Minute), filepath.Join(l.dir, "out.md")
	here := l.run(req)
	l.want(here, runs.Partial)

	b, err := codec.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "request.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), requestVariable+"="+l.dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, got := files(t, here.Dir), files(t, filepath.Join(l.dir, "elsewhere", "runs", string(req.ID)))
	for name := range maps.Keys(want) {
		if want[name] != got[name] {
			other, _ := os.ReadFile(filepath.Join(l.dir, "elsewhere", "runs", string(req.ID), name))
			t.Errorf("%s differs:\n%s\nelsewhere:\n%s", name, l.read(here, name), other)
		}
	}
	if len(got) != len(want) || len(want) < 8 {
		t.Errorf("files %v\nelsewhere %v", want, got)
	}
	if got := statuses(here); got != "a pass, b pass, c skip, t pass" {
		t.Error(got)
	}
}

// TestRequestAsJSON: every field of a request comes back as it was.
func TestRequestAsJSON(t *testing.T) {
	var req Request
	fill(t, reflect.ValueOf(&req).Elem())
	b, err := codec.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var got Request
	if err := codec.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, req) {
		t.Errorf("%+v\nwant %+v", got, req)
	}
	if again, err := codec.Marshal(got); err != nil || string(again) != string(b) {
		t.Errorf("%s, %v", again, err)
	}
}

// fill gives each field of a request, or of a struct in it, a value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case runs.Options:
			fill(t, f)
		case []byte:
			f.Set(reflect.ValueOf([]byte("a\x00\xff")))
		case []string:
			f.Set(reflect.ValueOf([]string{"x", ""}))
		case []params.Given:
			f.Set(reflect.ValueOf([]params.Given{{Name: "x", Text: "1", Source: "-p"}}))
		case *runs.SweepData:
			f.Set(reflect.ValueOf(&runs.SweepData{Row: 2}))
		case *runs.RerunData:
			f.Set(reflect.ValueOf(&runs.RerunData{Run: "r", Sums: "s", Base: "b"}))
		case *JudgeRequest:
			f.Set(reflect.ValueOf(&JudgeRequest{Changing: []notebooks.StepID{"a"}, Env: map[string]string{"A": "b"}}))
		case []worktree.Restored:
			f.Set(reflect.ValueOf([]worktree.Restored{{Path: "p", Blob: "b", Mode: "m"},
				{Path: "q", Text: []byte("\xff")}}))
		default:
			switch f.Kind() {
			case reflect.String:
				f.SetString("text of " + v.Type().Field(i).Name)
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int64:
				f.SetInt(1500)
			default:
				t.Fatalf("%s is no data: %s", v.Type().Field(i).Name, f.Type())
			}
		}
	}
}

// TestNamesThatAreNoUTF8 are refused before anything is written, whichever option has them.
func TestNamesThatAreNoUTF8(t *testing.T) {
	const bad = "caf\xe9"
	for name, change := range map[string]func(*lab, *Request){
		`the path caf\xe9/n.md`: func(_ *lab, r *Request) { r.Path = bad + "/n.md" },
		`the path /x/caf\xe9`:   func(_ *lab, r *Request) { r.Output = "/x/" + bad },
		`the path /y/caf\xe9`:   func(_ *lab, r *Request) { r.Folder = "/y/" + bad },
		"--copy":                func(_ *lab, r *Request) { r.Copy = []string{"ok", bad} },
		"--skip-tag":            func(_ *lab, r *Request) { r.SkipTags = []string{bad} },
		`the path /z/caf\xe9`:   func(l *lab, _ *Request) { l.env["HOME"] = "/z/" + bad },
		`the path /s/caf\xe9`: func(l *lab,
			_ *Request) {
			l.Store = func(string) runs.Store { return runs.Store{Dir: "/s/" + bad} }
		},
		`the path /c/caf\xe9`: func(l *lab, _ *Request) { l.Cache = "/c/" + bad },
	} {
		l := newLab(t)
		req := l.request(step("#a", "print x"))
		change(l, &req)
		if _, err := l.Plan(t.Context(), req); err == nil || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), "is not UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequestKeepsPicturesBeside: a request that was made of another's record puts no picture elsewhere.
func TestRequestKeepsPicturesBeside(t *testing.T) {
	for assets, fine := range map[string]bool{"": true, "report_files": true, "../x": false, "a/b": false,
		"/etc": false,
		`a\b`:  false, "..": false} {
		p := &Plan{request: Request{Assets: assets}}
		e := &Engine{Getenv: func(string) (string, bool) { return "", false },
			Store: func(string) runs.Store { return runs.Store{} }}
		if err := p.checkText(e); (err == nil) != fine {
			t.Errorf("%q: %v", assets, err)
		}
	}
}

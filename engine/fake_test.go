package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// fakeKernel interprets the steps of a test itself: no process is started. A step is lines of commands, see fakeLine.
type fakeKernel struct {
	name  string
	hooks map[string]func()
	start func() error // nil starts
}

func (k *fakeKernel) Name() string { return k.name }

func (k *fakeKernel) Languages() []string { return []string{k.name} }

func (k *fakeKernel) ValidateParam(b notebooks.Bound) error {
	if b.Param.Name == "heavy" {
		return &notebooks.Error{Kind: notebooks.KindParameter, Msg: "parameter heavy: the fake cannot hold it"}
	}
	return nil
}

func (k *fakeKernel) Start(_ context.Context, o kernel.Options) (kernel.Session, error) {
	if k.start != nil {
		if err := k.start(); err != nil {
			return nil, err
		}
	}
	return &fakeSession{kernel: k, options: o, state: map[string]bool{}}, nil
}

type fakeSession struct {
	kernel  *fakeKernel
	options kernel.Options
	state   map[string]bool
	left    []process.Info
	dead    bool
}

func (s *fakeSession) Info() kernel.Info {
	return kernel.Info{Program: "/fake/" + s.kernel.name, Version: "1"}
}
func (s *fakeSession) EndStarted()  { s.left = nil }
func (s *fakeSession) Alive() bool  { return !s.dead }
func (s *fakeSession) Close() error { return nil }

func (s *fakeSession) Running() ([]int, []process.Info) { return nil, s.left }

func (s *fakeSession) Bind(_ context.Context, params []notebooks.Bound) error {
	for _, p := range params {
		s.state[p.Param.Name] = true
	}
	return nil
}

func (s *fakeSession) Run(ctx context.Context, r kernel.Request) (out kernel.Outcome, err error) {
	dir := r.Dir
	if dir == "" {
		dir = s.options.Dir
	}
	for line := range strings.Lines(string(r.Code)) {
		if err := s.line(ctx, r, dir, strings.Fields(line), &out); err != nil {
			return out, err
		}
		if out.Exit != 0 || s.dead {
			break
		}
	}
	out.Left = s.left
	return out, nil
}

// line does one command of a step.
func (s *fakeSession) line(ctx context.Context, r kernel.Request, dir string, words []string,
	out *kernel.Outcome) error {
	if len(words) == 0 {
		return nil
	}
	rest := words[1:]
	file := func() string { return filepath.Join(dir, filepath.FromSlash(rest[0])) }
	switch words[0] {
	case "print":
		_, err := fmt.Fprintln(r.Stdout, strings.Join(rest, " "))
		return err
	case "warn":
		_, err := fmt.Fprintln(r.Stderr, strings.Join(rest, " "))
		return err
	case "env":
		_, err := fmt.Fprintf(r.Stdout, "%s=%s\n", rest[0], s.env(r, rest[0]))
		return err
	case "write":
		if err := os.MkdirAll(filepath.Dir(file()), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file(), []byte(strings.Join(rest[1:], " ")+"\n"), 0o644)
	case "remove":
		return os.Remove(file())
	case "link":
		return os.Symlink(rest[1], file())
	case "glue":
		text := `{"name":"` + rest[0] + `","type":"` + rest[1] + `","value":` + rest[2] + "}\n"
		if rest[1] == "file" {
			text = `{"name":"` + rest[0] + `","type":"file","value":null,"file":"` + rest[2] + "\"}\n"
		}
		f, err := os.OpenFile(s.options.Scraps, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.WriteString(f, text)
		return err
	case "gluenv", "writenv", "displayenv": // as glue, write, display of a variable
		value := s.env(r, rest[1])
		command := map[string][]string{"gluenv": {"glue", rest[0], "text", strconv.Quote(value)},
			"writenv": {"write", rest[0], value}, "displayenv": {"display", rest[0], value}}[words[0]]
		return s.line(ctx, r, dir, command, out)
	case "display":
		if err := os.MkdirAll(r.DisplayDir, 0o755); err != nil {
			return err
		}
		out.Displays = append(out.Displays, kernel.Display{File: rest[0], MIME: "text/plain", Alt: rest[1]})
		return os.WriteFile(filepath.Join(r.DisplayDir, rest[0]), []byte(rest[1]), 0o644)
	case "hold":
		out.Displays = append(out.Displays, kernel.Display{File: rest[0], MIME: "text/plain"})
		out.Held = map[string][]byte{rest[0]: []byte(rest[1])}
	case "set":
		s.state[rest[0]] = true
	case "need":
		if !s.state[rest[0]] {
			out.Exit, out.Err = 1, &kernel.ExecError{Name: "NameError", Value: rest[0] + " is not set"}
		}
	case "same": // fails unless a file has this content
		b, err := os.ReadFile(file())
		if err != nil || strings.TrimSpace(string(b)) != strings.Join(rest[1:], " ") {
			out.Exit = 1
		}
	case "raise":
		out.Exit, out.Err = 1, &kernel.ExecError{Name: rest[0], Value: strings.Join(rest[1:], " "),
			Traceback: "os.environ"}
	case "command":
		out.Exit, out.Failed = 1, &kernel.FailedCommand{Line: r.Line, Command: strings.Join(rest, " ")}
	case "exit":
		out.Exit, _ = strconv.Atoi(rest[0])
	case "die":
		out.Exit, out.Died, s.dead = 1, true, true
	case "leave":
		pid, _ := strconv.Atoi(rest[0])
		parent, _ := strconv.Atoi(rest[1])
		s.left = append(s.left, process.Info{PID: pid, Parent: parent, Program: "server", Started: uint64(pid)})
	case "wait":
		<-ctx.Done()
		out.Exit, out.TerminatedBy = 130, "interrupt"
		if context.Cause(ctx) != context.Canceled && isLimit(ctx) {
			out.TerminatedBy = "timeout"
		}
	case "call":
		s.kernel.hooks[rest[0]]()
		if ctx.Err() != nil {
			out.Exit, out.TerminatedBy = 143, "interrupt"
		}
	case "flaky": // fails the first time
		if !s.state["flaky"] {
			s.state["flaky"], out.Exit = true, 1
		}
	case "break":
		return fmt.Errorf("the fake kernel broke")
	default:
		return fmt.Errorf("the fake kernel does not know %q", words[0])
	}
	return nil
}

func (s *fakeSession) env(r kernel.Request, name string) string {
	if v, ok := r.Env[name]; ok {
		return v
	}
	for _, e := range s.options.Env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// lab is an engine with a fake kernel, a clock that goes on by a second with each look, and ids that count.
type lab struct {
	*Engine
	t    *testing.T
	dir  string
	root string // of the repository, "" without one
	fake *fakeKernel
	env  map[string]string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, dir: dir, fake: &fakeKernel{name: "bash", hooks: map[string]func(){}}}
	l.env = map[string]string{"HOME": filepath.Join(dir, "home"), "PATH": os.Getenv("PATH")}
	l.Engine = labEngine(dir, l.fake, l.env)
	return l
}

func labEngine(dir string, fake *fakeKernel, env map[string]string) *Engine {
	now := noon
	return &Engine{
		Version: "test", Cache: filepath.Join(dir, "cache"), User: "bob", PID: 7,
		Store:  func(string) runs.Store { return runs.Store{Dir: filepath.Join(dir, "store")} },
		Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Now:    func() time.Time { return now },
		Random: &counting{},
		ProbeSandbox: func(context.Context, sandbox.Need) sandbox.Offer {
			return sandbox.Offer{System: "linux", Landlock: 6, Network: true, Mounts: true, Limits: true, IPC: true}
		},
		Kernels: func(name string) (kernel.Kernel, bool) { return fake, name == fake.name },
	}
}

// counting are random bytes that differ from read to read and are the same in every test.
type counting struct{ n byte }

func (c *counting) Read(b []byte) (int, error) {
	c.n++
	return copy(b, bytes.Repeat([]byte{c.n}, len(b))), nil
}

// repository makes a repository with a commit of the files, and lets the engine work on it.
func (l *lab) repository(files map[string]string) {
	l.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		l.t.Skip("git is not installed")
	}
	l.root = filepath.Join(l.dir, "repo")
	for name, text := range files {
		l.write(name, text)
	}
	l.git("init", "-q", "-b", "main")
	l.git("add", "-A")
	l.git("commit", "-q", "-m", "base", "--allow-empty")
	l.open()
}

// open reads the repository and its settings again.
func (l *lab) open() {
	l.t.Helper()
	src, err := worktree.Open(l.root)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Source = src
	if l.Config, err = LoadConfig(l.root); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) git(args ...string) string {
	l.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@localhost"}, args...)...)
	c.Dir = l.root
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+l.dir,
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
	out, err := c.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// request is one for a notebook of Markdown.
func (l *lab) request(source string) Request {
	return Request{Path: "task.md", Source: []byte(source), Repository: l.root}
}

// texts is a view that stands for all files that people read.
var texts = View{Name: "texts", Write: func(in ViewInput) error {
	for _, name := range []string{runs.OutputFile, runs.ReportPageFile, runs.TestLogFile} {
		if in.Run.Left(name) != nil {
			continue
		}
		if err := runs.At(in.Dir).Write(name, []byte(in.Run.Status()+"\n")); err != nil {
			return err
		}
	}
	return nil
}}

// sums is the view that completes a record: report.json and SHA256SUMS.
var sums = View{Name: runs.ReportFile, Seals: true, Write: func(in ViewInput) error {
	r, err := runs.At(in.Dir).Report(in.Run, in.Known)
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := runs.At(in.Dir).Write(runs.ReportFile, b); err != nil {
		return err
	}
	return runs.At(in.Dir).Seal(r.ArtifactDigests)
}}

// run plans and runs, and checks what holds of every record.
func (l *lab) run(req Request, sinks ...Sinks) *Result {
	l.t.Helper()
	return l.runUntil(l.t.Context(), req, sinks...)
}

func (l *lab) runUntil(ctx context.Context, req Request, sinks ...Sinks) *Result {
	l.t.Helper()
	plan, err := l.Plan(l.t.Context(), req)
	if err != nil {
		l.t.Fatal(err)
	}
	s := Sinks{}
	if len(sinks) > 0 {
		s = sinks[0]
	}
	s.Views = append(s.Views, texts, sums)
	result, err := l.Run(ctx, plan, s)
	if err != nil {
		l.t.Fatal(err)
	}
	record, _, err := runs.At(result.Dir).Load()
	if err != nil {
		l.t.Fatal(err)
	}
	if record.Status() != result.Run.Status() {
		l.t.Errorf("the record says %s, and the result %s", record.Status(), result.Run.Status())
	}
	if entries, _ := os.ReadDir(filepath.Join(l.Cache, "work")); !req.KeepTree && len(entries) > 0 {
		l.t.Errorf("the run left %v in the cache", entries)
	}
	return result
}

// want checks how a run ended: its status, and the codes and words of its blockers.
func (l *lab) want(r *Result, status runs.Status, blockers ...string) {
	l.t.Helper()
	if r.Run.Status() != status {
		l.t.Errorf("the run ended as %s, want %s: %+v", r.Run.Status(), status, r.Run.Blockers())
	}
	var got []string
	for _, b := range r.Run.Blockers() {
		got = append(got, fmt.Sprintf("%s %s: %s %s", b.Code, b.Step, b.Text(), b.Rule))
	}
	if len(got) != len(blockers) {
		l.t.Fatalf("blockers %q, want %q", got, blockers)
	}
	for i, words := range blockers {
		for word := range strings.SplitSeq(words, "|") {
			if !strings.Contains(got[i], word) {
				l.t.Errorf("blocker %q, want %q in it", got[i], word)
			}
		}
	}
}

// statuses are the steps of a run with how they ended.
func statuses(r *Result) string {
	var out []string
	for _, s := range r.Run.Steps {
		status := "-"
		if s.Finished != nil {
			status = string(s.Finished.Status)
		}
		out = append(out, string(s.Planned.ID)+" "+status)
	}
	return strings.Join(out, ", ")
}

// read is a file of a run directory.
func (l *lab) read(r *Result, name string) string {
	l.t.Helper()
	b, err := runs.At(r.Dir).ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

// stdout is what a step printed.
func (l *lab) stdout(r *Result, step notebooks.StepID) string {
	l.t.Helper()
	i := slices.IndexFunc(r.Run.Steps, func(s runs.StepRecord) bool { return s.Planned.ID == step })
	if i < 0 || r.Run.Steps[i].Finished == nil || r.Run.Steps[i].Finished.Stdout.File == "" {
		return ""
	}
	return l.read(r, r.Run.Steps[i].Finished.Stdout.File)
}

// files are the digests of all files of a run directory.
func files(t *testing.T, dir string) map[string]runs.Digest {
	t.Helper()
	out := map[string]runs.Digest{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = runs.DigestOf(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// verify checks a record as verify does. The output notebook of these tests has no manifest.
func (l *lab) verify(r *Result) {
	l.t.Helper()
	v, err := runs.At(r.Dir).Verify(nil, runs.Signers{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range v.Findings {
		if f.String() != "output.md: has no manifest" {
			l.t.Errorf("verify: %s", f)
		}
	}
}

//go:build unix

package kernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
)

// dialect is how the conformance suite says things to one kernel. A field that is empty is something that
// the kernel cannot do by its nature; the test of it is then skipped by name.
type dialect struct {
	kernel    Kernel
	set, get  string // keep a value and a function; use both: prints "kept 1"
	chdir     string // change to the parent directory
	where     string // print the working directory
	env       string // print the variable STEP_VAR, "none" without it
	fail      string // exit code 3, without ending the session
	raise     string // an error of the language; on its own line 2
	big       string // 64 MiB of "x" on stdout
	both      string // "o1" "o2" on stdout and "e1" "e2" on stderr
	bytes     string // the bytes ff 00 fe on stdout, no newline
	mark      string // prints lines that look like the driver's own words
	stdin     string // prints "eof" when stdin is at its end
	die       string // kills its own interpreter with signal 9, after printing "last"
	last      string // what of that is seen: a Jupyter kernel holds back what it prints
	wait      string // prints "ready" and waits long
	hang      string // the same, deaf to interrupt and term
	closes    string // closes its own stdout and stderr
	closesAll string // closes every descriptor from 3 to 60
	outlive   string // starts children that outlive it in several ways and prints their process ids
	say       func(text string) string
	show      func(name string) string // prints the parameter as text, no newline
	glue      func(name, text string) string
	scrap     func(name string) string // prints the scrap's text
}

func shellDialect(k Kernel) dialect {
	d := dialect{
		kernel: k,
		set:    "kept=1\nf() { echo \"kept $kept\"; }", get: "f",
		chdir: "cd ..", where: "pwd",
		env:  `echo "${STEP_VAR-none}"`,
		fail: "(exit 3)", raise: "\nno_such_command_here",
		big:  "head -c 67108864 /dev/zero | tr '\\0' x",
		both: "echo o1; echo e1 >&2; echo o2; echo e2 >&2", bytes: `printf '\377\000\376'`,
		mark:  `printf '1 0 0\n2 0 0\n3 0 0\nhello 1 1\nover\n__mm_whole=1\n'; printf '\0337'`,
		stdin: "read x || echo eof", die: "echo last; kill -9 $$", last: "last\n",
		wait: "echo ready; sleep 300", hang: "trap '' INT TERM; echo ready; sleep 300",
		closes: "exec >&- 2>&-", closesAll: "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-",
		say:   func(text string) string { return "printf %s " + singleQuote(text) },
		show:  func(name string) string { return `printf %s "$` + name + `"` },
		glue:  func(name, text string) string { return "glue " + name + " " + singleQuote(text) },
		scrap: func(name string) string { return "printf %s \"$(scrap " + name + ")\"" },
	}
	d.outlive = `: >pids.txt
sleep 300 & echo $! >>pids.txt
setsid sh -c 'echo $$ >>pids.txt; exec sleep 300' &
(nohup sh -c 'echo $$ >>pids.txt; exec sleep 300' >/dev/null 2>&1 &)
(setsid sh -c '(sh -c "echo \$\$ >>pids.txt; exec sleep 300" &)' &)
(setsid sh -c 'trap "" TERM; echo $$ >>pids.txt; while :; do sleep 300; done' &)
until [ "$(wc -l <pids.txt)" -ge 5 ]; do :; done
cat pids.txt`
	return d
}

func dialects() []dialect {
	kernel := func(name string) Kernel { k, _ := Lookup(name); return k }
	sh := shellDialect(kernel("sh"))
	script := shellDialect(NewCommand("script", []string{"sh", "{file}"}))
	script.set, script.get, script.closes, script.closesAll, script.chdir = "", "", "", "", ""
	script.show = func(name string) string { return `printf %s "$MARKMILL_PARAM_` + name + `"` }
	script.fail = "exit 3"
	python := dialect{
		kernel: kernel("python"),
		set:    "kept = 1\ndef f():\n    print('kept', kept)", get: "f()",
		chdir: "import os; os.chdir('..')", where: "import os; print(os.getcwd())",
		env:  "import os; print(os.environ.get('STEP_VAR', 'none'))",
		fail: "import sys; sys.exit(3)", raise: "\nraise ValueError('no')",
		big:   "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 20))",
		both:  "import sys\nprint('o1'); print('e1', file=sys.stderr); print('o2'); print('e2', file=sys.stderr)",
		bytes: "import sys; n = sys.stdout.buffer.write(bytes([255, 0, 254]))",
		mark:  `print('1 0 0\n2 0 0\n3 0 0\nhello 1 1\nover\n__mm_whole=1\n\x1b7', end='')`,
		stdin: "import sys\nif sys.stdin.read() == '': print('eof')",
		die:   "import os; print('last'); os.kill(os.getpid(), 9)", last: "last\n",
		wait:   "import time; print('ready'); time.sleep(300)",
		hang:   "import signal, time\nfor s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\nprint('ready'); time.sleep(300)",
		closes: "import os, sys\nsys.stdout.close(); sys.stderr.close()\nfor fd in (1, 2):\n    os.close(fd)", closesAll: "import os; os.closerange(3, 60)",
		outlive: "import subprocess, sys\nif subprocess.call(['sh', '-c', " + pythonString(sh.outlive) + "]): raise SystemError",
		say:     func(text string) string { return "print(" + pythonString(text) + ", end='')" },
		show:    func(name string) string { return "print(" + name + ", end='')" },
		glue:    func(name, text string) string { return "glue(" + pythonString(name) + ", " + pythonString(text) + ")" },
		scrap:   func(name string) string { return "print(scraps[" + pythonString(name) + "], end='')" },
	}
	node := dialect{
		kernel: kernel("node"),
		set:    "const kept = 1; function f() { console.log('kept', kept) }", get: "f()",
		chdir: "process.chdir('..')", where: "console.log(process.cwd())",
		env:  "console.log(process.env.STEP_VAR ?? 'none')",
		fail: "process.exit(3)", raise: "\nthrow new TypeError('no')",
		big:   "for (let i = 0; i < 64; i++) process.stdout.write('x'.repeat(1 << 20)); undefined",
		both:  "console.log('o1'); console.error('e1'); console.log('o2'); console.error('e2')",
		bytes: "process.stdout.write(Buffer.from([255, 0, 254])); undefined",
		mark:  `process.stdout.write('1 0 0\n2 0 0\n3 0 0\nhello 1 1\nover\n__mm_whole=1\n\x1b7'); undefined`,
		stdin: "process.stdin.on('end', () => console.log('eof')).resume(); undefined",
		die:   "console.log('last'); process.kill(process.pid, 'SIGKILL')", last: "last\n",
		wait:    "console.log('ready'); await new Promise((r) => setTimeout(r, 300000))",
		hang:    "process.on('SIGTERM', () => {}); process.removeAllListeners('SIGINT'); process.on('SIGINT', () => {}); console.log('ready'); await new Promise((r) => setTimeout(r, 300000))",
		closes:  "const fs = require('fs'); fs.closeSync(1); fs.closeSync(2)",
		outlive: "require('child_process').execFileSync('sh', ['-c', " + pythonString(sh.outlive) + "], { stdio: 'inherit' }); undefined",
		say:     func(text string) string { return "process.stdout.write(" + pythonString(text) + "); undefined" },
		show:    func(name string) string { return "process.stdout.write(String(" + name + ")); undefined" },
		glue:    func(name, text string) string { return "glue(" + pythonString(name) + ", " + pythonString(text) + ")" },
		scrap:   func(name string) string { return "process.stdout.write(scraps[" + pythonString(name) + "]); undefined" },
	}
	zsh := shellDialect(kernel("zsh"))
	zsh.wait = "command echo ready; sleep 300" // zsh 5.9 prints a line of its own twice when a signal comes in the middle of it
	all := []dialect{shellDialect(kernel("bash")), sh, zsh, python, node, script}
	if k, ok := ipykernel(); ok {
		jupyter := python
		jupyter.kernel, jupyter.bytes, jupyter.closes, jupyter.closesAll, jupyter.last = k, "", "", "", ""
		all = append(all, jupyter)
	}
	return all
}

// ipykernel is the kernel of Jupyter for Python, in the environment that MARKMILL_PEERS names a Python of.
func ipykernel() (Kernel, bool) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		return nil, false
	}
	spec, err := jupyter.Load(filepath.Join(filepath.Dir(filepath.Dir(python)), "share", "jupyter", "kernels", "python3"))
	return NewJupyter(spec), err == nil
}

// pythonString is text as a literal of Python and of JavaScript.
func pythonString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// harness is a session under test, and what a notebook would give it.
type harness struct {
	Session
	t                          *testing.T
	dir, private, step, scraps string
}

// start starts a session, or skips the test when the interpreter is not installed.
func start(t *testing.T, k Kernel, change ...func(*Options)) *harness {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, dir: filepath.Join(root, "work"), private: filepath.Join(root, "it's pri v$te"), step: filepath.Join(root, "step"), scraps: filepath.Join(root, "scraps.jsonl")}
	for _, d := range []string{h.dir, h.private} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Dir: h.dir, Env: h.env(root), Private: h.private, Grace: 300 * time.Millisecond, Scraps: h.scraps, Mark: NewMark()}
	for _, c := range change {
		c(&o)
	}
	s, err := k.Start(context.Background(), o)
	if err != nil {
		if strings.Contains(err.Error(), "not found on PATH") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	h.Session = s
	t.Cleanup(func() { h.Close() })
	return h
}

// env is a small environment, with the test binary as the commands glue and scrap.
func (h *harness) env(root string) []string {
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		h.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range []string{"glue", "scrap"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			h.t.Fatal(err)
		}
	}
	return []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + root, "LANG=C.UTF-8", "MARKMILL_SCRAPS=" + h.scraps, "MARKMILL_STEP_DIR=" + h.step}
}

type result struct {
	Outcome
	stdout, stderr string
}

func (h *harness) request(code string, stdout, stderr *bytes.Buffer) Request {
	return Request{ID: "step", Code: []byte(code), File: "task.md", Line: 10, Stdout: stdout, Stderr: stderr, DisplayDir: h.step}
}

func (h *harness) run(code string, change ...func(*Request)) result {
	h.t.Helper()
	return h.runContext(context.Background(), code, change...)
}

func (h *harness) runContext(ctx context.Context, code string, change ...func(*Request)) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("the step hangs"))
	defer cancel()
	var stdout, stderr bytes.Buffer
	r := h.request(code, &stdout, &stderr)
	for _, c := range change {
		c(&r)
	}
	out, err := h.Run(ctx, r)
	if err != nil {
		h.t.Fatalf("%s: %v", code, err)
	}
	return result{out, stdout.String(), stderr.String()}
}

// shown is the content of a display of a step.
func (h *harness) shown(of result, display int) ([]byte, error) {
	file := of.Displays[display].File
	if content, held := of.Held[file]; held {
		return content, nil
	}
	return os.ReadFile(filepath.Join(h.step, file))
}

// ok runs a step that must pass and print exactly want.
func (h *harness) ok(code, want string) result {
	h.t.Helper()
	got := h.run(code)
	if got.Exit != 0 || got.stdout != want {
		h.t.Fatalf("%q: exit %d, stdout %.200q, stderr %.500q; want stdout %.200q", code, got.Exit, got.stdout, got.stderr, want)
	}
	return got
}

// each runs a test for every kernel that says something for it.
func each(t *testing.T, has func(dialect) string, test func(t *testing.T, d dialect)) {
	for _, d := range dialects() {
		t.Run(d.kernel.Name(), func(t *testing.T) {
			if has(d) == "" {
				t.Skip("not a thing of this kernel")
			}
			test(t, d)
		})
	}
}

func TestStateIsKept(t *testing.T) {
	each(t, func(d dialect) string { return d.set }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.ok(d.set, "")
		h.ok(d.get, "kept 1\n")
		h.ok(d.chdir, "")
		h.ok(d.where, filepath.Dir(h.dir)+"\n")
		h.ok(d.get, "kept 1\n")
	})
}

func TestStreamsAreWholeAndInOrder(t *testing.T) {
	each(t, func(d dialect) string { return d.both }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		for range 50 {
			if got := h.run(d.both); got.stdout != "o1\no2\n" || got.stderr != "e1\ne2\n" {
				t.Fatalf("stdout %q stderr %q", got.stdout, got.stderr)
			}
		}
		h.ok(d.say("no newline"), "no newline")
		if d.bytes != "" {
			h.ok(d.bytes, "\xff\x00\xfe")
		}
		h.ok("", "")
		h.ok("\n", "")
	})
}

func TestWordsOfTheDriverInOutputMeanNothing(t *testing.T) {
	each(t, func(d dialect) string { return d.mark }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.ok(d.mark, "1 0 0\n2 0 0\n3 0 0\nhello 1 1\nover\n__mm_whole=1\n\x1b7")
		h.ok(d.say("next"), "next")
	})
}

func TestExitCodes(t *testing.T) {
	each(t, func(d dialect) string { return d.fail }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		if got := h.run(d.fail); got.Exit != 3 || got.Died || got.TerminatedBy != "" {
			t.Fatalf("%+v", got)
		}
		if got := h.run(d.raise); got.Exit == 0 || d.set != "" && !strings.Contains(got.stderr, "11") {
			t.Fatalf("the message must name line 11 of the notebook: %+v", got)
		} else if d.kernel.Name() == "python" || d.kernel.Name() == "node" {
			if got.Err == nil || got.Err.Line != 11 || !strings.HasSuffix(got.Err.Name, "Error") || got.Err.Value != "no" {
				t.Fatalf("%+v", got.Err)
			}
		}
		h.ok(d.say("alive"), "alive")
	})
}

// counter checks a stream of one repeated byte without keeping it.
type counter struct {
	sum hash.Hash
	n   int64
}

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return c.sum.Write(p) }

func TestBigOutput(t *testing.T) {
	want := sha256.Sum256(bytes.Repeat([]byte("x"), 64<<20))
	each(t, func(d dialect) string { return d.big }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		c := &counter{sum: sha256.New()}
		out, err := h.Run(context.Background(), Request{Code: []byte(d.big), File: "task.md", Line: 1, Stdout: c, Stderr: &bytes.Buffer{}})
		if err != nil || out.Exit != 0 || c.n != 64<<20 || !bytes.Equal(c.sum.Sum(nil), want[:]) {
			t.Fatalf("%+v %v, %d bytes", out, err, c.n)
		}
	})
}

func TestStdinIsEmpty(t *testing.T) {
	each(t, func(d dialect) string { return d.stdin }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.ok(d.stdin, "eof\n")
	})
}

func TestDirectoryAndEnvironmentOfAStep(t *testing.T) {
	each(t, func(d dialect) string { return d.env }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		value := "a 'quoted' \"value\"\nof $(touch pwned) `lines`"
		h.ok(d.env, "none\n")
		if got := h.run(d.env, func(r *Request) { r.Env = map[string]string{"STEP_VAR": value} }); got.stdout != value+"\n" {
			t.Fatalf("%+v", got)
		}
		h.ok(d.env, "none\n")
		sub := filepath.Join(h.dir, "a 'b' $c")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := h.run(d.where, func(r *Request) { r.Dir = sub }); got.stdout != sub+"\n" {
			t.Fatalf("%+v", got)
		}
		if got := h.run(d.where, func(r *Request) { r.Dir = filepath.Join(sub, "gone") }); got.Exit == 0 || got.stderr == "" {
			t.Fatalf("a directory that is not there: %+v", got)
		}
		nothingRan(t, h)
	})
}

func nothingRan(t *testing.T, h *harness) {
	t.Helper()
	filepath.WalkDir(filepath.Dir(h.dir), func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(filepath.Base(path), "pwned") {
			t.Errorf("a value ran as code: %s", path)
		}
		return nil
	})
}

func TestDeathOfTheInterpreter(t *testing.T) {
	each(t, func(d dialect) string { return d.die }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		got := h.run(d.die)
		if got.Exit != 137 || got.TerminatedBy != "signal KILL" || got.stdout != d.last {
			t.Fatalf("%+v", got)
		}
		if d.set == "" { // a program of its own each step
			h.ok(d.say("next"), "next")
			return
		}
		if !got.Died || h.Alive() {
			t.Fatalf("died %v, alive %v", got.Died, h.Alive())
		}
		if got := h.run(d.get); got.Exit == 0 || !got.Died {
			t.Fatalf("a step on a dead session: %+v", got)
		}
	})
}

// trigger calls do once when the stream first says something.
type trigger struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), "ready") {
		w.once.Do(w.do)
	}
	return n, err
}

// endWhenReady cancels a step as soon as it prints "ready".
func (h *harness) endWhenReady(code string, cause error) (Outcome, string) {
	h.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stdout := &trigger{do: func() { cancel(cause) }}
	out, err := h.Run(ctx, Request{Code: []byte(code), File: "task.md", Line: 10, Stdout: stdout, Stderr: &bytes.Buffer{}})
	if err != nil {
		h.t.Fatal(err)
	}
	return out, stdout.String()
}

func TestInterruptKeepsState(t *testing.T) {
	each(t, func(d dialect) string { return d.set }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel, patient)
		h.ok(strings.Split(d.set, "\nf()")[0], "") // sh loses functions and says so
		out, stdout := h.endWhenReady(d.wait, nil)
		if out.Exit != 130 || out.TerminatedBy != "interrupt" || out.Died || stdout != "ready\n" {
			t.Fatalf("%+v %q", out, stdout)
		}
		h.ok(d.say("alive"), "alive")
		if strings.Contains(d.set, "$kept") {
			h.ok("echo $kept", "1\n")
		} else {
			h.ok(d.get, "kept 1\n")
		}
		if out, _ := h.endWhenReady(d.wait, context.DeadlineExceeded); out.TerminatedBy != "timeout" || out.Exit == 0 {
			t.Fatalf("%+v", out)
		}
		h.ok(d.say("alive"), "alive")
	})
}

func TestHangIsKilled(t *testing.T) {
	each(t, func(d dialect) string { return d.hang }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		out, stdout := h.endWhenReady(d.hang, context.DeadlineExceeded)
		if out.Exit == 0 || out.TerminatedBy != "timeout" || stdout != "ready\n" {
			t.Fatalf("%+v %q", out, stdout)
		}
	})
}

func TestChildrenEndWithTheirStepWhereAsked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds the children of a step that goes on")
	}
	each(t, func(d dialect) string { return d.outlive }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel, func(o *Options) { o.EndWithStep = true })
		got := h.run(d.outlive)
		pids := strings.Fields(got.stdout)
		if got.Exit != 0 || len(pids) != 5 || got.Leftover < 5 {
			t.Fatalf("%+v", got)
		}
		for _, pid := range pids {
			if running(pid) {
				t.Errorf("process %s outlived its step", pid)
			}
		}
		if next := h.run(d.say("next")); next.stdout != "next" || next.stderr != "" || next.Leftover != 0 {
			t.Fatalf("the step after: %+v", next)
		}
	})
}

func TestChildrenDoNotOutliveATimeLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds the children of a step that goes on")
	}
	each(t, func(d dialect) string { return d.outlive }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		out, stdout := h.endWhenReady(d.outlive+"\n"+d.wait, context.DeadlineExceeded)
		pids := strings.Fields(stdout)
		if out.TerminatedBy != "timeout" || len(pids) != 6 {
			t.Fatalf("%+v %q", out, stdout)
		}
		for _, pid := range pids[:5] {
			if running(pid) {
				t.Errorf("process %s outlived its step", pid)
			}
		}
	})
}

// running says whether a process is there and has not ended.
func running(pid string) bool {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	return fields[0] != "Z"
}

// A process of one session is left alone when another session ends.
func TestSessionsDoNotEndEachOthersProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds the children of a step that goes on")
	}
	bash, _ := Lookup("bash")
	first, second := start(t, bash), start(t, bash)
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan result)
	stdout := &trigger{do: func() { close(ready) }}
	go func() {
		code := "setsid sh -c 'echo $$ >pid; echo ready; exec sleep 300' & wait"
		out, _ := first.Run(ctx, Request{Code: []byte(code), File: "task.md", Line: 1, Stdout: stdout, Stderr: &bytes.Buffer{}})
		done <- result{Outcome: out}
	}()
	<-ready
	pid, err := os.ReadFile(filepath.Join(first.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if got := second.run("(setsid sleep 300 &)"); len(got.Left) != 1 {
		t.Errorf("its own orphan is not listed, or more than that: %+v", got)
	}
	second.Close()
	if !running(strings.TrimSpace(string(pid))) {
		t.Error("the process of another session was ended")
	}
	cancel()
	if out := <-done; out.TerminatedBy != "interrupt" {
		t.Errorf("%+v", out)
	}
	if running(strings.TrimSpace(string(pid))) {
		t.Error("the process outlived its own step")
	}
}

func TestClosedDescriptors(t *testing.T) {
	each(t, func(d dialect) string { return d.closes }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.run(d.closes)
		if got := h.run(d.both); got.stdout != "o1\no2\n" || got.stderr != "e1\ne2\n" {
			t.Fatalf("%+v", got)
		}
		if d.closesAll != "" {
			h.run(d.closesAll)
			h.ok(d.say("on"), "on")
		}
	})
}

var hostile = []string{
	"", " ", "plain", "say \"hi\"", "it's", "a\nb\n", "\n", "trailing \\", "$(touch pwned)", "`touch pwned`", "${HOME}", "'; touch pwned; '",
	"\"; import os; os.mkdir('pwned') #", "*", "a\tb\r\nc", "日本語 \u202e\ufeff", "-n", "-e \\x41", "%s%n", "007", "1.10", "\x1b[31m", "!!", "~", "\\u00e9",
	strings.Repeat("long ", 20000),
}

func TestHostileParameters(t *testing.T) {
	each(t, func(d dialect) string { return "any" }, func(t *testing.T, d dialect) {
		var params []notebooks.Bound
		for i, text := range hostile {
			params = append(params, bound(fmt.Sprintf("p%d", i), notebooks.Value{Type: notebooks.TypeString, Text: text}))
		}
		h := start(t, d.kernel, func(o *Options) { o.Params = params })
		for i, text := range hostile {
			h.ok(d.show(fmt.Sprintf("p%d", i)), text)
		}
		nothingRan(t, h)
	})
}

func bound(name string, v notebooks.Value) notebooks.Bound {
	return notebooks.Bound{Param: notebooks.Param{Name: name}, Value: v}
}

func TestScrapsFromEveryLanguageToEveryLanguage(t *testing.T) {
	all := dialects()
	for _, from := range all {
		t.Run(from.kernel.Name(), func(t *testing.T) {
			writer := start(t, from.kernel)
			for i, text := range []string{"007", "it's \"x\"\n$(touch pwned)", "é日本"} {
				name := fmt.Sprintf("s%d", i)
				writer.ok(from.glue(name, text), "")
				for _, to := range all {
					t.Run(to.kernel.Name(), func(t *testing.T) {
						reader := start(t, to.kernel, func(o *Options) {
							o.Scraps = writer.scraps
							o.Env = append(o.Env, "MARKMILL_SCRAPS="+writer.scraps)
						})
						reader.ok(to.scrap(name), text)
					})
				}
			}
			nothingRan(t, writer)
		})
	}
}

// A sandbox helper stands before the interpreter and becomes it.
func TestWrap(t *testing.T) {
	each(t, func(d dialect) string { return "any" }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel, func(o *Options) { o.Wrap = []string{"env", "STEP_VAR=wrapped"} })
		h.ok(d.env, "wrapped\n")
	})
}

func TestAMissingProgramIsSaidSo(t *testing.T) {
	for _, k := range append(Table(), NewCommand("nothing", []string{"no-such-program"})) {
		_, err := k.Start(context.Background(), Options{Program: "no-such-program", Dir: t.TempDir(), Private: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}})
		var e *notebooks.Error
		if !asError(err, &e) || e.Kind != notebooks.KindProvider {
			t.Errorf("%s: %v", k.Name(), err)
		}
		// One that is there and is no interpreter.
		s, err := k.Start(context.Background(), Options{Program: "false", Dir: t.TempDir(), Private: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}})
		if _, one := k.(*command); !one && (!asError(err, &e) || e.Kind != notebooks.KindProvider) {
			t.Errorf("%s with the program false: %v", k.Name(), err)
		}
		if err == nil {
			s.Close()
		}
	}
}

func TestTheInterpreterIsGoneAfterClose(t *testing.T) {
	each(t, func(d dialect) string { return d.set }, func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		pid := h.Info().PID
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("Info names no process: %d %v", pid, err)
		}
		h.Close()
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d after Close: %v", pid, err)
		}
		entries, err := os.ReadDir(h.private)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Type()&os.ModeNamedPipe != 0 || e.Name() == "params" {
				t.Errorf("%s is left in the private directory", e.Name())
			}
		}
	})
}

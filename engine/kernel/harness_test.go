//go:build unix

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/engine/process"
	"markmill/notebooks"
)

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
	h := &harness{t: t, dir: filepath.Join(root, "work"), private: filepath.Join(root, "it's pri v$te"),
		step: filepath.Join(root, "step"), scraps: filepath.Join(root, "scraps.jsonl")}
	for _, d := range []string{h.dir, h.private} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Dir: h.dir, Env: h.env(root), Private: h.private, Grace: 300 * time.Millisecond, Scraps: h.scraps,
		Mark: process.NewMark()}
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
	for _, name := range []string{"glue", "scrap", "check"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			h.t.Fatal(err)
		}
	}
	return []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + root, "LANG=C.UTF-8",
		"MARKMILL_SCRAPS=" + h.scraps, "MARKMILL_STEP_DIR=" + h.step,
		"GORACE=" + os.Getenv("GORACE")} // the test binary sleeps for a second at its end else, under the race detector
}

type result struct {
	Outcome
	stdout, stderr string
}

func (h *harness) request(code string, stdout, stderr *bytes.Buffer) Request {
	return Request{Code: []byte(code), File: "task.md", Line: 10, Stdout: stdout, Stderr: stderr,
		DisplayDir: h.step}
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
		h.t.Fatalf("%q: exit %d, stdout %.200q, stderr %.500q; want stdout %.200q",
			code, got.Exit, got.stdout, got.stderr, want)
	}
	return got
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
	r := h.request(code, nil, &bytes.Buffer{})
	r.Stdout = stdout
	out, err := h.Run(ctx, r)
	if err != nil {
		h.t.Fatal(err)
	}
	return out, stdout.String()
}

func bound(name string, v notebooks.Value) notebooks.Bound {
	return notebooks.Bound{Param: notebooks.Param{Name: name}, Value: v}
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

// running says whether a process is there and has not ended.
func running(pid string) bool {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	return fields[0] != "Z"
}

// patient gives a kernel time to answer an interrupt on a busy machine.
func patient(o *Options) { o.Grace = 20 * time.Second }

// impatient is for tests of what happens when time is over.
func impatient(o *Options) { o.Grace = 50 * time.Millisecond }

// outlive is a script of sh that starts five children that outlive it in several ways, and prints their process ids.
const outlive = `: >pids.txt
sleep 300 & echo $! >>pids.txt
setsid sh -c 'echo $$ >>pids.txt; exec sleep 300' &
(nohup sh -c 'echo $$ >>pids.txt; exec sleep 300' >/dev/null 2>&1 &)
(setsid sh -c '(sh -c "echo \$\$ >>pids.txt; exec sleep 300" &)' &)
(setsid sh -c 'trap "" TERM; echo $$ >>pids.txt; while :; do sleep 300; done' &)
until [ "$(wc -l <pids.txt)" -ge 5 ]; do :; done
cat pids.txt`

// started returns the process ids that outlive wrote to a file. A kernel may deliver what a shell prints after what the
// rest of the step prints, and not at all once the step is cut off.
func (h *harness) started(file string) []string {
	h.t.Helper()
	pids, err := os.ReadFile(filepath.Join(h.dir, file))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Fields(string(pids))
}

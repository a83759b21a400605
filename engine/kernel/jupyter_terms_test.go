//go:build unix

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"markmill/engine/kernel/jupyter"
	"markmill/engine/process"
	"markmill/runs"
)

func TestJupyterInterruptByMessage(t *testing.T) {
	k := installed(t, "python3").(jupyterKernel)
	k.spec.InterruptMode = "message"
	h := start(t, k, patient)
	h.ok("kept = 1", "")
	out, stdout := h.endWhenReady("import time; print('ready'); time.sleep(300)", nil)
	if out.Exit != 130 || out.TerminatedBy != "interrupt" || out.Died || stdout != "ready\n" {
		t.Fatalf("%+v %q", out, stdout)
	}
	h.ok("print(kept)", "1\n")
}

func TestJupyterDeath(t *testing.T) {
	k := installed(t, "python3")
	for _, c := range []struct {
		name, code string
		exit       int
		by         string
	}{
		{"exit", "import os; os._exit(7)", 7, ""},
		{"kill", "import os; os.kill(os.getpid(), 9)", 137, "signal KILL"},
		{"crash", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, "signal SEGV"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, k)
			if got := h.run(c.code); !got.Died || got.Exit != c.exit || got.TerminatedBy != c.by || h.Alive() {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("between steps", func(t *testing.T) {
		h := start(t, k)
		h.ok("print(1)", "1\n")
		if err := syscall.Kill(h.Info().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if got := h.run("print(2)"); !got.Died || got.Exit != 137 || got.TerminatedBy != "signal KILL" ||
			got.stdout != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestJupyterKernelsThatDoNotStart(t *testing.T) {
	for _, c := range []struct {
		name string
		argv []string
		want []string
	}{
		{"ends", []string{"sh", "-c", "echo no such module >&2; exit 3"},
			[]string{"it ended with exit code 3", "no such module"}},
		{"is killed", []string{"sh", "-c", "kill -9 $$"}, []string{"it was ended by signal KILL"}},
		{"ends once it is spoken to", []string{"env", "python3", "-I", "-c", `import json, select, socket, sys
c = json.load(open(sys.argv[1]))
ports = [socket.create_server((c["ip"], c[p])) for p in ("shell_port", "iopub_port", "stdin_port", "control_port")]
s, _ = select.select(ports, [], [])[0][0].accept()
s.close()
select.select([], [], [], 0.1)
sys.exit("no more to say")`, "{connection_file}"}, []string{"it ended with exit code 1", "no more to say"}},
		{"never answers", []string{"sleep", "300"}, []string{"it did not start in time"}},
		{"is not there", []string{"no-such-program-here", "{connection_file}"},
			[]string{"needs the program no-such-program-here"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			private := t.TempDir()
			ctx := context.Background()
			if c.name == "never answers" {
				var cancel func()
				ctx, cancel = context.WithTimeoutCause(ctx, 50*time.Millisecond, errors.New("it did not start in time"))
				defer cancel()
			}
			s, err := NewJupyter(jupyter.Spec{Name: "x", Language: "x", Argv: c.argv}).Start(ctx,
				Options{Dir: t.TempDir(), Private: private, Env: []string{"PATH=" + os.Getenv("PATH")},
					Grace: time.Second, Mark: process.NewMark()})
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
		})
	}
}

func TestJupyterAsksNobody(t *testing.T) {
	h := start(t, installed(t, "python3"))
	for _, code := range []string{"input('who? ')", "import getpass; getpass.getpass()"} {
		if got := h.run(code); got.Exit != 1 || got.Err.Name != "StdinNotImplementedError" ||
			!strings.Contains(got.stderr, "Nobody answers in a run: give the value as a parameter") {
			t.Errorf("%s: %+v", code, got)
		}
	}
	h.ok("import sys; print(repr(sys.stdin.read()))", "''\n")
}

func TestJupyterCommsAreSurvived(t *testing.T) {
	h := start(t, installed(t, "python3"))
	h.ok(`from comm import create_comm
c = create_comm(target_name="jupyter.widget", data={"state": {"_model_module": "m"}}, metadata={"version": "2.1.0"})
for i in range(100): c.send({"method": "update", "state": {"value": i}}, buffers=[b"x" * 1000])
print(len(get_ipython().kernel.comm_manager.comms))`, "1\n")
	h.ok("c.close(); print('closed')", "closed\n")
	h.ok("print('after')", "after\n")
}

// A kernel throws its queue away when a request fails: the next step, sent at once, must run all the same.
func TestJupyterStepsAfterAFailureRun(t *testing.T) {
	h := start(t, installed(t, "python3"))
	for range 50 {
		if got := h.run("1/0"); got.Exit != 1 || got.Err == nil || got.Err.Name != "ZeroDivisionError" {
			t.Fatalf("%+v", got)
		}
		h.ok("print('ran')", "ran\n")
	}
}

func TestJupyterUpdatesOfAnEarlierStepSayWhose(t *testing.T) {
	h := start(t, installed(t, "python3"))
	ordered := func(r *Request) { r.Ordered = true }
	types := func(r result) (out []string) {
		for _, o := range r.Outputs {
			out = append(out, o.Type+" "+o.DisplayID)
		}
		return out
	}
	if got := types(
		h.run("from IPython.display import display, HTML\nh = display(HTML('1'), display_id='a')\nh.update(HTML('2'))",
			ordered)); !slices.Equal(got, []string{"display_data a"}) {
		t.Error(got)
	}
	later := h.run("h.update(HTML('3'))", ordered)
	if got := types(later); !slices.Equal(got, []string{runs.OutputUpdate + " a"}) {
		t.Error(got)
	}
	if content, err := h.shown(later, 0); err != nil || string(content) != "3" {
		t.Errorf("%q %v", content, err)
	}
}

// An updatable display is kept as a result, even plain text, with or without ordering; and an update is marked as one.
func TestJupyterTextThatMayBeUpdatedIsAResult(t *testing.T) {
	h := start(t, installed(t, "python3"))
	read := func(r result) (out []string) {
		for i, d := range r.Displays {
			content, err := h.shown(r, i)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %s %q %v", d.ID, d.MIME, content, d.Update))
		}
		return out
	}
	first := h.run(
		"from IPython.display import display, HTML\nh = display('one', display_id='a')\nh.update('two')\n" +
			"display('plain')\nprint('x')")
	if got := read(first); !slices.Equal(got, []string{`a text/plain "'two'" false`}) ||
		first.stdout != "'plain'\nx\n" {
		t.Errorf("%q, printed %q", got, first.stdout)
	}
	later := h.run("h.update('three')\nh.update(HTML('<b>'))")
	if got := read(later); !slices.Equal(got, []string{`a text/html "<b>" true`}) || later.stdout != "" {
		t.Errorf("%q, printed %q", got, later.stdout)
	}
}

// Where a kernel's folder has a long name it listens on ports, which it must not share with another.
func TestJupyterKernelsAtOnceOnPorts(t *testing.T) {
	k := installed(t, "python3")
	if testing.Short() {
		t.Skip("twenty kernels at once take a while")
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			var file string
			h := start(t, k, func(o *Options) {
				o.Private = filepath.Join(o.Private, strings.Repeat("long", 25))
				file = filepath.Join(o.Private, "connection.json")
				if err := os.Mkdir(o.Private, 0o700); err != nil {
					t.Error(err)
				}
			})
			if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `"tcp"`) {
				t.Errorf("%s %v", text, err)
			}
			if got := h.run("print(6 * 7)"); got.stdout != "42\n" {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
}

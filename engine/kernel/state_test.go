//go:build unix

package kernel

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"markmill/notebooks"
)

func TestConformanceStateIsKept(t *testing.T) {
	each(t, "set", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.ok(d.step("set"), "")
		h.ok(d.step("define"), "")
		h.ok(d.step("get"), "kept 1\n")
		if d.step("chdir") != "" {
			h.ok(d.step("chdir"), "")
			h.ok(d.step("where"), filepath.Dir(h.dir)+"\n")
		}
		h.ok(d.step("get"), "kept 1\n")
	})
}

func TestConformanceExitCodes(t *testing.T) {
	each(t, "fail", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		if got := h.run(d.step("fail")); got.Exit != 3 || got.Died || got.TerminatedBy != "" {
			t.Fatalf("%+v", got)
		}
		if got := h.run(d.step("raise")); got.Exit == 0 || d.step("set") != "" && !strings.Contains(got.stderr, "11") {
			t.Fatalf("the message must name line 11 of the notebook: %+v", got)
		} else if name := d.step("raised"); name != "" {
			if got.Err == nil || got.Err.Line != 11 || got.Err.Name != name || got.Err.Value != "no" {
				t.Fatalf("%+v", got.Err)
			}
		}
		h.ok(d.say("alive"), "alive")
	})
}

func TestConformanceDirectoryAndEnvironmentOfAStep(t *testing.T) {
	each(t, "env", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		value := "a 'quoted' \"value\"\nof $(touch pwned) `lines`"
		h.ok(d.step("env"), "none\n")
		got := h.run(d.step("env"), func(r *Request) { r.Env = map[string]string{"STEP_VAR": value} })
		if got.stdout != value+"\n" {
			t.Fatalf("%+v", got)
		}
		h.ok(d.step("env"), "none\n")
		sub := filepath.Join(h.dir, "a 'b' $c")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := h.run(d.step("where"), func(r *Request) { r.Dir = sub }); got.stdout != sub+"\n" {
			t.Fatalf("%+v", got)
		}
		got = h.run(d.step("where"), func(r *Request) { r.Dir = filepath.Join(sub, "gone") })
		if got.Exit == 0 || got.stderr == "" {
			t.Fatalf("a directory that is not there: %+v", got)
		}
		nothingRan(t, h)
	})
}

func TestConformanceDeathOfTheInterpreter(t *testing.T) {
	each(t, "die", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		got := h.run(d.step("die"))
		if got.Exit != 137 || got.TerminatedBy != "signal KILL" ||
			strings.TrimSuffix(got.stdout, "\n") != d.step("last") {
			t.Fatalf("%+v", got)
		}
		if d.step("set") == "" { // a program of its own each step
			h.ok(d.say("next"), "next")
			return
		}
		if !got.Died || h.Alive() {
			t.Fatalf("died %v, alive %v", got.Died, h.Alive())
		}
		if got := h.run(d.step("value")); got.Exit == 0 || !got.Died {
			t.Fatalf("a step on a dead session: %+v", got)
		}
	})
}

func TestConformanceInterruptKeepsState(t *testing.T) {
	each(t, "set", func(t *testing.T, d dialect) {
		if d.step("wait") == "" || d.step("interrupt") == "no" {
			t.Skip("not a thing of this kernel: interrupt")
		}
		h := start(t, d.kernel, patient)
		h.ok(d.step("set"), "")
		out, stdout := h.endWhenReady(d.step("wait"), nil)
		if out.Exit != 130 || out.TerminatedBy != "interrupt" || out.Died || stdout != "ready\n" {
			t.Fatalf("%+v %q", out, stdout)
		}
		h.ok(d.say("alive"), "alive")
		h.ok(d.step("value"), "1\n")
		if out, _ := h.endWhenReady(d.step("wait"), context.DeadlineExceeded); out.TerminatedBy != "timeout" ||
			out.Exit == 0 {
			t.Fatalf("%+v", out)
		}
		h.ok(d.say("alive"), "alive")
	})
}

func TestConformanceHangIsKilled(t *testing.T) {
	each(t, "hang", func(t *testing.T, d dialect) {
		h := start(t, d.kernel, impatient)
		out, stdout := h.endWhenReady(d.step("hang"), context.DeadlineExceeded)
		if out.Exit == 0 || out.TerminatedBy != "timeout" || stdout != "ready\n" {
			t.Fatalf("%+v %q", out, stdout)
		}
	})
}

// A sandbox helper is started in place of the interpreter, and becomes it.
func TestConformanceWrap(t *testing.T) {
	each(t, "env", func(t *testing.T, d dialect) {
		h := start(t, d.kernel, func(o *Options) { o.Wrap = []string{"env", "STEP_VAR=wrapped"} })
		h.ok(d.step("env"), "wrapped\n")
	})
}

func TestAMissingProgramIsSaidSo(t *testing.T) {
	for _, k := range append(Table(), NewCommand("nothing", []string{"no-such-program"})) {
		begin := func(program string) (Session, error) {
			return k.Start(context.Background(), Options{Program: program, Dir: t.TempDir(), Private: t.TempDir(),
				Env: []string{"PATH=/usr/bin:/bin"}})
		}
		_, err := begin("no-such-program")
		var e *notebooks.Error
		if !asError(err, &e) || e.Kind != notebooks.KindProvider {
			t.Errorf("%s: %v", k.Name(), err)
		}
		s, err := begin("false") // which is there, but no interpreter
		if _, one := k.(*command); !one && (!asError(err, &e) || e.Kind != notebooks.KindProvider) {
			t.Errorf("%s with the program false: %v", k.Name(), err)
		}
		if err == nil {
			s.Close()
		}
	}
}

func TestConformanceTheInterpreterIsGoneAfterClose(t *testing.T) {
	each(t, "set", func(t *testing.T, d dialect) {
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

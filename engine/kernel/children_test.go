//go:build unix

package kernel

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestConformanceChildrenEndWithTheirStepWhereAsked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds the children of a step that goes on")
	}
	each(t, "shell", func(t *testing.T, d dialect) {
		h := start(t, d.kernel, impatient, func(o *Options) { o.EndWithStep = true })
		got := h.run(d.shell(outlive))
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

func TestConformanceChildrenDoNotOutliveATimeLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds the children of a step that goes on")
	}
	each(t, "shell", func(t *testing.T, d dialect) {
		h := start(t, d.kernel, impatient)
		out, stdout := h.endWhenReady(d.shell(outlive)+"\n"+d.step("wait"), context.DeadlineExceeded)
		pids := h.started("pids.txt")
		if out.TerminatedBy != "timeout" || len(pids) != 5 {
			t.Fatalf("%+v %q", out, stdout)
		}
		for _, pid := range pids {
			if running(pid) {
				t.Errorf("process %s outlived its step", pid)
			}
		}
	})
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
		out, _ := first.Run(ctx, Request{Code: []byte(code), File: "task.md", Line: 1, Stdout: stdout,
			Stderr: &bytes.Buffer{}})
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

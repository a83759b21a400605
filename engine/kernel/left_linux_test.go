package kernel

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"markmill/engine/process"
)

// lives returns which of the processes run.
func lives(pids []string) (alive []string) {
	for _, pid := range pids {
		if running(pid) {
			alive = append(alive, pid)
		}
	}
	return alive
}

func numbers(list []process.Info) (pids []string) {
	for _, p := range list {
		pids = append(pids, strconv.Itoa(p.PID))
	}
	return pids
}

func TestConformanceChildrenLiveUntilTheirSessionEnds(t *testing.T) {
	each(t, "shell", func(t *testing.T, d dialect) {
		h := start(t, d.kernel, impatient)
		got := h.run(d.shell(outlive))
		pids := strings.Fields(got.stdout)
		if got.Exit != 0 || len(pids) != 5 || got.Leftover != 0 {
			t.Fatalf("%+v", got)
		}
		for _, pid := range pids {
			if !slices.Contains(numbers(got.Left), pid) {
				t.Errorf("process %s is not listed in %+v", pid, got.Left)
			}
		}
		for _, p := range got.Left {
			if p.Program == "" || p.Started == 0 || p.Parent != 0 &&
				!slices.Contains(numbers(got.Left), strconv.Itoa(p.Parent)) {
				t.Errorf("%+v", p)
			}
		}
		next := h.run(d.say("next"))
		if next.stdout != "next" || next.stderr != "" || next.Leftover != 0 ||
			!slices.Equal(numbers(next.Left), numbers(got.Left)) {
			t.Errorf("the step after: %+v", next)
		}
		// Cutting off a step ends the processes that it started and no earlier ones.
		out, stdout := h.endWhenReady(d.shell(strings.ReplaceAll(outlive, "pids.txt", "more.txt"))+"\n"+d.step("wait"),
			context.DeadlineExceeded)
		more := h.started("more.txt")
		if out.TerminatedBy != "timeout" || len(more) != 5 {
			t.Fatalf("%+v %q", out, stdout)
		}
		if alive := lives(more); len(alive) > 0 {
			t.Errorf("processes %v outlived their step's limit", alive)
		}
		if alive := lives(pids); len(alive) != 5 && !out.Died {
			t.Errorf("of the processes %v of an earlier step only %v run", pids, alive)
		}
		h.Close()
		if alive := lives(pids); len(alive) > 0 {
			t.Errorf("processes %v outlived their session", alive)
		}
	})
}

// What a step that is tried again has started is ended before it is; see Session.EndStarted.
func TestConformanceEndStarted(t *testing.T) {
	each(t, "shell", func(t *testing.T, d dialect) {
		h := start(t, d.kernel, impatient)
		first := strings.Fields(h.run(d.shell(outlive)).stdout)
		second := strings.Fields(h.run(d.shell(strings.ReplaceAll(outlive, "pids.txt", "more.txt"))).stdout)
		h.EndStarted()
		if len(lives(first)) != 5 || len(lives(second)) != 0 || len(second) != 5 {
			t.Errorf("%v and %v run of %v and %v", lives(first), lives(second), first, second)
		}
		if _, left := h.Running(); len(left) < 5 {
			t.Errorf("%+v", left)
		}
	})
}

// A shell that its author ends is restarted and keeps its processes.
func TestChildrenLiveOverARestart(t *testing.T) {
	eachShell(t, func(t *testing.T, _ string, h *harness) {
		pids := strings.Fields(
			h.run(
				"sleep 300 & echo $!; (setsid sh -c 'echo $$ >pid; exec sleep 300' &); until [ -s pid ]; do :; done; " +
					"cat pid").stdout)
		if got := h.run("exit 3"); !got.Restarted || len(got.Left) != 2 || len(lives(pids)) != 2 {
			t.Fatalf("%+v; of %v run %v", got, pids, lives(pids))
		}
		if got := h.run("kill -9 $$"); !got.Died || len(lives(pids)) != 0 {
			t.Errorf("%+v; the shell has ended for good, and of %v run %v", got, pids, lives(pids))
		}
	})
}

// A job of one step can be waited for and ended in another, as in any script.
func TestJobsOverSteps(t *testing.T) {
	eachShell(t, func(t *testing.T, _ string, h *harness) {
		h.run("sleep 300 & server=$!")
		if got := h.run("kill $server; wait $server; echo $?"); got.stdout != "143\n" || len(got.Left) != 0 {
			t.Errorf("%+v", got)
		}
		h.run("sh -c 'exit 7' & job=$!")
		if got := h.run("wait $job; echo $?"); got.stdout != "7\n" {
			t.Errorf("%+v", got)
		}
	})
}

// A process that exits right after its step does not count as left.
func TestPassingProcessesAreNotLeft(t *testing.T) {
	bash, _ := Lookup("bash")
	h := start(t, bash)
	if got := h.run("echo text > >(cat; echo end)"); got.stdout != "text\nend\n" || len(got.Left) != 0 {
		t.Errorf("%+v", got)
	}
}

// What a process prints later is the output of the step that runs then, or else of the next one.
func TestConformanceOutputOfWhatIsLeft(t *testing.T) {
	each(t, "shell", func(t *testing.T, d dialect) {
		if d.step("late") == "no" {
			t.Skip("the kernel hands it on when it likes; see TestJupyterLateOutput")
		}
		h := start(t, d.kernel, impatient)
		talk := "for n in 1 2; do read x <go$n; echo out$n; echo err$n >&2; echo done >said$n; done"
		h.ok(d.shell("mkfifo go1 go2 said1 said2; sh -c '"+talk+"' &"), "")
		if got := h.run(d.shell("echo a; echo >go1; read x <said1; echo b")); got.stdout != "a\nout1\nb\n" ||
			got.stderr != "err1\n" {
			t.Errorf("during a step: %+v", got)
		}
		if err := os.WriteFile(filepath.Join(h.dir, "go2"), []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(h.dir, "said2")); err != nil {
			t.Fatal(err)
		}
		if got := h.run(d.shell("echo c")); got.stdout != "out2\nc\n" || got.stderr != "err2\n" {
			t.Errorf("between two steps: %+v", got)
		}
	})
}

// A step ends although what it left holds its streams and never stops to print.
func TestConformanceEndlessOutputOfWhatIsLeft(t *testing.T) {
	each(t, "endless", func(t *testing.T, d dialect) {
		if d.step("late") == "no" {
			t.Skip("the kernel reads it, without an end")
		}
		h := start(t, d.kernel, impatient)
		if got := h.run(d.step("endless")); got.Exit != 0 || len(got.Left) < 2 {
			t.Fatalf("%d, %+v", got.Exit, got.Left)
		}
		begin := time.Now()
		for seen := 0; seen < 3; { // a busy machine may give the processes no time during a step
			got := h.run(d.say("next"))
			if got.Exit != 0 || !strings.Contains(got.stdout, "next") || time.Since(begin) > time.Minute {
				t.Fatalf("%+v", got.Outcome)
			}
			if strings.Contains(got.stderr, "y\ny\n") {
				seen++
			}
		}
		_, left := h.Running()
		h.Close()
		if alive := lives(numbers(left)); len(alive) > 0 {
			t.Errorf("processes %v outlived their session", alive)
		}
	})
}

// Processes of other sessions are looked at once and left alone, those too that show nothing of where they come from.
func TestManyProcessesOfOthers(t *testing.T) {
	bash, _ := Lookup("bash")
	first, second := start(t, bash), start(t, bash)
	got := first.run("for n in 1 2 3; do (env -i setsid sleep 300 &); done")
	if len(got.Left) != 3 {
		t.Fatalf("%+v", got)
	}
	for range 20 {
		if got := second.run(":"); len(got.Left) != 0 {
			t.Fatalf("%+v", got)
		}
	}
	second.Close()
	if alive := lives(numbers(got.Left)); len(alive) != 3 {
		t.Errorf("of %+v only %v run", got.Left, alive)
	}
	first.Close()
	if alive := lives(numbers(got.Left)); len(alive) != 0 {
		t.Errorf("%v run", alive)
	}
}

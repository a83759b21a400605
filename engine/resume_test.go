package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks/params"
	"markmill/runs"
)

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
		l.want(l.run(again), runs.Blocked, "state_not_rebuilt state", "state_not_rebuilt patch",
			"provider_unavailable f")
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
		if _, err := l.Plan(t.Context(), again); err == nil ||
			!strings.Contains(err.Error(), "its record does not hold") {
			t.Errorf("%v", err)
		}
	})
}

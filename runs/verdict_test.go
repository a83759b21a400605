package runs

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	checked := ended + "run.completed "
	for _, c := range []struct {
		name, script string
		change       func(run *Run)
		status       Status
		exit         int
	}{
		{"pass", begin + stepA + stepB + checked + "pass", nil, Pass, 0},
		{"fail", begin + stepA + stepB + checked + "fail", nil, Fail, 1},
		{"blocked", begin + "gate.blocked,run.completed blocked", nil, Blocked, 3},
		{"running", begin + stepA, nil, Running, 137},
		{"interrupted", begin + "run.completed interrupted", func(r *Run) { r.Completed.Signal = 15 }, Interrupted,
			143},
		{"interrupted without a word", begin + "run.completed interrupted", nil, Interrupted, 137},
		{"pass after a gate", begin + "gate.blocked," + checked + "pass", nil, Fail, 1},
		{"pass after a denial", begin + "approval.requested,approval.denied," + checked + "pass", nil, Fail, 1},
		{"pass with an approval awaited", begin + "approval.requested," + stepA + stepB + checked + "pass",
			nil, Fail, 1},
		{"pass with a failed step", begin + stepA + "step.started b,step.finished b fail," + checked + "pass",
			nil, Fail, 1},
		{"pass with a timeout", begin + stepA + "step.started b,step.finished b timeout," + checked + "pass",
			nil, Fail, 1},
		{"pass with a step not reached", begin + stepA + checked + "pass", nil, Fail, 1},
		{"pass with an allowed failure", begin + stepA + "step.started b,step.finished b allowed," + checked + "pass",
			nil, Pass, 0},
		{"pass without a diff", begin + stepA + stepB + "run.completed pass", nil, Fail, 1},
		{"pass with a blocker", begin + stepA + stepB + checked + "pass",
			func(r *Run) { r.Completed.Blockers = []Blocker{{Code: CodeNoDiff}} }, Fail, 1},
		{"pass outside allow", begin + stepA + stepB + checked + "pass", func(r *Run) { r.Diff.AllowedPassed = false },
			Fail, 1},
		{"pass without a check of the diff", begin + stepA + stepB + checked + "pass",
			func(r *Run) { *r.Diff = DiffCheckedData{Skipped: "no repository"} }, Pass, 0},
		{"pass with red tests", begin + stepA + stepB + checked + "pass",
			func(r *Run) { r.Verification.Passed = false }, Fail, 1},
		{"pass without tests", begin + stepA + stepB + checked + "pass",
			func(r *Run) { *r.Verification = VerificationData{Skipped: "no step has the tag"} }, Pass, 0},
		{"pass with a changed source", begin + stepA + stepB + checked + "pass",
			func(r *Run) { r.Completed.SourceRepositoryMutated = true }, Fail, 1},
		{"pass with a red test step", begin + stepA + stepB + checked + "pass", func(r *Run) {
			r.Verification.Steps = []VerificationStep{{Step: "t", Status: StepFailed}}
		}, Fail, 1},
		{"pass without a required diff", begin + stepA + stepB + checked + "pass", func(r *Run) {
			r.Contract.EvidenceExpectations = []string{"diff"}
		}, Fail, 1},
		{"pass with a required diff", begin + stepA + stepB + checked + "pass", func(r *Run) {
			r.Contract.EvidenceExpectations, r.Diff.Files = []string{"diff"}, []ChangedFile{{Path: "f"}}
		}, Pass, 0},
		{"pass without required tests", begin + stepA + stepB + checked + "pass", func(r *Run) {
			r.Contract.EvidenceExpectations, *r.Verification = []string{"tests"},
				VerificationData{Skipped: "no step has the tag"}
		}, Fail, 1},
		{"pass without a required approval", begin + stepA + stepB + checked + "pass",
			func(r *Run) { r.Contract.ApprovalRequired = true }, Fail, 1},
		{"pass that was approved", begin + "approval.requested,approval.granted," + stepA + stepB + checked + "pass",
			func(r *Run) {
				r.Contract.ApprovalRequired = true
			}, Pass, 0},
		{"pass of a step that was ended with exit 0", begin + stepA + stepB + checked + "pass", func(r *Run) {
			r.Steps[0].Finished.TerminatedBy = "timeout"
		}, Fail, 1},
		{"pass in place", begin + stepA + stepB + checked + "pass", func(r *Run) {
			r.Completed.SourceRepositoryMutated, r.Contract.MutationMode = true, MutationInPlace
		}, Pass, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := mustFold(t, eventsOf(t, strings.TrimSuffix(c.script, ",")))
			if c.change != nil {
				c.change(run)
			}
			if run.Status() != c.status || run.ExitCode() != c.exit {
				t.Errorf("got %s and %d, want %s and %d (%s)", run.Status(), run.ExitCode(), c.status, c.exit,
					run.contradiction())
			}
		})
	}
}

func TestVerdictOfSweep(t *testing.T) {
	for _, c := range []struct {
		rows   []Status // "": the run of the row has not ended
		signal int
		status Status
		exit   int
	}{
		{nil, 0, Pass, 0},
		{[]Status{Pass, Pass}, 0, Pass, 0},
		{[]Status{Pass, Partial}, 0, Partial, 0},
		{[]Status{Blocked, Pass}, 0, Blocked, 3},
		{[]Status{Pass, ""}, 0, Interrupted, 1},
		{[]Status{Fail, Blocked, Interrupted}, 0, Fail, 1},
		{[]Status{Pass, "green"}, 0, Fail, 1},
		{[]Status{Pass, ""}, 2, Interrupted, 130},
	} {
		s := &Sweep{}
		for _, status := range c.rows {
			row := SweepState{}
			if status != "" {
				row.Ended = &SweepRunEndedData{Status: status}
			}
			s.Rows = append(s.Rows, row)
		}
		if got, want := s.Verdict(c.signal), (SweepCompletedData{Status: c.status, ExitCode: c.exit}); got != want {
			t.Errorf("%v, signal %d: %+v, want %+v", c.rows, c.signal, got, want)
		}
	}
}

package runs

import (
	"slices"
	"testing"

	"markmill/notebooks"
)

// causesRun is a run of three steps in which the second changed data.csv.
func causesRun(blockers ...Blocker) *Run {
	r := &Run{Started: RunStartedData{Notebook: "task.md"},
		Contract: ContractData{ContractRules: ContractRules{AllowedPaths: []string{"out/**"},
			ForbiddenPaths: []string{"data.csv"}, Limits: LimitsData{Files: 2, Bytes: 9},
			EvidenceExpectations: []string{"diff"}}},
		Completed: &CompletedData{Status: Fail, Blockers: blockers},
		Diff:      &DiffCheckedData{Disallowed: []string{"data.csv"}}}
	for _, id := range []string{"a", "b", "c"} {
		r.Steps = append(r.Steps, StepRecord{Planned: PlannedStep{ID: notebooks.StepID(id)}})
	}
	r.Steps[1].Patch = &PatchData{Files: []ChangedFile{{Path: "data.csv"}}}
	return r
}

// Records of older versions hold only the code and the words of a blocker.
func TestLocated(t *testing.T) {
	r := causesRun()
	got := r.Located(Blocker{Code: CodeDisallowedFileChange, Message: "w"})
	if got.Step != "b" || !slices.Equal(got.Paths, []string{"data.csv"}) ||
		got.Rule != "allow: out/**; forbid: data.csv" || got.Message != "w" {
		t.Errorf("got %+v", got)
	}
	if got := r.Located(Blocker{Code: CodeChangeTooLarge}); got.Rule != "limits: {files: 2, bytes: 9}" {
		t.Errorf("got %+v", got)
	}
	if got := r.Located(Blocker{Code: CodeNoDiff}); got.Rule != "require: diff" {
		t.Errorf("got %+v", got)
	}
	kept := Blocker{Code: CodeDisallowedFileChange, Rule: "forbid: *.csv", Paths: []string{"x.csv"}, Step: "a"}
	if got := r.Located(kept); !got.equal(kept) {
		t.Errorf("what the blocker says is not kept: %+v", got)
	}
}

// The list of runs says why a run did not pass: the first of its causes, not a consequence of it.
func TestListSaysWhy(t *testing.T) {
	r := causesRun(Blocker{Code: CodeNoDiff, Message: "nothing changed"},
		Blocker{Code: CodeStepFailed, Step: "b", Message: "exit 1"})
	if got, want := reasonOf(r.Completed), "step_failed in b: exit 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := reasonOf(causesRun().Completed); got != "" {
		t.Errorf("got %q of a run with nothing against it", got)
	}
}

package runs

import (
	"reflect"
	"testing"

	"markmill/notebooks"
)

func TestCauses(t *testing.T) {
	b := func(code string, step notebooks.StepID, rule string) Blocker {
		return Blocker{Code: code, Step: step, Rule: rule, Message: code}
	}
	type told struct {
		code        string
		consequence bool
	}
	for _, c := range []struct {
		name     string
		blockers []Blocker
		want     []told
	}{
		{"a failed step, and what was tested is not what is left",
			[]Blocker{b(CodeDirtyEndingTree, "c", RuleTestedIsLeft), b(CodeStepFailed, "a", "")},
			[]told{{CodeStepFailed, false}, {CodeDirtyEndingTree, true}}},
		{"a checkout that changed is a cause of its own",
			[]Blocker{b(CodeStepFailed, "a", ""), b(CodeDirtyEndingTree, "", RuleSourceAsItWas)},
			[]told{{CodeStepFailed, false}, {CodeDirtyEndingTree, false}}},
		{"nothing changed after a timeout", []Blocker{b(CodeNoDiff, "", "require: diff"), b(CodeTimeout, "a", "")},
			[]told{{CodeTimeout, false}, {CodeNoDiff, true}}},
		{"nothing changed by itself", []Blocker{b(CodeNoDiff, "", "require: diff")}, []told{{CodeNoDiff, false}}},
		{"no test passed because a step failed", []Blocker{b(CodeVerificationFailed, "", "require: tests"),
			b(CodeStepFailed, "a", "")},
			[]told{{CodeStepFailed, false}, {CodeVerificationFailed, true}}},
		{"a test that was left out", []Blocker{b(CodeVerificationFailed, "t", "require: tests"),
			b(CodeDirtyEndingTree, "c", RuleTestedIsLeft)},
			[]told{{CodeVerificationFailed, false}, {CodeDirtyEndingTree, true}}},
		{"a rule and a failed step", []Blocker{b(CodeStepFailed, "a", ""), b(CodeDisallowedFileChange, "a",
			"forbid: x")}, []told{{CodeStepFailed, false}, {CodeDisallowedFileChange, false}}},
		{"the run's time ended a step", []Blocker{b(CodeTimeout, "", ""), b(CodeTimeout, "a", "")},
			[]told{{CodeTimeout, false}, {CodeTimeout, true}}},
	} {
		run := &Run{Completed: &CompletedData{Status: Fail, Blockers: c.blockers}}
		var got []told
		for _, cause := range run.Causes() {
			got = append(got, told{cause.Code, cause.Consequence})
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The blockers of the diff stand in its event, too: the order is that of the end of the run.
func TestCausesComeInTheOrderOfTheEnd(t *testing.T) {
	failed, large := Blocker{Code: CodeStepFailed, Step: "a"}, Blocker{Code: CodeChangeTooLarge}
	run := &Run{Diff: &DiffCheckedData{Blockers: []Blocker{large}},
		Completed: &CompletedData{Blockers: []Blocker{failed, large}}}
	got := run.Causes()
	if len(got) != 2 || got[0].Code != CodeStepFailed || got[1].Code != CodeChangeTooLarge {
		t.Fatalf("%v", got)
	}
}

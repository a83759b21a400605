package bisect

import (
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/index"
)

// aRun is a run of three steps: prepare (setup), train, check (test).
func aRun(status runs.Status, blockers ...runs.Blocker) *runs.Run {
	r := runs.NewRun()
	for i, s := range []struct {
		id  notebooks.StepID
		tag string
	}{{"prepare", notebooks.TagSetup}, {"train", "x"}, {"check", notebooks.TagTest}} {
		r.Steps = append(r.Steps, runs.StepRecord{
			Planned:  runs.PlannedStep{ID: s.id, Index: i, Tags: []string{s.tag}, Action: runs.ActionRun},
			Finished: &runs.StepFinishedData{Index: i, Status: runs.StepPassed}})
	}
	r.Steps[1].Scraps = []runs.ScrapData{{Name: "loss", Type: runs.ScrapJSON, Value: codec.Raw("0.1")}}
	r.Diff = &runs.DiffCheckedData{AllowedPassed: true}
	r.Verification = &runs.VerificationData{Passed: true,
		Steps: []runs.VerificationStep{{Step: "check", Status: runs.StepPassed}}}
	r.Completed = &runs.CompletedData{Status: status, Blockers: blockers}
	return r
}

// failedIn is a run whose step ended with an exit code.
func failedIn(i, exit int, code string) *runs.Run {
	r := aRun(runs.Fail)
	r.Steps[i].Finished.Status, r.Steps[i].Finished.Exit = runs.StepFailed, exit
	r.Completed.Blockers = []runs.Blocker{{Code: code, Step: r.Steps[i].Planned.ID, Message: "exit"}}
	for k := i + 1; k < len(r.Steps); k++ {
		r.Steps[k].Finished, r.Steps[k].Scraps = nil, nil
	}
	return r
}

func TestAnswers(t *testing.T) {
	low := index.Condition{Name: "loss", Op: "<", Value: "0.2"}
	high := index.Condition{Name: "loss", Op: ">", Value: "0.2"}
	of := func(code, rule string) *runs.Run { return aRun(runs.Fail, runs.Blocker{Code: code, Rule: rule}) }
	raises := aRun(runs.Pass)
	raises.Steps[1].Finished.Status, raises.Steps[1].Planned.Tags = runs.StepAllowed, []string{notebooks.TagRaises}
	allowed := aRun(runs.Pass)
	allowed.Steps[1].Finished.Status, allowed.Steps[1].Planned.Tags = runs.StepAllowed,
		[]string{notebooks.TagAllowFailure}
	file := aRun(runs.Pass)
	file.Steps[1].Scraps[0] = runs.ScrapData{Name: "loss", Type: runs.ScrapFile}
	for _, c := range []struct {
		name    string
		q       Question
		run     *runs.Run
		want    Verdict
		step    notebooks.StepID
		passing bool
	}{
		{"pass", Question{}, aRun(runs.Pass), Good, "", false},
		{"a test fails", Question{}, failedIn(2, 1, runs.CodeVerificationFailed), Bad, "check", false},
		{"a step fails", Question{}, failedIn(1, 127, runs.CodeStepFailed), Bad, "train", false},
		{"a step takes too long", Question{}, failedIn(1, -1, runs.CodeTimeout), Bad, "train", false},
		{"git's 125", Question{}, failedIn(1, 125, runs.CodeStepFailed), Skipped, "train", false},
		{"setup fails", Question{}, failedIn(0, 1, runs.CodeStepFailed), Skipped, "prepare", false},
		{"no interpreter", Question{}, failedIn(1, 0, runs.CodeProviderUnavailable), Skipped, "train", true},
		{"blocked", Question{}, aRun(runs.Blocked, runs.Blocker{Code: runs.CodeSecretMissing}), Skipped, "", true},
		{"ended from elsewhere", Question{}, aRun(runs.Interrupted), Skipped, "", true},
		{"a full disk", Question{}, of(runs.CodeArtifactWriteFailure, ""), Skipped, "", true},
		{"somebody edits the checkout", Question{}, of(runs.CodeDirtyEndingTree, runs.RuleSourceAsItWas), Skipped, "",
			true},
		{"a rule is broken", Question{}, of(runs.CodeDisallowedFileChange, "forbid: x"), Bad, "", false},
		{"no reason", Question{}, aRun(runs.Fail), Skipped, "", true},
		{"the step passes, another fails", Question{Step: "train"}, failedIn(2, 1, runs.CodeVerificationFailed), Good,
			"train", false},
		{"the step fails", Question{Step: "check"}, failedIn(2, 1, runs.CodeVerificationFailed), Bad, "check", false},
		{"the setup step that is asked for fails", Question{Step: "prepare"}, failedIn(0, 1, runs.CodeStepFailed), Bad,
			"prepare", false},
		{"the step is not reached", Question{Step: "check"}, failedIn(1, 1, runs.CodeStepFailed), Skipped,
			"check", false},
		{"the step exits with 125", Question{Step: "train"}, failedIn(1, 125, runs.CodeStepFailed), Skipped,
			"train", false},
		{"the step's interpreter is missing", Question{Step: "train"}, failedIn(1, 0, runs.CodeProviderUnavailable),
			Skipped, "train", true},
		{"the step raises, as it should", Question{Step: "train"}, raises, Good, "train", false},
		{"the step fails, which is allowed", Question{Step: "train"}, allowed, Bad, "train", false},
		{"the scrap holds", Question{Scrap: low}, aRun(runs.Pass), Good, "train", false},
		{"the scrap does not", Question{Scrap: high}, aRun(runs.Pass), Bad, "train", false},
		{"the scrap answers though the run failed", Question{Scrap: low}, failedIn(2, 1, runs.CodeVerificationFailed),
			Good, "train", false},
		{"no scrap", Question{Scrap: low}, failedIn(0, 1, runs.CodeStepFailed), Skipped, "", false},
		{"the scrap of another step", Question{Scrap: low, Step: "check"}, aRun(runs.Pass), Skipped, "", false},
		{"a file", Question{Scrap: low}, file, Skipped, "train", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := c.q.ask(c.run); a.verdict != c.want || a.step != c.step || a.passing != c.passing || a.value == "" {
				t.Errorf("%s: %+v", c.q, a)
			}
		})
	}
}

func TestFirstDifference(t *testing.T) {
	before := aRun(runs.Pass)
	for _, c := range []struct {
		change func(r *runs.Run)
		step   notebooks.StepID
		how    string
	}{
		{func(*runs.Run) {}, "", ""},
		{func(r *runs.Run) { r.Steps[1].Scraps[0].Value = codec.Raw("0.5") }, "train", "loss=0.5, was 0.1"},
		{func(r *runs.Run) { r.Steps[2].Finished.Exit = 3 }, "check", "exit 3, was 0"},
		{func(r *runs.Run) { r.Steps[2].Finished.Status = runs.StepFailed }, "check", "fail, was pass"},
		{func(r *runs.Run) { r.Steps[1].Planned.ID = "fit" }, "fit", "pass, was no such step"},
	} {
		after := aRun(runs.Pass)
		c.change(after)
		if step, how := firstDifference(before, after); step != c.step || how != c.how {
			t.Errorf("%s: %s, and %s: %s was expected", step, how, c.step, c.how)
		}
	}
}

package bisect

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/runs"
	"markmill/runs/index"
)

// Verdict is the answer of a commit.
type Verdict string

// The answers. A commit that cannot be tested is skipped.
const (
	Good    Verdict = "good"
	Bad     Verdict = "bad"
	Skipped Verdict = "skipped"
)

// cannotTest is the exit code with which a step says that its commit cannot be tested: that of git bisect run.
const cannotTest = 125

// Question is what each commit is asked. The zero value asks for the verdict of the run: pass is good, fail is bad.
type Question struct {
	// Scrap asks whether this condition on a scrap holds, which is good; its Name "" asks for no scrap.
	Scrap index.Condition
	Step  notebooks.StepID // asks for this step alone, or for the scrap as this step recorded it
}

// String is the question in words.
func (q Question) String() string {
	switch {
	case q.Scrap.Name != "" && q.Step != "":
		return fmt.Sprintf("%s%s%s in step %s", q.Scrap.Name, q.Scrap.Op, q.Scrap.Value, q.Step)
	case q.Scrap.Name != "":
		return q.Scrap.Name + q.Scrap.Op + q.Scrap.Value
	case q.Step != "":
		return "step " + string(q.Step) + " passes"
	}
	return "the run passes"
}

// answer is what one run says.
type answer struct {
	verdict Verdict
	step    notebooks.StepID // that gave it; "" if it is of the whole run
	value   string           // of the scrap, or how run or step ended; of a skipped commit why
	// passing says that another run of the commit may say more: what hindered this one is not the commit's.
	passing bool
	missing bool // the run has no such scrap
}

// ask reads the answer of a run.
func (q Question) ask(r *runs.Run) answer {
	switch {
	case r.Status() == runs.Interrupted || r.Status() == runs.Blocked:
		return answer{verdict: Skipped, value: reason(r), passing: true}
	case q.Scrap.Name != "":
		return q.askScrap(r)
	case q.Step != "":
		return q.askStep(r)
	case r.Status().Passed():
		return answer{verdict: Good, value: string(r.Status())}
	}
	causes := r.Causes()
	if len(causes) == 0 {
		return answer{verdict: Skipped, value: "the record says no reason why it did not pass", passing: true}
	}
	first := causes[0].Blocker
	a := hindered(r, first)
	if a.verdict == "" {
		a = answer{verdict: Bad, value: string(r.Status()) + ": " + first.Line()}
	}
	a.step = first.Step
	return a
}

// hindered is the answer of a run that failed for another reason than what is tested; without a verdict if it did not.
func hindered(r *runs.Run, b runs.Blocker) answer {
	skipped := answer{verdict: Skipped, value: b.Line()}
	switch b.Code {
	case runs.CodeProviderUnavailable, runs.CodeStateNotRebuilt, runs.CodeArtifactWriteFailure, runs.CodeSecretMissing,
		runs.CodeMissingRequiredEvent, runs.CodeDepthExceeded, runs.CodeDirtyStartingTree, runs.CodeAborted,
		runs.CodeApprovalRequired, runs.CodeApprovalDenied, runs.CodeApprovalExpired, runs.CodeApprovalConsumed,
		runs.CodeApprovalMismatch:
		skipped.passing = true
		return skipped
	}
	if b.Rule == runs.RuleSourceAsItWas { // somebody worked in the checkout meanwhile
		skipped.passing = true
		return skipped
	}
	s := stepOf(r, b.Step)
	switch {
	case s == nil:
	case s.Finished != nil && s.Finished.Exit == cannotTest:
		skipped.value = fmt.Sprintf("step %s exits with %d", b.Step, cannotTest)
		return skipped
	case slices.Contains(s.Planned.Tags, notebooks.TagSetup) ||
		slices.Contains(s.Planned.Tags, notebooks.TagParameters):
		skipped.value = fmt.Sprintf("step %s prepares the others, and did not pass: %s", b.Step, b.Text())
		return skipped
	}
	return answer{}
}

func (q Question) askStep(r *runs.Run) answer {
	s := stepOf(r, q.Step)
	if s == nil {
		return answer{verdict: Skipped, value: "the notebook has no step " + string(q.Step)}
	}
	a := answer{verdict: Bad, step: q.Step, value: string(s.Status())}
	if s.Finished != nil && s.Finished.Reason != "" {
		a.value += ": " + s.Finished.Reason
	}
	for _, b := range r.Blockers() {
		if other := hindered(r, b); b.Step == q.Step && other.verdict != "" && !slices.Contains(s.Planned.Tags,
			notebooks.TagSetup) {
			other.step = q.Step
			return other
		}
	}
	switch s.Status() {
	case runs.StepPassed:
		a.verdict = Good
	case runs.StepAllowed:
		if slices.Contains(s.Planned.Tags, notebooks.TagRaises) {
			a.verdict = Good
		}
	case runs.StepSkipped, runs.StepPending:
		a.verdict, a.value = Skipped, fmt.Sprintf("step %s did not run: %s", q.Step, reason(r))
	}
	if s.Finished != nil && s.Finished.Exit == cannotTest {
		a.verdict, a.value = Skipped, fmt.Sprintf("step %s exits with %d", q.Step, cannotTest)
	}
	return a
}

func (q Question) askScrap(r *runs.Run) answer {
	var found *runs.ScrapData
	var by notebooks.StepID
	var names []string
	for i := range r.Steps {
		for k := range r.Steps[i].Scraps {
			s := &r.Steps[i].Scraps[k]
			if q.Step != "" && r.Steps[i].Planned.ID != q.Step {
				continue
			}
			names = append(names, s.Name)
			if s.Name == q.Scrap.Name {
				found, by = s, r.Steps[i].Planned.ID
			}
		}
	}
	switch {
	case found == nil:
		slices.Sort(names)
		has := "it records none"
		if len(names) > 0 {
			has = "it has " + strings.Join(slices.Compact(names), ", ")
		}
		a := answer{verdict: Skipped, missing: true, value: fmt.Sprintf("no scrap %s; %s", q.Scrap.Name, has)}
		if !r.Status().Passed() {
			a.value += "; " + reason(r)
			for _, b := range r.Blockers() {
				a.passing = a.passing || hindered(r, b).passing
			}
		}
		return a
	case len(found.Value) == 0:
		return answer{verdict: Skipped, step: by,
			value: fmt.Sprintf("the scrap %s is of type %s, and has no value to compare", q.Scrap.Name, found.Type)}
	}
	a := answer{verdict: Bad, step: by, value: q.Scrap.Name + "=" + index.Text(found.Value)}
	if q.Scrap.Holds(found.Value) {
		a.verdict = Good
	}
	return a
}

// reason is the status of a run with the first cause why it did not pass.
func reason(r *runs.Run) string {
	words := string(r.Status())
	if causes := r.Causes(); len(causes) > 0 {
		words += ": " + causes[0].Line()
	}
	return words
}

func stepOf(r *runs.Run, id notebooks.StepID) *runs.StepRecord {
	for i := range r.Steps {
		if r.Steps[i].Planned.ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

// firstDifference returns the first step whose result differs between two runs, and how: its status, its exit code, its
// tests, its scraps. What steps print is not compared: it has times in it. It returns "" for none.
func firstDifference(before, after *runs.Run) (step notebooks.StepID, how string) {
	for i := range after.Steps {
		now := &after.Steps[i]
		was := stepOf(before, now.Planned.ID)
		if was == nil || was.Status() != now.Status() {
			then := "no such step"
			if was != nil {
				then = string(was.Status())
			}
			return now.Planned.ID, fmt.Sprintf("%s, was %s", now.Status(), then)
		}
		if a, b := was.Finished, now.Finished; a != nil && b != nil {
			if a.Exit != b.Exit {
				return now.Planned.ID, fmt.Sprintf("exit %d, was %d", b.Exit, a.Exit)
			}
			if a, b := a.Tests, b.Tests; a != nil && b != nil &&
				(a.Passed != b.Passed || a.Failed != b.Failed || a.Skipped != b.Skipped) {
				return now.Planned.ID, fmt.Sprintf("%d tests passed and %d failed, was %d and %d", b.Passed,
					b.Failed, a.Passed, a.Failed)
			}
		}
		for _, s := range now.Scraps {
			k := slices.IndexFunc(was.Scraps, func(other runs.ScrapData) bool { return other.Name == s.Name })
			if k < 0 || string(was.Scraps[k].Value) == string(s.Value) && was.Scraps[k].Digest == s.Digest {
				continue
			}
			return now.Planned.ID, fmt.Sprintf("%s=%s, was %s", s.Name, index.Text(s.Value),
				index.Text(was.Scraps[k].Value))
		}
	}
	return "", ""
}

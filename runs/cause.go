package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
)

// Reason is a blocker as people and programs read it: with its place, the rule, how to mend it, and whether an earlier
// reason led to it.
type Reason struct {
	Blocker
	Fix         string // how to mend it
	Consequence bool   // an earlier reason led to this one
}

// Manifest is the reason as the manifest of an output notebook holds it.
func (r Reason) Manifest() notebooks.ManifestBlocker {
	return notebooks.ManifestBlocker{Code: r.Code, Step: r.Step, Rule: r.Rule, Paths: r.Paths, Message: r.Words, Fix: r.Fix, Consequence: r.Consequence}
}

// Reasons is every reason why the run did not pass, causes before consequences. What a blocker of an older record does not
// name (the rule, the paths, the step) is taken from the contract, the change and the patches of the steps. It is a pure
// function of the run.
func (r *Run) Reasons() []Reason {
	blockers := r.Blockers()
	out := make([]Reason, 0, len(blockers))
	for _, b := range blockers {
		r.locate(&b)
		out = append(out, Reason{Blocker: b, Fix: r.fixOf(b)})
	}
	place := map[notebooks.StepID]int{"": len(r.Steps)}
	for i := range r.Steps {
		place[r.Steps[i].Planned.ID] = i
	}
	slices.SortStableFunc(out, func(a, b Reason) int {
		if byStage := cmp.Compare(stageOf(a.Code), stageOf(b.Code)); byStage != 0 {
			return byStage
		}
		return cmp.Compare(place[a.Step], place[b.Step])
	})
	for i := range out {
		out[i].Consequence = i > 0 && followsFrom(out[0], out[i])
	}
	return out
}

// The stages at which a run can come to a stop, in the order in which one leads to the next.
const (
	stageGate     = iota // nothing of the notebook ran
	stageStep            // a step did not do what it should
	stageChange          // what the steps changed is not allowed
	stageVerdict         // the tests or the review say no
	stageEnd             // what is left at the end is not what is asked for
	stageEvidence        // the record is not whole
)

func stageOf(code string) int {
	switch code {
	case CodeDepthExceeded, CodeDirtyStartingTree, CodeMissingTestCommand, CodeApprovalRequired, CodeApprovalDenied, CodeApprovalExpired,
		CodeApprovalConsumed, CodeApprovalMismatch, CodeProviderUnavailable:
		return stageGate
	case CodeDisallowedFileChange, CodeChangeTooLarge:
		return stageChange
	case CodeVerificationFailed, CodeReviewerRejected:
		return stageVerdict
	case CodeNoDiff, CodeDirtyEndingTree, CodeOutputChanged:
		return stageEnd
	case CodeArtifactWriteFailure, CodeMissingRequiredEvent:
		return stageEvidence
	}
	return stageStep // step_failed, timeout, secret_leaked, state_not_rebuilt, and codes of later versions
}

// followsFrom says whether the first reason of a run explains a later one: steps behind a step that failed did not run, so
// nothing changed, nothing was tested, and events are missing.
func followsFrom(first, later Reason) bool {
	from, to := stageOf(first.Code), stageOf(later.Code)
	switch {
	case from == stageGate:
		return true
	case later.Code == CodeNoDiff:
		return from == stageStep
	case later.Code == CodeVerificationFailed:
		return from == stageStep && (later.Step == "" || later.Step == first.Step)
	case later.Code == CodeDirtyEndingTree || later.Code == CodeOutputChanged:
		return from == stageStep || from == stageVerdict
	}
	return to == stageEvidence && from < to
}

// locate fills in what a blocker of an older record does not say.
func (r *Run) locate(b *Blocker) {
	switch b.Code {
	case CodeDisallowedFileChange:
		if len(b.Paths) == 0 && r.Diff != nil {
			b.Paths = r.Diff.Disallowed
		}
		if b.Rule == "" {
			b.Rule = r.pathRules()
		}
	case CodeChangeTooLarge:
		if b.Rule == "" {
			b.Rule = limitRule(r.Contract.Limits)
		}
	case CodeNoDiff:
		if b.Rule == "" && r.requires(requireDiff) {
			b.Rule = "require: " + requireDiff
		}
	case CodeMissingTestCommand:
		if b.Rule == "" {
			b.Rule = "require: " + requireTests
		}
	}
	if b.Step == "" {
		b.Step = r.lastWriter(b.Paths)
	}
}

// pathRules are the rules that a disallowed path may have broken.
func (r *Run) pathRules() string {
	var rules []string
	for _, list := range append([][]string{r.Contract.AllowedPaths}, r.Contract.AllowedAlso...) {
		if len(list) > 0 {
			rules = append(rules, "allow: "+strings.Join(list, ", "))
		}
	}
	if len(r.Contract.ForbiddenPaths) > 0 {
		rules = append(rules, "forbid: "+strings.Join(r.Contract.ForbiddenPaths, ", "))
	}
	return strings.Join(rules, "; ")
}

func limitRule(l LimitsData) string {
	var parts []string
	for _, one := range []struct {
		name  string
		limit int64
	}{{"files", int64(l.Files)}, {"lines", int64(l.Lines)}, {"bytes", l.Bytes}} {
		if one.limit > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", one.name, one.limit))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "limits: {" + strings.Join(parts, ", ") + "}"
}

// lastWriter is the last step that changed the first of some paths that any step changed; "" when none did.
func (r *Run) lastWriter(paths []string) notebooks.StepID {
	for _, path := range paths {
		for i := range slices.Backward(r.Steps) {
			p := r.Steps[i].Patch
			if p != nil && slices.ContainsFunc(p.Files, func(f ChangedFile) bool { return f.Path == path || f.OldPath == path }) {
				return r.Steps[i].Planned.ID
			}
		}
	}
	return ""
}

// fixOf says how to mend what a blocker reports. It names no run and nothing of the machine: two runs of one notebook give
// the same words.
func (r *Run) fixOf(b Blocker) string {
	notebook := r.Started.Notebook
	again := ", then run it again"
	switch b.Code {
	case CodeStepFailed:
		return fmt.Sprintf("mend step %s of %s%s; `markmill runs log last %s` prints all of its output", b.Step, notebook, again, b.Step)
	case CodeVerificationFailed:
		if b.Step == "" {
			return "give one step the tag .test and let it run and pass"
		}
		return fmt.Sprintf("mend what step %s tests, not the test; `markmill runs log last %s` prints all of its output", b.Step, b.Step)
	case CodeDisallowedFileChange:
		return "let the step leave these files alone, or allow them in the front matter (allow:, forbid:) and, where one holds, in the policy"
	case CodeChangeTooLarge:
		return "change less, or raise limits: in the front matter and, where one holds, in the policy"
	case CodeNoDiff:
		return "let a step change a file that Git does not ignore, or take diff out of require: (and leave --branch out)"
	case CodeMissingTestCommand:
		return "tag the step that tests with .test, as in ```bash {#verify .test}, and let it run"
	case CodeMissingRequiredEvent:
		return "the record is not whole: run the notebook again, and report it when it comes back"
	case CodeReviewerRejected:
		return fmt.Sprintf("answer what step %s objects to%s", b.Step, again)
	case CodeApprovalRequired:
		return "look at what it asks for, `markmill approve last`" + again
	case CodeApprovalDenied, CodeApprovalExpired, CodeApprovalConsumed, CodeApprovalMismatch:
		return "ask again: run it, and let somebody grant the new request with markmill approve"
	case CodeTimeout:
		if b.Step == "" {
			return "give the run more time with --run-timeout, or run-timeout: in the front matter"
		}
		return fmt.Sprintf("give step %s more time with timeout= or --execution-timeout, or find what it waits for", b.Step)
	case CodeDirtyStartingTree:
		return "commit or stash what is not committed"
	case CodeDirtyEndingTree:
		return "let nothing change files during the last test step or after it, nor the checkout while the run goes on"
	case CodeArtifactWriteFailure:
		return "make room, or make the folder of the record writable, and run it again"
	case CodeProviderUnavailable:
		return "install the interpreter, or configure another; `markmill doctor` names what is missing"
	case CodeSecretLeaked:
		return "let the step print or write no secret, and replace the secret that leaked"
	case CodeDepthExceeded:
		return "a run started itself: take the inner markmill run out"
	case CodeOutputChanged:
		return "run it without --frozen and commit the new output, or mend what made it differ"
	case CodeStateNotRebuilt:
		return "run the notebook from its start"
	}
	return ""
}

package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
)

// Rules of Markmill's own: the Rule of a blocker that breaks no rule of a notebook.
const (
	RuleTestedIsLeft  = "what was tested is what is left"
	RuleSourceAsItWas = "the checkout stays as it was"
)

// Cause is a blocker in the order of Causes.
type Cause struct {
	Blocker
	Fix         string `json:"fix,omitzero"`         // of its code; "" if the blocker's message says it already
	Consequence bool   `json:"consequence,omitzero"` // an earlier one led to it
}

// Causes returns every reason why the run did not pass: first what went wrong by itself, in the order in which it
// happened, then what followed from that.
func (r *Run) Causes() []Cause {
	list := r.Blockers()
	if r.Completed != nil { // it has them all, in order
		at := func(b Blocker) int { return slices.IndexFunc(r.Completed.Blockers, b.equal) }
		slices.SortStableFunc(list, func(a, b Blocker) int { return at(a) - at(b) })
	}
	var causes, consequences []Cause
	for _, b := range list {
		c := Cause{Blocker: b, Fix: Fix(b.Code)}
		if b.Rule == RuleTestedIsLeft { // its message says it
			c.Fix = ""
		}
		if slices.ContainsFunc(list, func(other Blocker) bool { return leadsTo(other, b) }) {
			c.Consequence = true
			consequences = append(consequences, c)
			continue
		}
		causes = append(causes, c)
	}
	return append(causes, consequences...)
}

// stepEnds are the codes of blockers that say that a step failed or did not start.
var stepEnds = []string{
	CodeStepFailed, CodeVerificationFailed, CodeTestsFailed, CodeReviewerRejected, CodeTimeout,
	CodeProviderUnavailable, CodeStateNotRebuilt, CodeWrongTree,
}

// leadsTo reports whether blocker a may be the cause of blocker b.
func leadsTo(a, b Blocker) bool {
	stopped := slices.Contains(stepEnds, a.Code) && (a.Step != "" || a.Code != CodeVerificationFailed)
	switch b.Code {
	case CodeNoDiff, CodeOutputChanged:
		return stopped
	case CodeVerificationFailed:
		return b.Step == "" && stopped
	case CodeTimeout: // of the whole run, and of the step that it ended
		return b.Step == "" && a.Code == CodeTimeout && a.Step != ""
	case CodeDirtyEndingTree:
		return b.Rule == RuleTestedIsLeft && stopped
	case CodeMissingRequiredEvent:
		return a.Code != CodeMissingRequiredEvent
	}
	return false
}

// Advice is the one thing to do against a cause: what its blocker says, else Fix; "" where the message says it, or the
// run's next command is all there is to say (Run.Resumable).
func (c Cause) Advice() string {
	switch c.Code {
	case CodeApprovalRequired, CodeDirtyStartingTree, CodeSecretMissing, CodeWrongTree:
		return c.Hint
	}
	return cmp.Or(c.Hint, c.Fix)
}

// Say says what a cause is on one line: code, step, message with the line of the notebook, and what to do.
func (r *Run) Say(c Cause) string {
	b := r.Located(c.Blocker)
	b.Hint = c.Advice()
	if b.Code == CodeCheckCritical && b.Rule != "check "+string(b.Step) {
		b.Message = b.Rule + ": " + b.Message
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Planned.ID != b.Step || s.Finished == nil {
			continue
		}
		if at := s.Finished.Failed; at != nil {
			b.Message = strings.Replace(b.Message, fmt.Sprintf(" at line %d: ", at.Line),
				fmt.Sprintf(" at %s:%d: ", r.Started.Notebook, at.Line), 1)
		} else if e := s.Finished.Error; e != nil && e.Line > 0 && slices.Contains(stepEnds, b.Code) {
			b.Message += fmt.Sprintf(" (%s:%d)", r.Started.Notebook, e.Line)
		}
	}
	return b.Line()
}

// Resumable reports whether `markmill resume` goes on with the run: where it was interrupted, or at the step that did
// not pass. What ran in the user's own files cannot be continued, and nothing is taken from a run that showed a secret.
func (r *Run) Resumable() bool {
	if r.Completed == nil || r.Started.Options == nil || r.Contract.MutationMode == MutationInPlace ||
		r.Started.Folder != "" {
		return false
	}
	blockers := r.Blockers()
	if slices.ContainsFunc(blockers, func(b Blocker) bool { return b.Code == CodeSecretLeaked }) {
		return false
	}
	return r.Status() == Interrupted || slices.ContainsFunc(blockers, func(b Blocker) bool {
		return b.Step != "" && (slices.Contains(stepEnds, b.Code) || b.Code == CodeCheckCritical)
	})
}

// Fix says how to fix what a code stands for, in words that hold for every run; "" where the message says all that is
// known.
func Fix(code string) string { return fixes[code] }

// fixes has a row for each code. Where it is empty, the step has to change, and nobody but its author knows how.
var fixes = map[string]string{
	CodeStepFailed:           "",
	CodeVerificationFailed:   "",
	CodeCheckCritical:        "",
	CodeReviewerRejected:     "",
	CodeAborted:              "",
	CodeNoDiff:               "let a step make the change, or require none",
	CodeDisallowedFileChange: "let the step leave the file alone, or change the rule",
	CodeChangeTooLarge:       "make the change smaller, or raise the limit",
	CodeTestsFailed: "where failing tests are no harm, tag the step allow-failure; a command after || decides the " +
		"exit code, and not what the runner counted",
	CodeMissingTestCommand:   "tag the step that tests with .test, and let it run",
	CodeMissingRequiredEvent: "run the notebook again; markmill verify shows what the record lacks",
	CodeJudgeChanged: "leave the protected files as they are, or let the tests pass with the base's version of them, " +
		"too",
	CodeSecretMissing:         "set the variable that the message names",
	CodeApprovalRequired:      "ask for an approval: markmill approve shows the request and grants it",
	CodeApprovalDenied:        "change what was denied, and ask again",
	CodeApprovalExpired:       "ask for a new approval",
	CodeApprovalConsumed:      "ask for a new approval: each is good for one run",
	CodeApprovalMismatch:      "ask for an approval of the contract as it is now",
	CodeTimeout:               "make the step quicker, or raise its timeout",
	CodeDirtyStartingTree:     "commit or stash the changes",
	CodeDirtyEndingTree:       "let nobody change the checkout while a run goes on",
	CodeDataConflict:          "keep one of the two files, and run again",
	CodeArtifactWriteFailure:  "make room or give the rights that the message names, and run again",
	CodeProviderUnavailable:   "install what the message names; markmill doctor shows what is there",
	CodeSecretLeaked:          "let no step print or write the secret",
	CodeDepthExceeded:         "let the notebook not run itself",
	CodeOutputChanged:         "look at the difference, and run without --frozen to take it over",
	CodeWrongTree:             "let what is installed lead to the worktree, as an install in a .setup step does",
	CodeStateNotRebuilt:       "run the notebook from its beginning",
	CodeProviderNotAdmitted:   "markmill agent admit tries the backend and admits it",
	CodeProviderChanged:       "markmill agent admit admits it as it is now",
	CodeProviderAuth:          "check the credentials that markmill.yaml names for the agent",
	CodeProviderTimeout:       "raise the step's timeout=, or start: and idle: of the agent in markmill.yaml",
	CodeProviderRateLimited:   "run it again later",
	CodeProviderProtocol:      "read the raw logs in backend/, and check the agent's endpoint and version",
	CodeProviderFailed:        "read the raw logs in backend/, and check the agent's endpoint and version",
	CodeProviderReasoningOnly: "say in the prompt what is to be done, or request another backend",
	CodeProviderRefused:       "say in the prompt what is to be done, or request another backend",
}

// ChangedBy returns the last step that changed a path, by either of its names; "" if no step did.
func (r *Run) ChangedBy(path string) notebooks.StepID {
	var by notebooks.StepID
	for i := range r.Steps {
		p := r.Steps[i].Patch
		if p != nil &&
			slices.ContainsFunc(p.Files, func(f ChangedFile) bool { return f.Path == path || f.OldPath == path }) {
			by = r.Steps[i].Planned.ID
		}
	}
	return by
}

// LeftOut returns the steps that the command line left out of the run (--only, --from, --until, --skip-tag), in order.
func (r *Run) LeftOut() []notebooks.StepID {
	var ids []notebooks.StepID
	for _, s := range r.Steps {
		if s.Planned.LeftOut != "" {
			ids = append(ids, s.Planned.ID)
		}
	}
	return ids
}

// Codes of blockers: why a run did not pass. They are append-only; the table in docs/evidence.md
// says what triggers each, in which event it stands and what status it gives.
const (
	CodeStepFailed           = "step_failed"
	CodeNoDiff               = "no_diff"
	CodeDisallowedFileChange = "disallowed_file_change"
	CodeChangeTooLarge       = "change_too_large"
	CodeVerificationFailed   = "verification_failed"
	CodeMissingTestCommand   = "missing_test_command"
	CodeMissingRequiredEvent = "missing_required_event"
	CodeReviewerRejected     = "reviewer_rejected"
	CodeApprovalRequired     = "approval_required"
	CodeApprovalDenied       = "approval_denied"
	CodeApprovalExpired      = "approval_expired"
	CodeApprovalConsumed     = "approval_consumed"
	CodeApprovalMismatch     = "approval_mismatch"
	CodeTimeout              = "timeout"
	CodeDirtyStartingTree    = "dirty_starting_tree"
	CodeDirtyEndingTree      = "dirty_ending_tree"
	CodeArtifactWriteFailure = "artifact_write_failure"
	CodeProviderUnavailable  = "provider_unavailable"
	CodeSecretLeaked         = "secret_leaked"
	CodeDepthExceeded        = "depth_exceeded"
	CodeOutputChanged        = "output_changed"
	CodeStateNotRebuilt      = "state_not_rebuilt"
	CodeJudgeChanged         = "judge_changed"
	CodeSecretMissing        = "secret_missing"
	CodeAborted              = "aborted"
	CodeCheckCritical        = "check_critical"
	CodeTestsFailed          = "tests_failed"
	CodeWrongTree            = "wrong_tree" // a step tried to use the checkout's files instead of the worktree's
	// Somebody else changed a file that data: names and the run wrote.
	CodeDataConflict = "data_conflict"
	// Of agents: the backend was not admitted, is not the one that was admitted, has no credentials or refused ones,
	// was limited, gave no events, neither answer nor tool call, a refusal, or another failure.
	CodeProviderNotAdmitted   = "provider_not_admitted"
	CodeProviderChanged       = "provider_changed"
	CodeProviderAuth          = "provider_auth_unavailable"
	CodeProviderTimeout       = "provider_timeout"
	CodeProviderRateLimited   = "provider_rate_limited"
	CodeProviderProtocol      = "provider_protocol"
	CodeProviderReasoningOnly = "provider_reasoning_only"
	CodeProviderRefused       = "provider_refused"
	CodeProviderFailed        = "provider_failed"
)

// Located returns a blocker with the rule, the paths and the step that it is about. Records of older versions do not
// name them: Located takes them from the contract, the change and the patches of the steps.
func (r *Run) Located(b Blocker) Blocker {
	rule := ""
	switch b.Code {
	case CodeDisallowedFileChange:
		rule = r.pathRules()
		if len(b.Paths) == 0 && r.Diff != nil {
			b.Paths = r.Diff.Disallowed
		}
	case CodeChangeTooLarge:
		rule = limitRule(r.Contract.Limits)
	case CodeNoDiff:
		if r.requires(requireDiff) {
			rule = "require: " + requireDiff
		}
	case CodeMissingTestCommand:
		rule = "require: " + requireTests
	}
	b.Rule = cmp.Or(b.Rule, rule)
	for _, path := range b.Paths {
		if b.Step == "" {
			b.Step = r.ChangedBy(path)
		}
	}
	return b
}

// pathRules returns the rules of which a disallowed path broke one.
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

package runs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"markmill/notebooks/codec"
)

// The mutation_mode of a contract.
const (
	MutationInPlace  = "in-place" // in the user's own checkout
	MutationWorktree = "worktree" // in a worktree of the run's own
	MutationNone     = "none"     // in a worktree, and no step may change anything
)

// Words of the evidence_expectations of a contract that Status checks.
const (
	requireDiff     = "diff"
	requireTests    = "tests"
	requireApproval = "approval"
)

// Status returns the verdict of run.completed. It fails closed: a pass that the rest of the record contradicts (a
// blocker, a failed step, a check that was not made) is a fail.
func (r *Run) Status() Status {
	if r.Completed == nil {
		return Running
	}
	if r.Completed.Status.Passed() && r.contradiction() != "" {
		return Fail
	}
	return r.Completed.Status
}

// ChangedIn says what the steps changed themselves: the user's checkout, or a folder outside Git. It is "" for a run
// that changed nothing or had a worktree of its own, and if something else changed the checkout meanwhile.
func (r *Run) ChangedIn() string {
	others := func(b Blocker) bool { return b.Rule == RuleSourceAsItWas }
	if r.Completed == nil || !r.Completed.SourceRepositoryMutated || slices.ContainsFunc(r.Blockers(), others) {
		return ""
	}
	if r.Started.Repository == "" {
		return "folder"
	}
	return "checkout"
}

// contradiction says why a run cannot have passed; "" if it can.
func (r *Run) contradiction() string {
	if blockers := r.Blockers(); len(blockers) > 0 {
		return "there is a blocker: " + blockers[0].Code
	}
	for i := range r.Steps {
		if words := r.Steps[i].contradiction(); words != "" {
			return words
		}
	}
	if left := r.LeftOut(); (len(left) > 0) != (r.Completed.Status == Partial) {
		return fmt.Sprintf("the command line left out %d of %d steps", len(left), len(r.Steps))
	}
	checkout := ""
	if r.Completed.SourceRepositoryMutated && r.Contract.MutationMode != MutationInPlace {
		checkout = "the source checkout was changed"
	}
	return cmp.Or(r.diffContradiction(), r.testContradiction(), r.approvalContradiction(), checkout)
}

// Passed reports whether nothing went wrong, in the whole notebook or in the part of it that ran.
func (s Status) Passed() bool { return s == Pass || s == Partial }

func (s *StepRecord) contradiction() string {
	switch s.Status() {
	case StepPassed, StepAllowed, StepSkipped:
	default:
		return fmt.Sprintf("step %q is recorded as %s", s.Planned.ID, s.Status())
	}
	if f := s.Finished; f != nil && f.TerminatedBy != "" && f.Exit == 0 {
		return fmt.Sprintf("step %q was ended by %s and is recorded as exit 0", s.Planned.ID, f.TerminatedBy)
	}
	return ""
}

func (r *Run) requires(what string) bool {
	return slices.Contains(r.Contract.EvidenceExpectations, what)
}

func (r *Run) diffContradiction() string {
	switch {
	case r.Diff == nil:
		return string(GitDiffChecked) + " is absent"
	case r.Diff.Skipped == "" && !r.Diff.AllowedPassed:
		return "the allowed paths were not kept to"
	case r.requires(requireDiff) && len(r.Diff.Files) == 0:
		return "a diff is required and nothing changed"
	}
	return ""
}

func (r *Run) testContradiction() string {
	v := r.Verification
	switch {
	case v == nil:
		return string(VerificationCompleted) + " is absent"
	case v.Skipped == "" && !v.Passed:
		return "the verification did not pass"
	case r.requires(requireTests) && (v.Skipped != "" || len(v.Steps) == 0):
		return "tests are required and none ran"
	}
	if r.Contract.ProtectMode != "report" && v.Judges.Failed() {
		return "a judging step does not pass with the base's version of the protected files"
	}
	for _, step := range v.Steps {
		if step.Status == StepFailed || step.Status == StepTimeout || step.Status == StepPending {
			return fmt.Sprintf("test step %q is recorded as %s", step.Step, step.Status)
		}
	}
	return ""
}

// Failed reports whether a judge failed, or could not run, with the base's version of protected files.
func (j *JudgesData) Failed() bool {
	failed := func(s JudgedStep) bool { return s.Status != StepPassed && s.Status != StepAllowed }
	return j != nil && (j.Skipped != "" || slices.ContainsFunc(j.Steps, failed))
}

func (r *Run) approvalContradiction() string {
	required := r.Contract.ApprovalRequired || r.requires(requireApproval)
	denied := r.Approval == ApprovalIsRequested || r.Approval == ApprovalIsDenied
	if denied || required && r.Approval != ApprovalIsGranted {
		return "the approval is " + string(r.Approval)
	}
	return ""
}

// ExitCode returns the exit code of the process that made the run: 0 pass or partial, 1 fail, 3 blocked, 128+n ended by
// signal n. An interruption without a recorded signal counts as a kill.
func (r *Run) ExitCode() int {
	const kill = 9
	switch status := r.Status(); {
	case status.Passed():
		return 0
	case status == Blocked:
		return 3
	case status == Interrupted && r.Completed.Signal > 0:
		return 128 + r.Completed.Signal
	case status == Interrupted || status == Running:
		return 128 + kill
	default:
		return 1
	}
}

// report compares report.json, member by member, with the report that the journal and the files give now. A member that
// is in it twice, or that the record does not give, is a finding.
func (c *check) report() {
	text, err := c.record.ReadFile(ReportFile)
	if errors.Is(err, fs.ErrNotExist) {
		return // required has found it
	}
	var there, want map[string]codec.Raw
	if err == nil {
		err = codec.Unmarshal(text, &there)
	}
	if err != nil {
		c.v.find(ReportFile, "cannot be read: %s", cause(err))
		return
	}
	fresh, err := c.record.Report(c.v.Run, nil)
	if err == nil {
		want, err = membersOf(fresh)
	}
	if err != nil {
		c.v.find(ReportFile, "cannot be recomputed: %s", words(err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, found := there[name]
		switch {
		case !found:
			c.v.find(ReportFile, "%s is missing", name)
		case !codec.Same(value, want[name]):
			c.v.find(ReportFile, "%s is %s and the record gives %s", name, clip(value), clip(want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if _, known := want[name]; !known {
			c.v.find(ReportFile, "%q is no member of the report that the record gives", name)
		}
	}
	for _, path := range fresh.Freshness.Stale {
		c.v.find(path, "was there before the run started")
	}
}

func membersOf(v any) (map[string]codec.Raw, error) {
	text, err := codec.Marshal(v)
	if err != nil {
		return nil, err
	}
	var members map[string]codec.Raw
	return members, codec.Unmarshal(text, &members)
}

// clip shortens a value for a message.
func clip(value codec.Raw) string {
	const most = 80
	if len(value) <= most {
		return string(value)
	}
	return string(bytes.ToValidUTF8(value[:most], nil)) + "…"
}

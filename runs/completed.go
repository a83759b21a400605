package runs

import (
	"fmt"
	"slices"

	"markmill/notebooks"
)

// Blocker is one reason why a run did not pass.
type Blocker struct {
	Code string           `json:"code"`
	Step notebooks.StepID `json:"step,omitzero"` // the step that caused it
	// the rule that was broken, as its author wrote it: "forbid: data.csv"
	Rule    string   `json:"rule,omitzero"`
	Paths   []string `json:"paths,omitempty"`
	Message string   `json:"words"`
	Hint    string   `json:"hint,omitzero"` // the likely cause or the fix; it may name things of the caller's machine
}

func (b Blocker) equal(other Blocker) bool {
	return b.Code == other.Code && b.Step == other.Step && b.Rule == other.Rule &&
		b.Message == other.Message && b.Hint == other.Hint && slices.Equal(b.Paths, other.Paths)
}

// Text returns the message and the hint.
func (b Blocker) Text() string {
	if b.Hint == "" {
		return b.Message
	}
	return b.Message + "; " + b.Hint
}

// Line returns the code, the step and the text.
func (b Blocker) Line() string {
	if b.Step == "" {
		return b.Code + ": " + b.Text()
	}
	return fmt.Sprintf("%s: step %s: %s", b.Code, b.Step, b.Text())
}

// Status is a run's verdict.
type Status string

const (
	Pass        Status = "pass"
	Fail        Status = "fail"
	Blocked     Status = "blocked"
	Interrupted Status = "interrupted"
	// Partial is the verdict of a run that passed, but of only a part of the notebook (--only, --from, --until,
	// --skip-tag).
	Partial Status = "partial"
	Running Status = "running" // no run.completed yet
)

// CompletedData is the data of run.completed.
type CompletedData struct {
	Status                  Status    `json:"status"`
	Blockers                []Blocker `json:"blockers,omitempty"`
	SourceRepositoryMutated bool      `json:"source_repository_mutated"`
	ResultCommit            string    `json:"result_commit,omitzero"`
	// Bundle holds the run's commits; nil for a run that changed nothing.
	Bundle        *BundleData `json:"bundle,omitempty"`
	NotApplicable []string    `json:"not_applicable,omitempty"` // "check: reason" of what a block skipped
	Signal        int         `json:"signal,omitzero"`          // of an interrupted run
	// Aborted says who asked for the end of the run (runs abort); nil if nobody did.
	Aborted *AbortData `json:"aborted,omitempty"`
	// InnerRuns are runs that a step made and that outlived it.
	InnerRuns []InnerRun `json:"inner_runs,omitempty"`
	// Files are those of the record that no other event names: the trace, and the files of earlier attempts, of
	// replays, and of an interrupted step.
	Files []SealedFile `json:"files,omitempty"`
	// Signatures are SSH signatures of the manifests of the output notebooks, by the name of the notebook.
	Signatures map[string]string `json:"signatures,omitempty"`
	// Outputs are the output notebooks that the record does not keep, because one of them is at OUTPUT.
	Outputs []LeftOutput `json:"outputs,omitempty"`
}

// BundleData is the Git bundle of a run's commits. Its prerequisite is the base commit of the contract.
type BundleData struct {
	File   string `json:"file"` // relative to the run directory
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
	Ref    string `json:"ref"` // that the bundle gives the last commit, beside HEAD
}

// LeftOutput is an output notebook that the record does not keep: it can be made again, byte for byte, from the
// journal and the files that the journal names.
type LeftOutput struct {
	Name   string `json:"name"` // that it would have in the record
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// DiffCheckedData is the data of git.diff.checked.
type DiffCheckedData struct {
	BaseCommit    string        `json:"base_commit"`
	ResultCommit  string        `json:"result_commit"`
	ResultTree    string        `json:"result_tree"`
	Files         []ChangedFile `json:"files"`
	Patch         string        `json:"patch"`
	PatchDigest   Digest        `json:"patch_digest"`
	AllowedPassed bool          `json:"allowed_passed"`
	Disallowed    []string      `json:"disallowed,omitempty"`
	// the first of the files that only ignore rules of the run hide
	Hidden      []string `json:"hidden,omitempty"`
	HiddenCount int      `json:"hidden_count,omitzero"` // all of them
	// Artifacts are results that belong to the record and to no change.
	Artifacts []ArtifactData `json:"artifacts,omitempty"`
	Blockers  []Blocker      `json:"blockers,omitempty"`
	Unseen    []string       `json:"unseen,omitempty"` // what may have been written without being found
	Skipped   string         `json:"skipped,omitzero"` // why it was not checked
	// In a folder outside a repository: what the patch leaves out, and why the content of files was not compared.
	PatchOmits string `json:"patch_omits,omitzero"`
	Unread     string `json:"unread,omitzero"`
}

// ArtifactData is a file that the run left and that artifacts: names.
type ArtifactData struct {
	Path string `json:"path"` // in the worktree
	StreamData
}

// VerificationData is the data of verification.completed.
type VerificationData struct {
	Steps    []VerificationStep `json:"steps"`
	Passed   bool               `json:"passed"`
	Skipped  string             `json:"skipped,omitzero"`
	Blockers []Blocker          `json:"blockers,omitempty"`
	// Judges is the result of protect, if the run changed protected files; nil if it changed none.
	Judges *JudgesData `json:"judges,omitempty"`
	// WrittenAfter are the files that came or changed during the last test step or after it, and that no test read.
	WrittenAfter []string `json:"written_after,omitempty"`
}

// JudgesData says which protected files a run changed, and the outcome of the judging steps (test, review) when they
// ran a second time with the base's versions of these files.
type JudgesData struct {
	Changed []string     `json:"changed"` // paths, sorted
	Steps   []JudgedStep `json:"steps,omitempty"`
	Skipped string       `json:"skipped,omitzero"` // why no step ran a second time
}

// JudgedStep is the second outcome of one judging step, or of a step that prepares for one.
type JudgedStep struct {
	VerificationStep
	Judge    bool          `json:"judge"` // false: a setup step, which ran again for its state
	Reason   string        `json:"reason,omitzero"`
	Stdout   StreamData    `json:"stdout"`
	Stderr   StreamData    `json:"stderr"`
	Displays []DisplayData `json:"displays,omitempty"`
	Outputs  StreamData    `json:"outputs,omitzero"`
}

// VerificationStep is one test step's outcome.
type VerificationStep struct {
	Step       notebooks.StepID `json:"step"`
	Status     StepStatus       `json:"status"`
	Exit       int              `json:"exit"`
	DurationNS int64            `json:"duration_ns"`
	Tests      *TestCounts      `json:"tests,omitempty"`
}

package runs

import (
	"markmill/notebooks"
)

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

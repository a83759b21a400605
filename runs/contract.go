package runs

import (
	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// ContractRules are the members that the contract of a run and the terms of its approval have alike: what was asked and
// what is allowed.
type ContractRules struct {
	TaskID               string     `json:"task_id"`
	Job                  string     `json:"job,omitzero"` // of a queue, that the run is of
	TargetRepository     string     `json:"target_repository"`
	BaseCommit           string     `json:"base_commit"`
	AllowedPaths         []string   `json:"allowed_paths"`
	ForbiddenPaths       []string   `json:"forbidden_paths"`
	ProtectedPaths       []string   `json:"protected_paths,omitempty"`
	ProtectMode          string     `json:"protect_mode,omitzero"` // enforce, report; "" is enforce
	ForbiddenActions     []string   `json:"forbidden_actions"`
	Limits               LimitsData `json:"limits"`
	MutationMode         string     `json:"mutation_mode"`         // worktree, in-place, none
	VerificationCommands []string   `json:"verification_commands"` // ids of the test steps
	EvidenceExpectations []string   `json:"evidence_expectations"` // require:
	RiskClass            string     `json:"risk_class"`
	Environment          []string   `json:"environment"`             // names of the variables a step gets, sorted
	Dirty                string     `json:"dirty"`                   // ignore, include, block
	RunTimeoutNS         int64      `json:"run_timeout_ns,omitzero"` // the most that the run may take
	Processes            string     `json:"processes,omitzero"`
}

// ContractData is the data of task.contract.created.
type ContractData struct {
	ContractRules
	Artifacts        []string    `json:"artifacts,omitempty"` // patterns of results that belong to no change
	ApprovalRequired bool        `json:"approval_required"`
	Parameters       []ParamData `json:"parameters"`
	// files that began with older content: the base has the change
	Reversed   []string `json:"reversed,omitempty"`
	DirtyFiles int      `json:"dirty_files"` // the user's uncommitted changes; in the run with dirty: include
	// AllowedAlso are further lists like AllowedPaths: a path must match each of them too.
	AllowedAlso      [][]string     `json:"allowed_also,omitempty"`
	StepTimeoutMaxNS int64          `json:"step_timeout_max_ns,omitzero"` // the longest timeout that a step may have
	Sandbox          string         `json:"sandbox,omitzero"`             // the words in force
	Network          string         `json:"network,omitzero"`
	Tree             string         `json:"tree,omitzero"`
	Policies         []PolicyData   `json:"policies,omitempty"`
	Narrowed         []NarrowedData `json:"narrowed,omitempty"`
	// WorktreeInclude are the patterns of the base's .worktreeinclude: ignored files that the worktree got.
	WorktreeInclude []string `json:"worktree_include,omitempty"`
}

// PolicyData is one policy that holds for a run.
type PolicyData struct {
	Commit  string `json:"commit,omitzero"` // whose markmill.yaml it stands in; "" is the checkout
	Digest  Digest `json:"digest"`          // of that file
	Signers string `json:"allowed_signers,omitzero"`
}

// Who narrows a contract.
const (
	ByPolicy      = "policy"
	ByNotebook    = "notebook"
	ByCommandLine = "command line"
)

// NarrowedData is one restriction of a run, and who set it.
type NarrowedData struct {
	Key       string    `json:"key"`
	By        string    `json:"by"` // policy, notebook, command line
	Value     codec.Raw `json:"value"`
	InsteadOf codec.Raw `json:"instead_of,omitzero"` // what the notebook asked for
}

// LimitsData bounds what a run may change; 0 is no limit.
type LimitsData struct {
	Files int   `json:"files,omitzero"`
	Lines int   `json:"lines,omitzero"`
	Bytes int64 `json:"bytes,omitzero"`
}

// ParamData is one bound parameter.
type ParamData struct {
	Name  string    `json:"name"`
	Type  string    `json:"type"`
	Value codec.Raw `json:"value"` // notebooks.Value.JSON; a secret's is its keyed digest
	From  string    `json:"from"`
	Given bool      `json:"given"`
}

// PlanData is the data of plan.updated.
type PlanData struct {
	Steps []PlannedStep `json:"steps"`
	// Language is the language of the given values, if the source does not name it.
	Language string `json:"language,omitzero"`
}

// PlannedStep says what will happen to a step and why.
type PlannedStep struct {
	ID     notebooks.StepID `json:"id"`
	Index  int              `json:"index"`
	Lang   string           `json:"lang"`
	Kernel string           `json:"kernel"`
	Tags   []string         `json:"tags,omitempty"`
	Action string           `json:"action"` // run, skip
	Reason string           `json:"reason,omitzero"`
	// LeftOut is the option of the command line that left the step out of the run, such as "--only"; else "".
	LeftOut string `json:"left_out,omitzero"`
}

package runs

import (
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// RunID names a run: <UTC yyyymmddThhmmssZ>-<notebook>-<random>.
type RunID string

// Digest is "sha256:" and 64 hexadecimal digits.
type Digest string

// EventType is one of the types below.
type EventType string

// The types, in the order in which a run has them.
const (
	RunStarted            EventType = "run.started"
	ContractCreated       EventType = "task.contract.created"
	PlanUpdated           EventType = "plan.updated"
	ApprovalRequested     EventType = "approval.requested"
	ApprovalGranted       EventType = "approval.granted"
	ApprovalDenied        EventType = "approval.denied"
	GateBlocked           EventType = "gate.blocked"
	TreeOpened            EventType = "tree.opened"
	StepStarted           EventType = "step.started"
	ScrapRecorded         EventType = "scrap.recorded"
	PatchApplied          EventType = "patch.applied"
	StepReplayed          EventType = "step.replayed"
	StepFinished          EventType = "step.finished"
	InputsRecorded        EventType = "inputs.recorded" // its data is a notebooks.Inputs
	GitDiffChecked        EventType = "git.diff.checked"
	VerificationCompleted EventType = "verification.completed"
	DataKept              EventType = "data.written"
	RunCompleted          EventType = "run.completed"
)

// Event is one line of the journal.
type Event struct {
	Seq  int              `json:"seq"` // from 0
	Time time.Time        `json:"time"`
	Type EventType        `json:"type"`
	Step notebooks.StepID `json:"step,omitempty"`
	Data codec.Raw        `json:"data"` // the canonical JSON of the matching Data type
	Prev Digest           `json:"prev"` // hash of the event before; of the first: digest of the source notebook
	Hash Digest           `json:"hash"` // of the canonical JSON of the event without hash
}

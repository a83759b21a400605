package runs

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

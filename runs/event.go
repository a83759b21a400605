package runs

import (
	"fmt"
	"slices"
	"strings"
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
	StepStarted           EventType = "step.started"
	ScrapRecorded         EventType = "scrap.recorded"
	PatchApplied          EventType = "patch.applied"
	StepReplayed          EventType = "step.replayed"
	StepFinished          EventType = "step.finished"
	InputsRecorded        EventType = "inputs.recorded" // its data is a notebooks.Inputs
	GitDiffChecked        EventType = "git.diff.checked"
	VerificationCompleted EventType = "verification.completed"
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

// RunStartedData is the data of run.started.
type RunStartedData struct {
	RunID    RunID  `json:"run_id"`
	Markmill string `json:"markmill"` // version
	Notebook string `json:"notebook"` // path as given
	// SourcePath is the slash-separated path of the notebook, relative to the root of the repository, or outside a
	// repository to the folder of the run. It is empty if the notebook has no path or is elsewhere, and in older
	// records.
	SourcePath string `json:"source_path,omitzero"`
	Form       string `json:"form"`            //
	SourceFile string `json:"source_file"`     // name of the copy in the run directory
	Repository string `json:"repository"`      // root of the source repository, "" outside one
	Folder     string `json:"folder,omitzero"` // outside a repository: the folder that the run works in
	Depth      int    `json:"depth"`           // runs around this one
	// Parent is the step in which this run was made; nil without.
	Parent *ParentData `json:"parent,omitempty"`
	// ResumedFrom is the interrupted run that this one resumes; nil without.
	ResumedFrom *ResumedData `json:"resumed_from,omitempty"`
	Host        string       `json:"host"` // os/arch
	PID         int          `json:"pid"`
	// Paths are the absolute paths that an output notebook replaces with names, the longest first.
	Paths []PathName `json:"paths,omitempty"`
	// Assets is the folder, relative to the output notebook, that holds its pictures.
	Assets string `json:"assets,omitzero"`
	// Output is the absolute path of the output notebook outside the run directory, "" without one.
	Output string `json:"output,omitzero"`
	// OutputForm is the form of that notebook if it is not the source's: then the record has one of each.
	OutputForm string `json:"output_form,omitzero"`
	// Sandbox says what confined the steps; nil in records of versions without a sandbox.
	Sandbox *SandboxData `json:"sandbox,omitempty"`
	// Views is the version of the run's views (ViewsVersion); 0 in records of versions that had none.
	Views int `json:"views,omitzero"`
	// Sweep is the sweep that made this run, and its row there; nil without one.
	Sweep *SweepData `json:"sweep,omitempty"`
	// Rerun is the run that this one repeats (runs verify --rerun); nil without one.
	Rerun *RerunData `json:"rerun,omitempty"`
	// Options are those of the command line that a resumed run reuses; nil in records of versions that did not keep
	// them.
	Options *OptionsData `json:"options,omitzero"`
	// EnvironmentDigest identifies the values of the variables that steps get, with secrets masked.
	EnvironmentDigest Digest `json:"environment_digest,omitzero"`
}

// SweepData names a row of a sweep.
type SweepData struct {
	ID  SweepID `json:"id"`
	Row int     `json:"row"` // from 1
	// Attempt is, of a comparison of attempts, its number among those of its backend, from 1; else 0.
	Attempt int `json:"attempt,omitzero"`
}

// RerunData names the run that a run repeats.
type RerunData struct {
	Run  RunID  `json:"run_id"`
	Sums Digest `json:"record"` // of its SHA256SUMS
	// Base is the base commit of that run, if this run begins with another.
	Base string `json:"base,omitzero"`
}

// ViewsVersion is the version of the output notebook, the report and the test log that this program makes of a record.
// Raise it when one of them changes: those of older records can then not be made again byte for byte, and verification
// compares less.
const ViewsVersion = 2

// LocalOutput returns the path of the output notebook; "" if there is none, or if it is at an address (s3://…), beside
// which nothing is staged.
func (d RunStartedData) LocalOutput() string {
	if strings.Contains(d.Output, "://") {
		return ""
	}
	return d.Output
}

// SandboxData says what was in force while the steps ran.
type SandboxData struct {
	Asked     string         `json:"asked"`                 // on, off, strict, required
	Writes    string         `json:"writes"`                // what confined their writes: landlock, or "" for nothing
	Landlock  int            `json:"landlock_abi,omitzero"` // version of the kernel's interface
	Home      string         `json:"home"`                  // user, own
	Network   string         `json:"network"`               // open, namespace, landlock-tcp
	Git       string         `json:"git,omitzero"`          // of a run in place: read-only, where the Git directory was
	Filter    string         `json:"filter,omitzero"`       // what blocked system calls to outside processes and keys: seccomp
	IPC       string         `json:"ipc,omitzero"`          // namespace, refused (to change or remove objects)
	Hidden    []string       `json:"hidden,omitempty"`      // paths whose content could not be read
	Writable  []string       `json:"writable,omitempty"`    // paths that could be written besides the run's own
	Resources *ResourcesData `json:"resources,omitempty"`
	NotHeld   []string       `json:"not_held,omitempty"` // what was asked for and is not available, in words
}

// ResourcesData limits each process of the steps; 0 is no limit.
type ResourcesData struct {
	Memory    int64 `json:"memory,omitzero"` // bytes that a process may write
	Processes int64 `json:"processes,omitzero"`
	FileSize  int64 `json:"file_size,omitzero"` // bytes of one file
	OpenFiles int64 `json:"open_files,omitzero"`
}

// PathName is a path of this machine and the name that stands for it: "<worktree>", "<home>", "<tmp>".
type PathName struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// ContractData is the data of task.contract.created: what was asked and what is allowed.
type ContractData struct {
	TaskID               string      `json:"task_id"`
	TargetRepository     string      `json:"target_repository"`
	BaseCommit           string      `json:"base_commit"`
	AllowedPaths         []string    `json:"allowed_paths"`
	ForbiddenPaths       []string    `json:"forbidden_paths"`
	ProtectedPaths       []string    `json:"protected_paths,omitempty"`
	ProtectMode          string      `json:"protect_mode,omitzero"` // enforce, report; "" is enforce
	ForbiddenActions     []string    `json:"forbidden_actions"`
	Limits               LimitsData  `json:"limits"`
	MutationMode         string      `json:"mutation_mode"` // worktree, in-place, none
	ApprovalRequired     bool        `json:"approval_required"`
	VerificationCommands []string    `json:"verification_commands"` // ids of the test steps
	EvidenceExpectations []string    `json:"evidence_expectations"` // require:
	RiskClass            string      `json:"risk_class"`
	Parameters           []ParamData `json:"parameters"`
	Environment          []string    `json:"environment"`        // names of the variables a step gets, sorted
	Reversed             []string    `json:"reversed,omitempty"` // files that began with older content: the base has the change
	DirtyFiles           int         `json:"dirty_files"`        // the user's uncommitted changes; in the run with dirty: include
	Dirty                string      `json:"dirty"`              // ignore, include, block
	// AllowedAlso are further lists like AllowedPaths: a path must match each of them too.
	AllowedAlso      [][]string     `json:"allowed_also,omitempty"`
	StepTimeoutMaxNS int64          `json:"step_timeout_max_ns,omitzero"` // the longest timeout that a step may have
	RunTimeoutNS     int64          `json:"run_timeout_ns,omitzero"`      // the most that the run may take
	Sandbox          string         `json:"sandbox,omitzero"`             // the words in force
	Network          string         `json:"network,omitzero"`
	Processes        string         `json:"processes,omitzero"`
	Policies         []PolicyData   `json:"policies,omitempty"`
	Narrowed         []NarrowedData `json:"narrowed,omitempty"`
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

// GateData is the data of gate.blocked.
type GateData struct {
	Code    string   `json:"code"`
	Rule    string   `json:"rule,omitzero"` // the rule that stands against the run, as its author wrote it
	Paths   []string `json:"paths,omitempty"`
	Message string   `json:"words"`
}

// Blocker returns the gate as a reason why the run did not pass.
func (g GateData) Blocker() Blocker {
	return Blocker{Code: g.Code, Rule: g.Rule, Paths: g.Paths, Message: g.Message}
}

// ApprovalRequestedData is the data of approval.requested.
type ApprovalRequestedData struct {
	Code     string `json:"code"`
	Message  string `json:"words"`
	Contract Digest `json:"contract"` // of the terms
	File     string `json:"file"`     // the request, relative to the run directory
	Digest   Digest `json:"digest"`
}

// ApprovalGrantedData is the data of approval.granted: which approval this run has used.
type ApprovalGrantedData struct {
	ID         string       `json:"id"`
	Contract   Digest       `json:"contract"`
	Actor      string       `json:"actor"`
	Time       time.Time    `json:"time"`
	Expires    time.Time    `json:"expires"`
	Own        bool         `json:"own,omitzero"` // who granted it is who asked for it
	File       string       `json:"file"`
	Digest     Digest       `json:"digest"`
	Key        string       `json:"key,omitzero"`        // fingerprint of the key that signed
	Principals string       `json:"principals,omitzero"` // of its line in allowed_signers
	Signature  *SealedFile  `json:"signature,omitempty"`
	Signers    []SealedFile `json:"signers,omitempty"` // the allowed_signers files that it was held against
}

// ApprovalDeniedData is the data of approval.denied.
type ApprovalDeniedData struct {
	Code    string    `json:"code"`
	Rule    string    `json:"rule,omitzero"`
	Message string    `json:"words"`
	ID      string    `json:"id,omitzero"`
	Actor   string    `json:"actor,omitzero"`
	Time    time.Time `json:"time,omitzero"`
	File    string    `json:"file,omitzero"`
	Digest  Digest    `json:"digest,omitzero"`
}

// SealedFile is a file of the run directory and its digest.
type SealedFile struct {
	File   string `json:"file"`
	Digest Digest `json:"digest"`
}

// StepStartedData is the data of step.started.
type StepStartedData struct {
	Index   int    `json:"index"`
	Dir     string `json:"dir"` // of the step's files, relative to the run directory
	Kernel  string `json:"kernel"`
	Program string `json:"program"` // path of the interpreter
	Version string `json:"version,omitzero"`
	// ProgramDigest is that of the interpreter's file; Inside says that it lies in the worktree.
	ProgramDigest Digest `json:"program_digest,omitzero"`
	Inside        bool   `json:"inside,omitzero"`
	Attempt       int    `json:"attempt"` // from 1
	// LostIn is the step in which the interpreter of this step's session ended: this step is the first of a new
	// interpreter, without the state.
	LostIn  notebooks.StepID `json:"lost_in,omitzero"`
	Retry   *RetryData       `json:"retry,omitempty"` // nil: the first attempt
	Carried *CarriedData     `json:"carried,omitempty"`
}

// RetryData says what a further attempt of a step begins with.
type RetryData struct {
	Worktree string `json:"worktree"` // RetryRestored, or RetryKept: what the failed attempt left in it
	// Left are paths of a restored worktree that are as the failed attempt left them: no capture keeps their content.
	Left        []string `json:"left,omitempty"`
	Interpreter string   `json:"interpreter"`     // RetryKept with its state, or RetryNew: only the parameters are set
	Ended       string   `json:"ended,omitempty"` // how the failed attempt ended, where its exit code does not say
}

// Words of RetryData.
const (
	RetryRestored = "restored"
	RetryKept     = "kept"
	RetryNew      = "new"
)

// ScrapData is the data of scrap.recorded, and a line of the scraps file that steps write.
type ScrapData struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`           // text, json, table, image, file
	Value   codec.Raw `json:"value,omitzero"` // text: a JSON string; json, table: the value
	MIME    string    `json:"mime,omitzero"`
	File    string    `json:"file,omitzero"` // image, file: relative to the run directory
	Digest  Digest    `json:"digest,omitzero"`
	Display bool      `json:"display,omitzero"`
	// Encoder names the encoder of a value if it is not known here: the type is json then, and the value unchanged.
	Encoder string       `json:"encoder,omitzero"`
	Carried *CarriedData `json:"carried,omitempty"`
}

// PatchData is the data of patch.applied: a step changed something.
type PatchData struct {
	Commit  string        `json:"commit"`
	Tree    string        `json:"tree"`
	Patch   string        `json:"patch"` // file, relative to the run directory
	Digest  Digest        `json:"digest"`
	Files   []ChangedFile `json:"files"`
	Ignored int           `json:"ignored,omitzero"` // files that .gitignore hides and the step wrote
	Carried *CarriedData  `json:"carried,omitempty"`
}

// ChangedFile is one path of a change. Paths are slash-separated; bytes that are not UTF-8 are
// written as \xNN, and Quoted says so.
type ChangedFile struct {
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitzero"` // of a rename
	Status  string `json:"status"`            // added, modified, deleted, renamed, type, mode
	OldMode string `json:"old_mode,omitzero"` // 100644
	NewMode string `json:"new_mode,omitzero"`
	OldBlob string `json:"old_blob,omitzero"`
	NewBlob string `json:"new_blob,omitzero"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitzero"`
	Size    int64  `json:"size,omitzero"` // bytes of the new content
	Quoted  bool   `json:"quoted,omitzero"`
}

// ReplayedData is the data of step.replayed: a carried step ran once more, for its state, which no record holds. Its
// outputs are dropped; Differs says how they differed from the record.
type ReplayedData struct {
	Index        int        `json:"index"`
	Kernel       string     `json:"kernel"`
	Program      string     `json:"program"`
	Version      string     `json:"version,omitzero"`
	Status       StepStatus `json:"status"`
	Exit         int        `json:"exit"`
	TerminatedBy string     `json:"terminated_by,omitzero"`
	Error        *ErrorData `json:"error,omitempty"`
	DurationNS   int64      `json:"duration_ns"`
	Stdout       StreamData `json:"stdout"`
	Stderr       StreamData `json:"stderr"`
	Differs      []string   `json:"differs,omitempty"` // in words: the status, what it changed, a scrap
}

// StepStatus is how a step ended.
type StepStatus string

const (
	StepPassed  StepStatus = "pass"
	StepFailed  StepStatus = "fail"
	StepAllowed StepStatus = "allowed" // failed, and was allowed or expected to
	StepSkipped StepStatus = "skip"
	StepTimeout StepStatus = "timeout"
	StepPending StepStatus = "pending" // not reached
)

// StepFinishedData is the data of step.finished.
type StepFinishedData struct {
	Index        int           `json:"index"`
	Status       StepStatus    `json:"status"`
	Reason       string        `json:"reason,omitzero"` // why it was skipped, or did not pass
	Exit         int           `json:"exit"`
	TerminatedBy string        `json:"terminated_by,omitzero"` // who ended the process, if not itself
	Attempts     int           `json:"attempts"`
	DurationNS   int64         `json:"duration_ns"`
	Stdout       StreamData    `json:"stdout"`
	Stderr       StreamData    `json:"stderr"`
	Displays     []DisplayData `json:"displays,omitempty"`
	Outputs      StreamData    `json:"outputs,omitzero"` // outputs.jsonl: what came in which order; see OutputData
	Error        *ErrorData    `json:"error,omitempty"`
	Failed       *CommandData  `json:"failed_command,omitempty"`
	Result       string        `json:"result,omitzero"` // result.json, relative
	ResultDigest Digest        `json:"result_digest,omitzero"`
	Tests        *TestCounts   `json:"tests,omitempty"`
	Commit       string        `json:"commit,omitzero"` // of the run after the step
	Tree         string        `json:"tree,omitzero"`
	InnerRuns    []InnerRun    `json:"inner_runs,omitempty"` // runs that the step made
	Carried      *CarriedData  `json:"carried,omitempty"`
	LeftRunning  []ProcessData `json:"left_running,omitempty"` // processes that outlived the step, but interpreters
	Reads        *ReadsData    `json:"reads,omitempty"`        // nil: what the step read is not known
	// Unkept says that the step left something to later ones that no record keeps: in TMPDIR, in a HOME of the run's own,
	// or in the Git directory of the worktree.
	Unkept bool `json:"unkept,omitzero"`
}

// ReadsData names the list of what a step read first: what no step before it read, of the tree that the run began with.
// The file has one notebooks.Input in a line.
type ReadsData struct {
	File   string `json:"file,omitzero"` // relative to the run directory; "" if it read nothing new
	Digest Digest `json:"digest,omitzero"`
	Count  int    `json:"count"` // lines
}

// ProcessData is a process that a step left running.
type ProcessData struct {
	PID     int              `json:"pid"`
	Program string           `json:"program"`         // base name of the file that it runs
	Parent  int              `json:"parent,omitzero"` // the process of the same list that started it
	Since   notebooks.StepID `json:"since"`           // the step at whose end it was first there
}

// StreamData describes one raw stream on disk.
type StreamData struct {
	File   string `json:"file,omitzero"` // relative to the run directory; "" when the stream was empty
	Bytes  int64  `json:"bytes"`
	Digest Digest `json:"digest,omitzero"`
}

// DisplayData is one rich result of a step: a picture, a table, a value.
type DisplayData struct {
	MIME   string `json:"mime"`
	File   string `json:"file,omitzero"` // relative to the run directory
	Bytes  int64  `json:"bytes"`
	Digest Digest `json:"digest"`
	Alt    string `json:"alt,omitzero"` // text/plain of the same result
	// DisplayID is the id by which later results may replace it; Update says that it only replaces others.
	DisplayID string `json:"display_id,omitzero"`
	Update    bool   `json:"update,omitzero"`
}

// ErrorData is the error that an interpreter reported.
type ErrorData struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback,omitzero"`
	Line      int    `json:"line,omitzero"` // of the notebook
}

// CommandData is the command at which a step of a shell failed.
type CommandData struct {
	Line    int    `json:"line"`    // of the notebook
	Command string `json:"command"` // as the source has it, in one line
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
	Hidden        []string      `json:"hidden,omitempty"`      // the first of the files that only ignore rules of the run hide
	HiddenCount   int           `json:"hidden_count,omitzero"` // all of them
	Blockers      []Blocker     `json:"blockers,omitempty"`
	Unseen        []string      `json:"unseen,omitempty"` // what may have been written without being found
	Skipped       string        `json:"skipped,omitzero"` // why it was not checked
	// In a folder outside a repository: what the patch leaves out, and why the content of files was not compared.
	PatchOmits string `json:"patch_omits,omitzero"`
	Unread     string `json:"unread,omitzero"`
}

// VerificationData is the data of verification.completed.
type VerificationData struct {
	Steps    []VerificationStep `json:"steps"`
	Passed   bool               `json:"passed"`
	Skipped  string             `json:"skipped,omitzero"`
	Blockers []Blocker          `json:"blockers,omitempty"`
	// Judges is the result of protect, if the run changed protected files; nil if it changed none.
	Judges *JudgesData `json:"judges,omitempty"`
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

// Blocker is one reason why a run did not pass.
type Blocker struct {
	Code    string           `json:"code"`
	Step    notebooks.StepID `json:"step,omitzero"` // the step that caused it
	Rule    string           `json:"rule,omitzero"` // the rule that was broken, as its author wrote it: "forbid: data.csv"
	Paths   []string         `json:"paths,omitempty"`
	Message string           `json:"words"`
	Hint    string           `json:"hint,omitzero"` // the likely cause or the fix; it may name things of the caller's machine
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
	// Bundle holds the run's commits; nil for a run that changed nothing, and in records of versions before bundles.
	Bundle *BundleData `json:"bundle,omitempty"`
	// Ref is where versions before bundles put the run's commits: refs/markmill/runs/<run-id> in the user's repository.
	Ref           string   `json:"ref,omitzero"`
	NotApplicable []string `json:"not_applicable,omitempty"` // "check: reason" of what a block skipped
	Signal        int      `json:"signal,omitzero"`          // of an interrupted run
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

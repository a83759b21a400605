package runs

import (
	"markmill/notebooks"
	"markmill/notebooks/codec"
)

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
	// Settings is the digest of what kernels: in markmill.yaml says of the kernel.
	Settings Digest `json:"settings,omitzero"`
	Attempt  int    `json:"attempt"` // from 1
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
	Type    string    `json:"type"`           // text, json, table, image, file, check
	Value   codec.Raw `json:"value,omitzero"` // text: a JSON string; json, table, check: the value
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
	// Unkept says that the step left something to later ones that no record keeps: in TMPDIR, in a HOME of the run's
	// own, or in the Git directory of the worktree.
	Unkept bool `json:"unkept,omitzero"`
	// Hidden are private keys and tokens that nobody declared as secrets. Words stand in their place.
	Hidden []HiddenData `json:"hidden,omitempty"`
}

// HiddenData says where keys stood.
type HiddenData struct {
	What  string `json:"what"`           // such as "private key"
	Where string `json:"where"`          // stdout, stderr, error, scrap, result, agent, diff
	Path  string `json:"path,omitzero"`  // in diff: of the file, which has the key; only views leave it out
	Index int    `json:"index,omitzero"` // in diff: of the file in the patch, from 0
}

// HidesFailures reports whether a step is recorded as passed although its test runner counted failures. Versions before
// the code tests_failed recorded such steps.
func (f *StepFinishedData) HidesFailures() bool {
	return f.Status == StepPassed && f.Exit == 0 && f.Tests != nil && f.Tests.Failed > 0
}

// ReadsData names the list of what a step read first: what no step before it read, of the tree that the run began with.
// The file has one notebooks.Input in a line. With All it goes on with what else the step opened (Input.Again).
type ReadsData struct {
	File   string `json:"file,omitzero"` // relative to the run directory; "" if it read nothing new
	Digest Digest `json:"digest,omitzero"`
	Count  int    `json:"count"`        // how much was read first
	All    bool   `json:"all,omitzero"` // false in older records, and where events were lost
	// Again is what would stand in the file, where that would hold nothing else and not much: paths, of folders with a
	// slash at their end.
	Again []string `json:"again,omitempty"`
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

package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// ReportVersion is the schema_version of a Report. Members are only ever added to a version.
const ReportVersion = 1

// Report is report.json: an index of the evidence, for programs. Readers ignore members that they do not know.
type Report struct {
	SchemaVersion int    `json:"schema_version"`
	TaskID        string `json:"task_id"`
	RunID         RunID  `json:"run_id"`
	Status        Status `json:"status"`
	// ResumedFrom is the run that this one resumes; absent without.
	ResumedFrom *ResumedData `json:"resumed_from,omitempty"`
	// Backend names the kernels whose steps ran, in order of first use, separated by commas.
	Backend       string    `json:"backend"`
	RunStartedAt  time.Time `json:"run_started_at"`
	RunFinishedAt time.Time `json:"run_finished_at"`
	// BackendExitCode is the raw exit code of the step that decided: the first that failed or was terminated, else the
	// last that ran; null when none ran. TerminatedBy is of the same step.
	BackendExitCode         *int           `json:"backend_exit_code"`
	TerminatedBy            string         `json:"terminated_by,omitzero"`
	ArtifactsDir            string         `json:"artifacts_dir"` // always ".": the folder that report.json is in
	Parameters              []ParamData    `json:"parameters"`
	BaseCommit              string         `json:"base_commit"`
	ResultCommit            string         `json:"result_commit"`
	ChangedFiles            []ChangedFile  `json:"changed_files"`
	AllowedWritesPassed     bool           `json:"allowed_writes_passed"` // false also when it was not checked
	SourceRepositoryMutated bool           `json:"source_repository_mutated"`
	ApprovalStatus          ApprovalStatus `json:"approval_status"`
	// Approval is the approval that the run has used; absent without one.
	Approval     *ApprovalGrantedData `json:"approval,omitempty"`
	Sandbox      *SandboxData         `json:"sandbox,omitempty"` // what held the steps
	Tree         *TreeData            `json:"tree,omitempty"`    // where the steps found the worktree
	Data         *DataWritten         `json:"data,omitempty"`    // what the run wrote and Git ignores
	Verification []ReportCheck        `json:"verification"`
	Blockers     []Blocker            `json:"blockers"`
	Scraps       []ScrapData          `json:"scraps"`
	Checks       []Check              `json:"checks,omitempty"`
	Steps        []ReportStep         `json:"steps"`
	// ArtifactPaths is every file of the run directory, sorted, but report.json and report.md, which are made from
	// this, and SHA256SUMS, which covers them.
	ArtifactPaths   []string          `json:"artifact_paths"`
	ArtifactDigests map[string]Digest `json:"artifact_digests"`
	Freshness       Freshness         `json:"freshness"`
	// Commits is the bundle of the run's commits; absent without.
	Commits *BundleData `json:"commits,omitempty"`
	// Outputs are the output notebooks that the run directory does not keep; absent where it keeps them.
	Outputs []LeftOutput `json:"outputs,omitempty"`
}

// ReportCheck is the outcome of one test step.
type ReportCheck struct {
	Command    notebooks.StepID `json:"command"` // the step's id
	Status     StepStatus       `json:"status"`
	ExitCode   int              `json:"exit_code"`
	DurationNS int64            `json:"duration_ns"`
	Tests      *TestCounts      `json:"tests,omitempty"` // as the test runner printed them
}

// ReportStep is one planned step and what became of it.
type ReportStep struct {
	ID           notebooks.StepID `json:"id"`
	Index        int              `json:"index"`
	Lang         string           `json:"lang"`
	Kernel       string           `json:"kernel"`
	Program      string           `json:"program,omitzero"`
	Version      string           `json:"version,omitzero"`
	Tags         []string         `json:"tags,omitempty"`
	Status       StepStatus       `json:"status"`
	Reason       string           `json:"reason,omitzero"`
	StartedAt    time.Time        `json:"started_at,omitzero"`
	FinishedAt   time.Time        `json:"finished_at,omitzero"`
	DurationNS   int64            `json:"duration_ns,omitzero"`
	Attempts     int              `json:"attempts"`
	ExitCode     *int             `json:"exit_code"` // null when it did not finish
	TerminatedBy string           `json:"terminated_by,omitzero"`
	Dir          string           `json:"dir,omitzero"` // of its files
	Changed      int              `json:"changed"`      // files
	// CarriedFrom is the run in which the step ran, when this run resumed that one.
	CarriedFrom RunID `json:"carried_from,omitzero"`
	// Replayed says that a carried step ran once more for its state, and Differs how its outcome differed.
	Replayed bool        `json:"replayed,omitzero"`
	Differs  []string    `json:"differs,omitempty"`
	Commit   string      `json:"commit,omitzero"`
	Tests    *TestCounts `json:"tests,omitempty"`
	// LeftRunning are the processes of the run that were alive after the step had ended.
	LeftRunning []ProcessData `json:"left_running,omitempty"`
}

// Freshness says whether every artifact was written after the run started: an older one proves nothing of this run. The
// source notebook and the journals of resumed runs do not count: they are written before the first event, which holds
// their digests.
type Freshness struct {
	Passed bool     `json:"passed"`
	Stale  []string `json:"stale"` // sorted paths
	// Carried are files that the resumed run wrote: its journal has their digests.
	Carried []string `json:"carried,omitempty"`
}

// Report makes the report of a run: a fold of it, and of the files of its record, which it digests. Every other file
// must have been written before. Files whose digest is known, by name, are not read again.
func (rec *Record) Report(run *Run, known map[string]Digest) (*Report, error) {
	r := &Report{
		SchemaVersion: ReportVersion, TaskID: run.Contract.TaskID, RunID: run.ID, Status: run.Status(),
		RunStartedAt: run.StartedAt, RunFinishedAt: run.FinishedAt, ArtifactsDir: ".",
		Parameters: run.Contract.Parameters, BaseCommit: run.Contract.BaseCommit,
		ResumedFrom: run.Started.ResumedFrom, ApprovalStatus: run.Approval, Approval: run.Granted,
		Sandbox: run.Started.Sandbox, Tree: run.Tree, Data: run.Data,
		Blockers: run.Blockers(), Scraps: run.Scraps(), Checks: run.Checks(),
	}
	r.addSteps(run)
	if d := run.Diff; d != nil {
		r.ResultCommit, r.ChangedFiles = d.ResultCommit, d.Files
		r.AllowedWritesPassed = d.AllowedPassed && d.Skipped == ""
	}
	if v := run.Verification; v != nil {
		for _, s := range v.Steps {
			r.Verification = append(r.Verification, ReportCheck{s.Step, s.Status, s.Exit, s.DurationNS, s.Tests})
		}
	}
	if c := run.Completed; c != nil {
		r.SourceRepositoryMutated, r.Outputs, r.Commits = c.SourceRepositoryMutated, c.Outputs, c.Bundle
		if r.ResultCommit == "" {
			r.ResultCommit = c.ResultCommit
		}
	}
	if err := r.addArtifacts(run, rec, known); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Report) addSteps(run *Run) {
	var kernels []string
	for i := range run.Steps {
		s := &run.Steps[i]
		step := ReportStep{
			ID: s.Planned.ID, Index: s.Planned.Index, Lang: s.Planned.Lang, Kernel: s.Planned.Kernel,
			Tags: s.Planned.Tags, Status: s.Status(), Reason: s.Planned.Reason,
			StartedAt: s.StartedAt, FinishedAt: s.FinishedAt, Attempts: s.Attempts,
		}
		if s.Step != nil {
			step.Kernel, step.Program, step.Version, step.Dir = s.Step.Kernel, s.Step.Program, s.Step.Version,
				s.Step.Dir
			if !slices.Contains(kernels, step.Kernel) {
				kernels = append(kernels, step.Kernel)
			}
		}
		if s.Patch != nil {
			step.Changed = len(s.Patch.Files)
		}
		step.CarriedFrom = s.CarriedFrom()
		if p := s.Replayed; p != nil {
			step.Replayed, step.Differs = true, p.Differs
		}
		if f := s.Finished; f != nil {
			step.DurationNS, step.TerminatedBy = f.DurationNS, f.TerminatedBy
			step.Commit, step.Tests, step.LeftRunning = f.Commit, f.Tests, f.LeftRunning
			if f.Reason != "" {
				step.Reason = f.Reason
			}
			if s.Step != nil {
				step.ExitCode = &f.Exit
			}
		}
		r.Steps = append(r.Steps, step)
	}
	r.Backend = strings.Join(kernels, ",")
	if decided := r.deciding(); decided != nil {
		r.BackendExitCode, r.TerminatedBy = decided.ExitCode, decided.TerminatedBy
	}
}

// deciding returns the step whose exit code is backend_exit_code.
func (r *Report) deciding() *ReportStep {
	var last *ReportStep
	for i := range r.Steps {
		step := &r.Steps[i]
		if step.ExitCode == nil {
			continue
		}
		if last = step; step.Status == StepFailed || step.Status == StepTimeout {
			break
		}
	}
	return last
}

func (r *Report) addArtifacts(run *Run, record *Record, known map[string]Digest) error {
	record, done, err := record.held()
	if err != nil {
		return err
	}
	defer done()
	digests, err := record.digests(known, ReportFile, ReportPageFile, SumsFile)
	if err != nil {
		return cannotRead(record.path, err)
	}
	r.ArtifactDigests = make(map[string]Digest, len(digests))
	isCarried := carriedFiles(run)
	for path, digest := range digests {
		info, err := record.Stat(path)
		if err != nil {
			return cannotRead(record.path, err)
		}
		name := QuotePath(path)
		r.ArtifactDigests[name] = digest
		if isCarried(path) {
			r.Freshness.Carried = append(r.Freshness.Carried, name)
		}
		first := path == run.Started.SourceFile || strings.HasPrefix(path, ResumedDir+"/") && isCarried(path)
		if !first && before(info.ModTime(), run.StartedAt) {
			r.Freshness.Stale = append(r.Freshness.Stale, name)
		}
	}
	r.ArtifactPaths = slices.Sorted(maps.Keys(r.ArtifactDigests))
	slices.Sort(r.Freshness.Stale)
	slices.Sort(r.Freshness.Carried)
	r.Freshness.Passed = len(r.Freshness.Stale) == 0
	return nil
}

// before compares the time of a file with one of the clock, which is finer: Linux stamps files by the tick (10 ms at
// most), and some file systems and archives keep whole seconds, FAT two of them.
func before(file, start time.Time) bool {
	grain := 20 * time.Millisecond
	if file.Nanosecond() == 0 {
		grain = 2 * time.Second
	}
	return file.Before(start.Add(-grain))
}

// QuotePath writes bytes that are not UTF-8 as \xNN, which JSON could not hold.
func QuotePath(path string) string {
	var b strings.Builder
	for i, r := range path {
		if r == '\uFFFD' && !strings.HasPrefix(path[i:], "\uFFFD") {
			fmt.Fprintf(&b, `\x%02x`, path[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// JSON returns the bytes of report.json.
func (r *Report) JSON() ([]byte, error) { return codec.Indent(r) }

// ReadReport reads report.json.
func (rec *Record) ReadReport() (*Report, error) {
	text, err := rec.ReadFile(ReportFile)
	if err != nil {
		return nil, cannotRead(ReportFile, err)
	}
	var report Report
	if err := codec.Unmarshal(text, &report); err != nil {
		return nil, cannotRead(ReportFile, err)
	}
	return &report, nil
}

package runs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Run is the fold of a journal: what was asked, what was done, how it ended.
type Run struct {
	ID                    RunID
	StartedAt, FinishedAt time.Time // FinishedAt is zero while no run.completed stands
	Started               RunStartedData
	Source                Digest // of the source notebook: the prev of the first event
	Contract              ContractData
	Plan                  PlanData
	Steps                 []StepRecord // in plan order
	Approval              ApprovalStatus
	Requested             *ApprovalRequestedData // nil: no approval was asked for
	Granted               *ApprovalGrantedData   // nil: none was used
	Denied                *ApprovalDeniedData    // nil: none was denied
	Tree                  *TreeData              // nil: separate, or no worktree of its own
	Inputs                *notebooks.Inputs      // nil: not recorded
	Diff                  *DiffCheckedData
	Verification          *VerificationData
	Data                  *DataWritten // nil: it wrote nothing that Git ignores, or Data was not recorded yet
	Completed             *CompletedData
	Events                int    // how many events were folded
	Head                  Digest // hash of the last of them

	blocked []Blocker                // of gate.blocked and approval.denied
	at      map[notebooks.StepID]int // place in Steps
}

// StepRecord is what the journal says of one planned step; of several attempts, of the last.
type StepRecord struct {
	Planned               PlannedStep
	Step                  *StepStartedData // nil: never started
	StartedAt, FinishedAt time.Time
	Finished              *StepFinishedData // nil: never finished
	Patch                 *PatchData
	Scraps                []ScrapData   // of the last attempt, as they came
	Attempts              int           // how often it was started
	Replayed              *ReplayedData // nil: it did not run again for its state

	// Of an agent's step: which backend may do it, what the last attempt's turn was, and the files of all attempts.
	Eligibility *EligibilityData
	Turn        []AgentData
	agentFiles  []SealedFile
}

// Status returns the status of the step; StepPending if it was not reached.
func (s *StepRecord) Status() StepStatus {
	switch {
	case s.Finished != nil:
		return s.Finished.Status
	case s.Planned.Action == ActionSkip:
		return StepSkipped
	default:
		return StepPending
	}
}

// Actions of a PlannedStep.
const (
	ActionRun  = "run"
	ActionSkip = "skip"
)

// ApprovalStatus is the state of a run's approval.
type ApprovalStatus string

const (
	ApprovalNotRequired ApprovalStatus = "not-required"
	ApprovalIsRequested ApprovalStatus = "requested"
	ApprovalIsGranted   ApprovalStatus = "granted"
	ApprovalIsDenied    ApprovalStatus = "denied"
)

// NewRun returns the run of an empty journal, for Add.
func NewRun() *Run { return &Run{Approval: ApprovalNotRequired} }

// Fold makes a Run of the events of a journal. Events may be absent, at the end or elsewhere (see CheckOrder).
func Fold(events []Event) (*Run, error) {
	r := NewRun()
	for _, event := range events {
		if err := r.Add(event); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// decode reads the data of an event.
func decode[T any](event Event) (T, error) {
	var data T
	if err := codec.Unmarshal(event.Data, &data); err != nil {
		return data, broken(event.Seq, fmt.Sprintf("bad data of %s: %v", event.Type, err))
	}
	return data, nil
}

func decodeInto[T any](event Event, to **T) error {
	data, err := decode[T](event)
	*to = &data
	return err
}

// Add folds the next event of the journal: between two calls, r is the run so far. It returns an error for an event
// whose data cannot be read, or whose step is in no plan; r is of no use after that.
func (r *Run) Add(event Event) (err error) {
	if r.Events == 0 {
		r.Source = event.Prev
	}
	r.Events++
	r.Head = event.Hash
	switch event.Type {
	case RunStarted:
		r.Started, err = decode[RunStartedData](event)
		r.ID, r.StartedAt = r.Started.RunID, event.Time
	case ContractCreated:
		r.Contract, err = decode[ContractData](event)
	case PlanUpdated:
		r.Plan, err = decode[PlanData](event)
		r.Steps, r.at = make([]StepRecord, len(r.Plan.Steps)), map[notebooks.StepID]int{}
		for i, step := range r.Plan.Steps {
			r.Steps[i].Planned, r.at[step.ID] = step, i
		}
	case GateBlocked, ApprovalRequested, ApprovalGranted, ApprovalDenied:
		err = r.addGate(event)
	case StepStarted, ScrapRecorded, PatchApplied, StepReplayed, StepFinished:
		err = r.addStep(event)
	case AgentEligibility:
		err = r.addStep(event)
	case TreeOpened:
		err = decodeInto(event, &r.Tree)
		r.Started.Paths = r.Tree.names(r.Started.Paths)
	case InputsRecorded:
		err = decodeInto(event, &r.Inputs)
	case GitDiffChecked:
		err = decodeInto(event, &r.Diff)
	case VerificationCompleted:
		err = decodeInto(event, &r.Verification)
	case DataKept:
		err = decodeInto(event, &r.Data)
	case RunCompleted:
		r.FinishedAt = event.Time
		err = decodeInto(event, &r.Completed)
	default:
		if IsTurn(event.Type) {
			err = r.addStep(event)
		}
	}
	return err
}

// names are the names of paths where the private folder was another than was expected, or the worktree was mounted at
// the path of the checkout.
func (d *TreeData) names(was []PathName) []PathName {
	list, known := slices.Clone(was), false
	for _, work := range was {
		if work.Name != "<work>" || d.Root == "" {
			continue
		}
		for _, p := range was {
			below, ok := strings.CutPrefix(p.Path, work.Path)
			ok = ok && (below == "" || below[0] == '/' || below[0] == '\\')
			// A resumed run has the names of those before it, whose folder may have been the same.
			if here := (PathName{Path: d.Root + below, Name: p.Name}); ok && !slices.Contains(list, here) {
				list = append(list, here)
			}
		}
	}
	for i := range list {
		if d.Tree == TreeMounted && list[i].Name == "<source>" {
			list[i].Name = "<worktree>"
		}
		known = known || list[i].Path == d.Path
	}
	if d.Tree == TreeMounted && !known { // the checkout was named by a link
		list = append(list, PathName{Path: d.Path, Name: "<worktree>"})
	}
	slices.SortStableFunc(list, func(a, b PathName) int { return len(b.Path) - len(a.Path) })
	return list
}

func (r *Run) addGate(event Event) error {
	switch event.Type {
	case ApprovalGranted:
		r.Approval = ApprovalIsGranted
		return decodeInto(event, &r.Granted)
	case ApprovalRequested:
		r.Approval = ApprovalIsRequested
		if err := decodeInto(event, &r.Requested); err != nil {
			return err
		}
	case ApprovalDenied:
		r.Approval = ApprovalIsDenied
		if err := decodeInto(event, &r.Denied); err != nil {
			return err
		}
	}
	if event.Type == ApprovalRequested {
		return nil
	}
	b, err := decode[Blocker](event)
	b.Step = event.Step
	r.blocked = append(r.blocked, b)
	return err
}

func (r *Run) addStep(event Event) error {
	at, found := r.at[event.Step]
	if !found {
		return broken(event.Seq, fmt.Sprintf("%s is of step %q, which the plan does not have", event.Type, event.Step))
	}
	s := &r.Steps[at]
	switch event.Type {
	case StepStarted:
		*s = StepRecord{Planned: s.Planned, StartedAt: event.Time, Attempts: s.Attempts + 1,
			Eligibility: s.Eligibility, agentFiles: s.agentFiles}
		return decodeInto(event, &s.Step)
	case ScrapRecorded:
		scrap, err := decode[ScrapData](event)
		s.Scraps = append(s.Scraps, scrap)
		return err
	case PatchApplied:
		return decodeInto(event, &s.Patch)
	case StepReplayed:
		return decodeInto(event, &s.Replayed)
	case StepFinished:
		s.FinishedAt = event.Time
		return decodeInto(event, &s.Finished)
	case AgentEligibility:
		return decodeInto(event, &s.Eligibility)
	default:
		told, err := decode[AgentData](event)
		s.Turn = append(s.Turn, told)
		s.agentFiles = append(s.agentFiles, told.Files...)
		return err
	}
}

// Endings are the files of what interpreters that began with a step printed as they were closed.
func (r *Run) Endings(step notebooks.StepID) (files []string) {
	if r.Completed == nil {
		return nil
	}
	for _, f := range r.Completed.Files {
		folder, name := path.Split(f.File)
		if strings.HasPrefix(name, EndingPrefix) && strings.HasSuffix(folder, "-"+string(step)+"/") {
			files = append(files, f.File)
		}
	}
	return files
}

// Scraps returns every scrap of the run but its checks with its last value, in the order in which the names came first.
func (r *Run) Scraps() []ScrapData {
	var scraps []ScrapData
	at := map[string]int{}
	for i := range r.Steps {
		for _, scrap := range r.Steps[i].Scraps {
			if scrap.Type == ScrapCheck {
				continue
			}
			if k, found := at[scrap.Name]; found {
				scraps[k] = scrap
				continue
			}
			at[scrap.Name] = len(scraps)
			scraps = append(scraps, scrap)
		}
	}
	return scraps
}

// Blockers returns every reason why the run did not pass, each once: of its gates, the diff, the verification and the
// end.
func (r *Run) Blockers() []Blocker {
	all := slices.Clone(r.blocked)
	if r.Diff != nil {
		all = append(all, r.Diff.Blockers...)
	}
	if r.Verification != nil {
		all = append(all, r.Verification.Blockers...)
	}
	if r.Completed != nil {
		all = append(all, r.Completed.Blockers...)
	}
	var once []Blocker
	for _, blocker := range all {
		if !slices.ContainsFunc(once, blocker.equal) {
			once = append(once, blocker)
		}
	}
	return once
}

// Digests are the files whose digests the events of a run give, by name.
func (r *Run) Digests() map[string]Digest {
	known := map[string]Digest{r.Started.SourceFile: r.Source}
	if from := r.Started.ResumedFrom; from != nil {
		known[from.File] = from.Digest
		if from.Fork != nil {
			known[from.Fork.File] = from.Fork.Digest
		}
	}
	for _, f := range r.eventFiles() {
		known[f.File] = f.Digest
	}
	delete(known, "")
	return known
}

// eventFiles are the files whose digests events give, but the source notebook and the journals of earlier runs. Bytes
// is -1 where an event does not give the size.
func (r *Run) eventFiles() []StreamData {
	var files fileList
	if q := r.Requested; q != nil {
		files.add(q.File, q.Digest)
	}
	if g := r.Granted; g != nil {
		files.add(g.File, g.Digest)
		if g.Signature != nil {
			files.add(g.Signature.File, g.Signature.Digest)
		}
		files.sealed(g.Signers)
	}
	if d := r.Denied; d != nil {
		files.add(d.File, d.Digest)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		files = append(files, s.Files()...)
		if p := s.Replayed; p != nil {
			files.stream(p.Stdout, p.Stderr)
		}
		if e := s.Eligibility; e != nil && e.Marker != nil {
			files.add(e.Marker.File, e.Marker.Digest)
		}
		files.sealed(s.agentFiles)
		if f := s.Finished; f != nil {
			files.add(f.Result, f.ResultDigest)
		}
	}
	if r.Diff != nil {
		files.add(r.Diff.Patch, r.Diff.PatchDigest)
		for _, a := range r.Diff.Artifacts {
			files.stream(a.StreamData)
		}
	}
	if r.Verification != nil && r.Verification.Judges != nil {
		for _, s := range r.Verification.Judges.Steps {
			files.stream(s.Stdout, s.Stderr, s.Outputs)
			files.displays(s.Displays)
			files.tests(s.Tests)
		}
	}
	if done := r.Completed; done != nil {
		files.sealed(done.Files)
		if b := done.Bundle; b != nil {
			files.stream(StreamData{b.File, b.Bytes, b.Digest})
		}
	}
	return files
}

// Files are what a step left in the record, but its result.json: Bytes is -1 where its events do not give the size.
func (s *StepRecord) Files() []StreamData {
	var files fileList
	if s.Patch != nil {
		files.add(s.Patch.Patch, s.Patch.Digest)
	}
	for _, scrap := range s.Scraps {
		files.add(scrap.File, scrap.Digest)
	}
	if f := s.Finished; f != nil {
		files.stream(f.Stdout, f.Stderr)
		files.displays(f.Displays)
		files.stream(f.Outputs)
		files.tests(f.Tests)
		if f.Reads != nil {
			files.add(f.Reads.File, f.Reads.Digest)
		}
	}
	return files
}

// fileList leaves out what has no file: a stream that stayed empty, a check that was skipped.
type fileList []StreamData

func (l *fileList) add(file string, digest Digest) { l.stream(StreamData{file, -1, digest}) }

func (l *fileList) sealed(files []SealedFile) {
	for _, f := range files {
		l.add(f.File, f.Digest)
	}
}

func (l *fileList) displays(displays []DisplayData) {
	for _, d := range displays {
		l.stream(StreamData{d.File, d.Bytes, d.Digest})
	}
}

func (l *fileList) tests(counts *TestCounts) {
	if counts != nil {
		l.stream(counts.Reports...)
	}
}

func (l *fileList) stream(streams ...StreamData) {
	for _, s := range streams {
		if s.File != "" {
			*l = append(*l, s)
		}
	}
}

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

// ResumedDir is the folder of a record that holds the journals of the runs that it resumes.
const ResumedDir = "resumed"

// ResumedData says which run another one resumes, and which was its last event.
type ResumedData struct {
	Run    RunID  `json:"run_id"`
	Seq    int    `json:"seq"`  // of its last event
	Hash   Digest `json:"hash"` // of the same
	File   string `json:"file"` // its whole journal, copied; relative to the run directory
	Digest Digest `json:"digest"`
	// Fork says how a fork differs from that run; nil: the run was cut, and this one resumes it.
	Fork *ForkData `json:"fork,omitempty"`
}

// ForkData is what sets a fork apart from a resumed run: where it begins, and the notebook of the run before.
type ForkData struct {
	At notebooks.StepID `json:"at,omitzero"` // the first step that runs in the fork; "" if none is left
	// Asked is the step that the fork was asked to begin at; "" for the first that is not as it should be.
	Asked      notebooks.StepID `json:"asked,omitzero"`
	Reason     string           `json:"reason,omitzero"`      // why it begins at At and not at Asked
	Parameters []string         `json:"parameters,omitempty"` // whose values differ; no carried step names them
	// the notebook of that run, copied; relative to the run directory
	File   string `json:"file"`
	Digest Digest `json:"digest"`         // of the same; that run's journal begins with it
	Reuse  string `json:"reuse,omitzero"` // on, tests: steps are carried because they would do the same
	// Again are steps among the carried ones that ran anew: tests and reviews.
	Again []notebooks.StepID `json:"again,omitempty"`
}

// CarriedData marks an event as a copy of an event of the resumed run.
type CarriedData struct {
	Run  RunID     `json:"run_id"` // the run that the event was copied from
	Seq  int       `json:"seq"`    // of the event in that run
	Hash Digest    `json:"hash"`   // of the event in that run
	Ran  RunID     `json:"ran_in"` // the run in which the step ran; not Run if that run carried it, too
	Time time.Time `json:"time"`   // of the event in the run Ran
	// Tree is the tree of the event in that run, where it is another here: the fork began with other files, of which no
	// carried step had read one.
	Tree string `json:"tree,omitzero"`
	// Forked says that a fork carried the step: it is no part of one run that was interrupted, and its output says so.
	Forked bool `json:"forked,omitzero"`
}

// Options are the options that the request of a run and its record have alike.
type Options struct {
	Kernel   string `json:"kernel,omitzero"`   // overrides the notebook's kernel
	Language string `json:"language,omitzero"` // of steps that name none
	Backend  string `json:"backend,omitzero"`  // does the agents' steps, but those that judge and name another
	// where steps start, relative to the worktree; "" is its root
	Cwd           string `json:"cwd,omitzero"`
	StepTimeoutNS int64  `json:"step_timeout_ns,omitzero"` // of steps that set none
	RunTimeoutNS  int64  `json:"run_timeout_ns,omitzero"`  // of the whole run; replaces the notebook's
	// ignored files to copy into the worktree, besides the notebook's own list
	Copy     []string         `json:"copy,omitempty"`
	Data     []string         `json:"data,omitempty"` // patterns of ignored files that belong to the work
	Aside    bool             `json:"aside,omitzero"` // what data: names stays beside the record, as of a test
	Branch   string           `json:"branch,omitzero"`
	Only     []string         `json:"only,omitempty"`
	SkipTags []string         `json:"skip_tags,omitempty"`
	From     notebooks.StepID `json:"from,omitzero"`
	Until    notebooks.StepID `json:"until,omitzero"`

	AllowErrors bool `json:"allow_errors,omitzero"` // as the notebook's allow_errors
	ReportMode  bool `json:"report_mode,omitzero"`  // the output notebook hides code until readers ask for it
	Timings     bool `json:"timings,omitzero"`      // a Jupyter output notebook has the times of its steps
}

// OptionsData are the options of the command line that decide what a run does and are not in the contract or the plan.
type OptionsData struct {
	Options
	StartNS      int64       `json:"start_timeout_ns,omitzero"`
	AllowUnknown bool        `json:"allow_unknown_parameters,omitzero"`
	Given        []GivenData `json:"given,omitempty"`
}

// GivenData is a value that was given for a parameter and is no secret.
type GivenData struct {
	Name string `json:"name"`
	From string `json:"from"`
	Wire string `json:"wire"` // notebooks.Value.Wire, as text: it holds what plain JSON cannot
}

// ReportMode reports whether the output notebook hides the code of its steps.
func (r *Run) ReportMode() bool { return r.Started.Options != nil && r.Started.Options.ReportMode }

// Timings reports whether a Jupyter output notebook has the times of its steps.
func (r *Run) Timings() bool { return r.Started.Options != nil && r.Started.Options.Timings }

// ResumedFile returns the name of the file that holds the journal of a resumed run.
func ResumedFile(id RunID) string { return path.Join(ResumedDir, string(id)+".jsonl") }

// ForkedSource returns the name of the file that holds the notebook of the run that a fork goes on from.
func ForkedSource(id RunID, sourceFile string) string {
	return path.Join(ResumedDir, string(id)+path.Ext(sourceFile))
}

// Words say what the run is of the one before: "resumed from", "forked from".
func (d *ResumedData) Words() string {
	if d.Fork != nil {
		return "forked from"
	}
	return "resumed from"
}

// CarriedSteps are the steps that a run carried from one other, in which they ran.
type CarriedSteps struct {
	Run   RunID              `json:"run_id"`
	Steps []notebooks.StepID `json:"steps"`
}

// Carried lists the steps that a run carried, by the run in which they ran, in the order of the steps.
func (r *Run) Carried() (list []CarriedSteps) {
	for i := range r.Steps {
		s := &r.Steps[i]
		from := s.CarriedFrom()
		if from == "" {
			continue
		}
		at := slices.IndexFunc(list, func(c CarriedSteps) bool { return c.Run == from })
		if at < 0 {
			at, list = len(list), append(list, CarriedSteps{Run: from})
		}
		list[at].Steps = append(list[at].Steps, s.Planned.ID)
	}
	return list
}

// CarriedFrom returns the run in which a carried step ran; "" if the step ran in this run, or not at all.
func (s *StepRecord) CarriedFrom() RunID {
	if s.Finished == nil || s.Finished.Carried == nil {
		return ""
	}
	return s.Finished.Carried.Ran
}

// Forked reports whether a fork took the step over: it ran in an earlier run, and the result is not shown as of this
// one.
func (s *StepRecord) Forked() bool {
	return s.Finished != nil && s.Finished.Carried != nil && s.Finished.Carried.Forked
}

// ReplayDir is the folder, in that of a carried step, with what it printed when it ran again for its state.
const ReplayDir = "replay"

// JudgedDir is the folder, in that of a judging step, with its outputs of the second time, when it ran with the base's
// version of protected files.
const JudgedDir = "judged"

// carriedFiles reports of a file of a record whether an earlier run wrote it: a journal of a resumed run, or a file of
// a carried step that this run did not write itself.
func carriedFiles(run *Run) func(name string) bool {
	var dirs []string
	for i := range run.Steps {
		if s := &run.Steps[i]; s.CarriedFrom() != "" && s.Step != nil {
			dirs = append(dirs, s.Step.Dir+"/")
		}
	}
	return func(name string) bool {
		if strings.HasPrefix(name, ResumedDir+"/") {
			return run.Started.ResumedFrom != nil
		}
		for _, dir := range dirs {
			if rest, below := strings.CutPrefix(name, dir); below {
				return rest != ResultFile && !strings.HasPrefix(rest, ReplayDir+"/") &&
					!strings.HasPrefix(rest, JudgedDir+"/")
			}
		}
		return false
	}
}

// Rerun is rerun.json: how a run compares with the one that it repeats. It follows from the two records, whose digests
// it names, and is written beside the record of the second.
type Rerun struct {
	Run       RunID  `json:"run_id"` // that was repeated
	Sums      Digest `json:"record"` // of its SHA256SUMS
	Rerun     RunID  `json:"rerun_id"`
	RerunSums Digest `json:"rerun_record"`
	Agrees    bool   `json:"agrees"`
	// OtherBase says that the repetition began with another commit, so that only the changes were compared, not trees.
	OtherBase string `json:"other_base,omitzero"`
	// Normalize are the rules besides the notebook's own that masked what was compared.
	Normalize []notebooks.Normalize `json:"normalize,omitempty"`
	Compared  int                   `json:"compared"` // how many results were compared
	// Differences are in the order of the notebook, those of the whole run first.
	Differences []RerunDifference `json:"differences"`
	Notes       []string          `json:"notes"` // what was not compared, and why
}

// RerunDifference is one result that differs.
type RerunDifference struct {
	Step  string   `json:"step,omitzero"` // "" is the whole run
	What  string   `json:"what"`          // status, exit, tree, change, scrap NAME, tests, output, steps, attempts
	Was   string   `json:"was"`
	Now   string   `json:"now"`
	Diff  string   `json:"diff,omitzero"`   // of texts, unified
	Paths []string `json:"paths,omitempty"` // whose content differs
}

// Reruns returns, by the run that they repeat, the records that were compared with it, the oldest first. They are not
// checked, and one whose rerun.json cannot be read is left out.
func (s Store) Reruns() (map[RunID][]*Record, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	out := map[RunID][]*Record{}
	for _, id := range ids {
		record := s.Record(id)
		if r, err := record.Rerun(); err == nil {
			out[r.Run] = append(out[r.Run], record)
		}
	}
	return out, nil
}

// Rerun reads rerun.json. It does not check that it follows from the records.
func (r *Record) Rerun() (*Rerun, error) {
	text, err := r.ReadFile(RerunFile)
	if err != nil {
		return nil, err
	}
	var out Rerun
	if err := codec.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", RerunFile, err)
	}
	return &out, nil
}

package runs

import (
	"path"
	"strings"
	"time"
)

// ResumedDir is the folder of a run directory that holds the journals of the runs that it goes on from.
const ResumedDir = "resumed"

// ResumedData says which run another one goes on from, and until which of its events it had come.
type ResumedData struct {
	Run    RunID  `json:"run_id"`
	Seq    int    `json:"seq"`  // of its last event
	Hash   Digest `json:"hash"` // of the same
	File   string `json:"file"` // its whole journal, copied; relative to the run directory
	Digest Digest `json:"digest"`
}

// CarriedData marks an event that tells what an earlier run did: it is a copy of an event of the run that
// this one goes on from.
type CarriedData struct {
	Run  RunID     `json:"run_id"` // that the event was taken from
	Seq  int       `json:"seq"`    // of the event there
	Hash Digest    `json:"hash"`   // of the same
	Ran  RunID     `json:"ran_in"` // the run in which the step really ran; another than Run when that was resumed, too
	Time time.Time `json:"time"`   // of the event when it really ran
}

// OptionsData are the options of the command line that say what a run does, besides those that the contract and
// the plan hold.
type OptionsData struct {
	Kernel        string      `json:"kernel,omitzero"`
	Language      string      `json:"language,omitzero"`
	Cwd           string      `json:"cwd,omitzero"`
	StepTimeoutNS int64       `json:"step_timeout_ns,omitzero"`
	RunTimeoutNS  int64       `json:"run_timeout_ns,omitzero"`
	StartNS       int64       `json:"start_timeout_ns,omitzero"`
	Copy          []string    `json:"copy,omitempty"`
	Branch        string      `json:"branch,omitzero"`
	Only          []string    `json:"only,omitempty"`
	SkipTags      []string    `json:"skip_tags,omitempty"`
	From          string      `json:"from,omitzero"`
	Until         string      `json:"until,omitzero"`
	AllowUnknown  bool        `json:"allow_unknown_parameters,omitzero"`
	AllowErrors   bool        `json:"allow_errors,omitzero"`
	ReportMode    bool        `json:"report_mode,omitzero"`
	Given         []GivenData `json:"given,omitempty"`
}

// GivenData is a value that was given to a parameter and is no secret.
type GivenData struct {
	Name string `json:"name"`
	From string `json:"from"`
	Wire string `json:"wire"` // notebooks.Value.Wire, as text: it holds what plain JSON cannot
}

// ReportMode says that readers of the output notebook are to see the code of its steps only when they ask for it.
func (r *Run) ReportMode() bool { return r.Started.Options != nil && r.Started.Options.ReportMode }

// ResumedFile is where a run keeps the journal of a run that it goes on from.
func ResumedFile(id RunID) string { return path.Join(ResumedDir, string(id)+".jsonl") }

// CarriedFrom is the run in which a step ran that this run only carries; "" when it ran in this one, or not at all.
func (s *StepRecord) CarriedFrom() RunID {
	if s.Finished == nil || s.Finished.Carried == nil {
		return ""
	}
	return s.Finished.Carried.Ran
}

// ReplayDir is the folder, in that of a carried step, of what it printed when it ran again for its state.
const ReplayDir = "replay"

// JudgedDir is the folder, in that of a judging step, of what it gave when it ran again with the base's version of
// protected files.
const JudgedDir = "judged"

// carriedFiles says of the files of a run directory which an earlier run wrote: the journals of the runs that
// this one goes on from, and the files of carried steps, but what this run itself made for them.
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
				return rest != "result.json" && !strings.HasPrefix(rest, ReplayDir+"/") && !strings.HasPrefix(rest, JudgedDir+"/")
			}
		}
		return false
	}
}

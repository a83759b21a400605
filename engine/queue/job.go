package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"markmill/runs"
)

// ErrNoJob is the error of a job that is not in the queue.
var ErrNoJob = errors.New("there is no such job")

// State is the state of a job.
type State string

// The states of a job.
const (
	StateHeld     State = "held" // it waits for other jobs
	StateEnqueued State = "enqueued"
	// its run needs an approval, and nothing happens until a person answers
	StateUnapproved State = "unapproved"
	StateLeased     State = "leased"  // a worker has it, and no step runs yet
	StateRunning    State = "running" // a worker runs a step
	StateCompleted  State = "completed"
	StateFailed     State = "failed"
	StateCanceled   State = "canceled"
	StateDead       State = "dead"
	StateRemoved    State = "removed" // of a job that ended: it is as good as gone
)

// States lists the states.
var States = []State{StateHeld, StateEnqueued, StateUnapproved, StateLeased, StateRunning, StateCompleted, StateFailed,
	StateCanceled, StateDead}

// Ended reports whether the state is final, unless a person retries the job.
func (s State) Ended() bool {
	return s == StateCompleted || s == StateFailed || s == StateCanceled || s == StateDead
}

// Job is the state of a job, a fold of its entries.
type Job struct {
	ID       string     `json:"id"`
	State    State      `json:"state"`
	Notebook string     `json:"notebook"`
	Queue    string     `json:"queue"`
	Priority Priority   `json:"priority"`
	Labels   []string   `json:"labels,omitempty"` // that a worker must offer
	After    []string   `json:"after,omitempty"`  // jobs that must complete first
	Behind   string     `json:"behind,omitzero"`  // a job that must have ended, in whatever way
	Worker   string     `json:"worker,omitzero"`  // who has it, or had it last
	Run      runs.RunID `json:"run,omitzero"`     // its newest run
	Step     string     `json:"step,omitzero"`    // the step that runs
	// Attempts counts how often a worker took the job; InVain, how often in a row no step was finished.
	Attempts int `json:"attempts"`
	InVain   int `json:"in_vain,omitzero"`
	// Finished is the most steps that one of its runs has finished.
	Finished int `json:"finished,omitzero"`
	// Tried counts the runs that ended without passing.
	Tried     int         `json:"tried,omitzero"`
	NotBefore time.Time   `json:"not_before,omitzero"`
	Contract  runs.Digest `json:"contract,omitzero"` // that it waits to be approved
	Status    runs.Status `json:"status,omitzero"`   // of the run that ended it
	Reason    string      `json:"reason,omitzero"`
	Enqueued  time.Time   `json:"enqueued"`
	Changed   time.Time   `json:"changed"`
}

// Before lists the jobs that it waits for, or waited for.
func (j *Job) Before() []string {
	if j.Behind == "" {
		return j.After
	}
	return append(slices.Clone(j.After), j.Behind)
}

// Add applies an entry.
func (j *Job) Add(e *Entry) error {
	if j.State == "" && (e.Kind != Enqueued || e.Spec == nil) {
		return errors.New("its first entry does not submit it")
	}
	if e.Kind == Mended {
		return nil
	}
	if e.Spec != nil {
		*j = Job{ID: e.Spec.ID, Notebook: e.Spec.Request.Path, Queue: e.Spec.Queue, Priority: e.Spec.Priority,
			Labels: e.Spec.Labels, After: e.Spec.After, Behind: e.Spec.Behind, Enqueued: e.Time}
	}
	if e.Kind == Removed && j.State.Ended() {
		j.State = StateRemoved
		return nil
	}
	if j.State.Ended() && e.Kind != Enqueued {
		return fmt.Errorf("it is %s, and an entry %s follows", j.State, e.Kind)
	}
	if j.State == StateHeld && e.Kind != Freed && e.Kind != Canceled {
		return fmt.Errorf("it is held, and an entry %s follows", e.Kind)
	}
	if (j.State == StateUnapproved) != (e.Kind == Answered) && e.Kind != Canceled {
		return fmt.Errorf("it is %s, and an entry %s follows", j.State, e.Kind)
	}
	j.Changed, j.Reason, j.Contract = e.Time, e.Reason, ""
	switch e.Kind {
	case Enqueued:
		j.State, j.Status, j.Step, j.NotBefore = StateEnqueued, "", "", time.Time{}
		j.InVain, j.Tried, j.Finished = 0, 0, 0
		if len(j.Before()) > 0 {
			j.State = StateHeld
		}
	case Freed:
		j.State = StateEnqueued
	case Claimed:
		j.State, j.Worker, j.Attempts, j.InVain = StateLeased, e.Worker, j.Attempts+1, j.InVain+1
	case Recorded:
		if j.Run, j.Step = e.Run, e.Step; e.Step != "" {
			j.State = StateRunning
		}
		if e.Finished > j.Finished { // carried steps of a resumed run are no progress
			j.InVain, j.Finished = 0, e.Finished
		}
	case Released:
		j.State, j.NotBefore, j.Step = StateEnqueued, e.NotBefore, ""
		if e.Anew {
			j.Tried, j.InVain, j.Finished = j.Tried+1, 0, 0
		}
	case Asked:
		j.State, j.Run, j.Step, j.InVain, j.Contract = StateUnapproved, e.Run, "", 0, e.Contract
	case Answered:
		if e.Run != j.Run {
			return fmt.Errorf("the answer is to run %s, and run %s asked", e.Run, j.Run)
		}
		j.State, j.NotBefore = StateEnqueued, e.NotBefore
	case Completed, Failed, Canceled, Dead:
		j.State, j.Status, j.Step = State(e.Kind), e.Status, ""
		if e.Run != "" {
			j.Run = e.Run
		}
	default:
		return fmt.Errorf("an entry of the unknown kind %q", e.Kind)
	}
	return nil
}

// History is a job with its entries.
type History struct {
	Job
	Entries []Entry
}

// Fold returns the state of a job from its entries.
func Fold(entries []Entry) (*History, error) {
	h := &History{Entries: entries}
	for i := range entries {
		if err := h.Add(&entries[i]); err != nil {
			return nil, fmt.Errorf("job %s: entry %d: %w", h.ID, i+1, err)
		}
	}
	return h, nil
}

// Spec is what was submitted.
func (h *History) Spec() *Spec { return h.Entries[0].Spec }

// Answers returns the answers to its runs' requests for an approval, since the last run that ended. An answer that is
// for another run, or cannot be read, is an error: it may be a denial.
func (h *History) Answers() (list []runs.Answer, err error) {
	for i := range h.Entries {
		switch e := &h.Entries[i]; {
		case e.Anew || e.Kind == Enqueued:
			list = nil
		case e.Kind == Answered:
			a := runs.Answer{Text: e.Answer, Signature: e.Signature}
			if a.Approval, err = runs.ReadApproval(e.Answer); err == nil && a.Run != e.Run {
				err = fmt.Errorf("it is to run %s, and run %s asked", a.Run, e.Run)
			}
			if err != nil {
				return nil, fmt.Errorf("the answer to the request for an approval cannot be read: %w", err)
			}
			list = append(list, a)
		}
	}
	return list, nil
}

// Asked returns the last request for an approval; nil if there is none.
func (h *History) Asked() *Entry {
	for i := len(h.Entries) - 1; i >= 0; i-- {
		if h.Entries[i].Kind == Asked {
			return &h.Entries[i]
		}
	}
	return nil
}

// Part is the published part of a run.
type Part struct {
	Run      runs.RunID
	Journal  []byte
	Files    map[string]File
	Finished int // steps
}

// Furthest returns the run to resume: of the runs since the last one that ended, the one with the most finished steps,
// and of these the newest; nil if no step has finished.
func (h *History) Furthest() *Part {
	var best, now *Part
	for i := range h.Entries {
		e := &h.Entries[i]
		switch {
		case e.Anew || e.Kind == Failed || e.Kind == Dead && e.Status != "": // that run came to its end
			best, now = nil, nil
		case e.Run == "":
		case now == nil || now.Run != e.Run:
			now = &Part{Run: e.Run, Files: map[string]File{}}
			fallthrough
		default:
			now.Journal, now.Finished = append(now.Journal, e.Journal...), max(now.Finished, e.Finished)
			for _, f := range e.Files {
				now.Files[f.Path] = f
			}
			if now.Finished > 0 && (best == nil || now.Finished >= best.Finished) {
				best = now
			}
		}
	}
	return best
}

// Record lists the files of the job's record; nil if it has none.
func (h *History) Record() []File {
	last := h.Entries[len(h.Entries)-1]
	if !h.State.Ended() {
		return nil
	}
	return last.Files
}

// Presence is a worker and the time since its last message, by the server's clock: those of the workers and of the
// caller do not matter.
type Presence struct {
	Worker
	Silent time.Duration `json:"silent_ns"`
}

// slack is how late a worker's message may be: it checks every second whether one is due.
const slack = 2 * time.Second

// Gone reports whether the leases of the worker have expired: it has ended, or was silent for longer than they last.
func (a *Presence) Gone() bool {
	return a.Ended || a.LeaseNS > 0 && a.Silent > time.Duration(a.LeaseNS)+slack
}

// Leased reports whether a worker has the job, or had it until its lease expired.
func (s State) Leased() bool { return s == StateLeased || s == StateRunning }

// Expired reports whether the lease of a job is over, and no other worker has taken the job yet.
func (j *Job) Expired(workers []Presence) bool {
	if !j.State.Leased() {
		return false
	}
	for i := range workers {
		if workers[i].Name == j.Worker {
			return workers[i].Gone()
		}
	}
	return true // it has not been heard of for a day
}

// Package desk has the questions that the workbench (cmd/markmill-server/serve) asks the process that holds the queue,
// and the answers. They go as net/rpc over a pipe, both processes being of the same version.
package desk

import (
	"time"

	"markmill/engine/queue"
	"markmill/runs"
)

// Name is the name of the service; its methods are Jobs, Job, Tails and Alerts.
const Name = "Desk"

// TailBytes is how much of the end of a file Tails has.
const TailBytes = 32 << 10

// Counted are the states whose jobs are counted, in the order of Jobs.Counts.
var Counted = []queue.State{queue.StateHeld, queue.StateEnqueued, queue.StateUnapproved, queue.StateRunning,
	queue.StateCompleted, queue.StateFailed, queue.StateCanceled, queue.StateDead}

// Jobs answers a queue.Filter.
type Jobs struct {
	Jobs    []queue.Job
	Total   int
	Looked  int // of Total, where the filter has a notebook; 0: at all
	Counts  []int
	Leases  []queue.Job // the jobs that workers have
	Workers []queue.Attendance
	Paused  []queue.Pause
}

// JobAsked asks for a job from behind an entry; 0 is the whole job.
type JobAsked struct {
	ID    string
	After uint64
}

// Job is a job, with what came since.
type Job struct {
	Job     queue.Job
	Spec    Spec // of the first entry
	Last    uint64
	Events  []queue.Event
	Waits   []string          // why no worker takes it
	Worker  *queue.Attendance // that has it
	Expired bool              // its lease is over, and nobody has taken it yet
	// Run is the newest run, with its journal and its files as far as they came in these entries.
	Run     runs.RunID
	Journal []byte
	Files   []queue.File
}

// Spec is what was submitted, without the notebook and the values.
type Spec struct {
	By, Host, Base, Output string
	Retries                int
}

// Tail is the end of a file.
type Tail struct {
	Path    string
	Skipped int64 // bytes before
	Text    []byte
}

// Alerts are the newest alerts, and what is muted.
type Alerts struct {
	Alerts []Alert
	Total  int
	Mutes  []queue.Mute
}

// Alert is an alert with what became of it.
type Alert struct {
	Alert queue.Alert
	Words string
	To    []Told
}

// Told is what became of an alert at one target.
type Told struct {
	Target, State string
	At            time.Time // of the last try
	Error         string    // why it failed
	Next          time.Time
	By, Why       string // who muted it, or asked for it again
}

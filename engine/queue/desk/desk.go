// Package desk has what the workbench (cmd/markmill-server/serve) asks of the queue, and the answers. The workbench
// does not import what holds the queue: it is given a Desk.
package desk

import (
	"context"
	"time"

	"markmill/engine/queue"
	"markmill/runs"
)

// Desk is a connection to the queue.
type Desk interface {
	// Jobs lists jobs, with the workers, pauses and leases that an operator needs.
	Jobs(context.Context, queue.Filter) (*Jobs, error)
	// Job returns a job, and its entries from behind a given one; 0 is the whole job.
	Job(ctx context.Context, id string, after uint64) (*Job, error)
	// Tails returns the ends of files of a record.
	Tails(context.Context, []queue.File) ([]Tail, error)
	// Alerts lists the newest alerts, and the mutes.
	Alerts(ctx context.Context, most int) (*Alerts, error)
	Close()
}

// TailBytes is how much of the end of a file Tails has.
const TailBytes = 32 << 10

// Counted are the states whose jobs are counted, in the order of Jobs.Counts.
var Counted = []queue.State{queue.StateHeld, queue.StateEnqueued, queue.StateUnapproved, queue.StateRunning,
	queue.StateCompleted, queue.StateFailed, queue.StateCanceled, queue.StateDead}

// Jobs are the jobs of a queue.Filter.
type Jobs struct {
	Jobs    []queue.Job
	Total   int
	Looked  int // of Total, where the filter has a notebook; 0: at all
	Counts  []int
	Leases  []queue.Job // the jobs that workers have
	Workers []queue.Attendance
	Paused  []queue.Pause
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

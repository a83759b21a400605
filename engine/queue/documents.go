package queue

import (
	"time"

	"markmill/runs"
)

// Connection says where a queue is, and for whom and from which repository it is used.
type Connection struct {
	Program string // path of markmill
	Version string
	Root    string // of the repository; "" outside one
	Store   string // of runs
	User    string
	Server  Server
}

// SubmitOptions are those of markmill queue submit.
type SubmitOptions struct {
	Wait, Follow bool // until the job ends
	JSON         bool
}

// WorkerOptions are those of markmill queue worker.
type WorkerOptions struct {
	Queues   []string
	Labels   []string // that it offers
	Jobs     int      // at once
	Lease    time.Duration
	Drain    bool
	Warm     bool
	Sandbox  string // the least one of the jobs, as in the front matter
	Schedule bool   // it also submits what is due
}

// Filter selects the jobs of a list.
type Filter struct {
	States   []State // none is all
	Queue    string
	Notebook string // path, of which * matches any part without a slash
	Limit    int
	Skip     int // of the newest that match
}

// Server is where the jobs are: in the store, or at an address.
type Server struct {
	URL         string
	Credentials string // files
	CA          string
	Cert        string
	Key         string
	Replicas    int
	Files       string // folder or address of larger files; "": they are with the jobs
}

// List is the document that markmill queue list prints.
type List struct {
	Jobs  []Job `json:"jobs"`  // the one that was submitted, taken, given back or ended last first
	Total int   `json:"total"` // of the states and the queue that were asked for
	// Paused lists the queues that are paused.
	Paused []Pause `json:"paused,omitempty"`
	// Foreign lists the messages that were skipped because no program of Markmill wrote them.
	Foreign []Foreign `json:"foreign,omitempty"`
}

// Foreign is a message in the queue that no program of Markmill wrote.
type Foreign struct {
	Stream   string `json:"stream"`
	Subject  string `json:"subject"`
	Sequence uint64 `json:"sequence"`
}

// Shown is the document that markmill queue show prints, and submit.
type Shown struct {
	Job   Job      `json:"job"`
	Waits []string `json:"waits,omitempty"` // why no worker takes it
	// Asked is what its run asks approval for.
	Asked   *runs.ApprovalRequest `json:"asked,omitempty"`
	Entries []Event               `json:"entries"`
}

// RowEnd is a row of a sweep whose job has ended, and whose record is in the store.
type RowEnd struct {
	State  State
	Run    runs.RunID // "" for a job that left no record
	Reason string
	Err    error // nothing became of the row
}

// Pause is a paused queue: workers take no jobs of it.
type Pause struct {
	Queue  string    `json:"queue"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

// Worker describes a worker, as it does itself.
type Worker struct {
	Name   string    `json:"name"`
	Queues []string  `json:"queues"`
	Labels []string  `json:"labels,omitempty"`
	Seen   time.Time `json:"seen"`
	Ended  bool      `json:"ended,omitzero"`
	// LeaseNS is the time without a heartbeat after which another worker takes its jobs, in nanoseconds.
	LeaseNS int64 `json:"lease_ns,omitzero"`
}

// Event is an Entry without its payload.
type Event struct {
	Kind     Kind      `json:"kind"`
	Time     time.Time `json:"time"`
	By       string    `json:"by,omitzero"`
	Reason   string    `json:"reason,omitzero"`
	Worker   string    `json:"worker,omitzero"`
	Run      string    `json:"run,omitzero"`
	Step     string    `json:"step,omitzero"`
	Finished int       `json:"finished,omitzero"`
}

// Event is the entry without its payload.
func (e *Entry) Event() Event {
	return Event{Kind: e.Kind, Time: e.Time, By: e.By, Reason: e.Reason, Worker: e.Worker, Run: string(e.Run),
		Step: e.Step, Finished: e.Finished}
}

// Show makes the document of a history.
func (h *History) Show() Shown {
	doc := Shown{Job: h.Job, Entries: []Event{}}
	for i := range h.Entries {
		doc.Entries = append(doc.Entries, h.Entries[i].Event())
	}
	return doc
}

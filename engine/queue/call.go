package queue

import "time"

// Call is what the program that holds the queue is asked to do, as JSON.
type Call struct {
	Do      string `json:"do"`      // submit, worker, list, show, follow, cancel, retry, fetch, scheduler, pause
	Program string `json:"program"` // path of markmill
	Version string `json:"version"`
	Root    string `json:"root,omitzero"` // of the repository; "" outside one
	Store   string `json:"store"`         // of runs
	User    string `json:"user"`

	Server Server `json:"server"`

	Spec   *Spec `json:"spec,omitempty"` // of submit
	Wait   bool  `json:"wait,omitzero"`
	Follow bool  `json:"follow,omitzero"`

	Queues  []string `json:"queues,omitempty"` // of worker
	Jobs    int      `json:"jobs,omitzero"`    // at once
	LeaseNS int64    `json:"lease_ns,omitzero"`
	Drain   bool     `json:"drain,omitzero"`
	// Schedule has a worker also submit what is due.
	Schedule bool `json:"schedule,omitzero"`

	ID     string  `json:"id,omitzero"` // of the job
	Reason string  `json:"reason,omitzero"`
	States []State `json:"states,omitempty"` // of list; none is all
	Limit  int     `json:"limit,omitzero"`
	JSON   bool    `json:"json,omitzero"`
}

// Server says where the jobs are: in the store, or at an address.
type Server struct {
	URL         string `json:"url,omitzero"`
	Credentials string `json:"credentials,omitzero"` // files
	CA          string `json:"ca,omitzero"`
	Cert        string `json:"cert,omitzero"`
	Key         string `json:"key,omitzero"`
	Replicas    int    `json:"replicas,omitzero"`
}

// List is the document that markmill jobs list prints.
type List struct {
	Jobs  []Job `json:"jobs"`  // the one that changed last first
	Total int   `json:"total"` // of the states that were asked for
}

// Shown is the document that markmill jobs show prints, and submit.
type Shown struct {
	Job     Job     `json:"job"`
	Entries []Event `json:"entries"`
}

// Event is an Entry without what it carries.
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

// Show makes the document of a history.
func (h *History) Show() Shown {
	doc := Shown{Job: h.Job, Entries: []Event{}}
	for _, e := range h.Entries {
		doc.Entries = append(doc.Entries, Event{Kind: e.Kind, Time: e.Time, By: e.By, Reason: e.Reason, Worker: e.Worker,
			Run: string(e.Run), Step: e.Step, Finished: e.Finished})
	}
	return doc
}

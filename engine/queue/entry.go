package queue

import (
	"time"

	"markmill/runs"
)

// Kind is the kind of an Entry.
type Kind string

// The kinds of entries.
const (
	Enqueued  Kind = "enqueued"  // submitted, or put back by a person
	Freed     Kind = "freed"     // the jobs that it comes after are there
	Claimed   Kind = "claimed"   // a worker has it
	Recorded  Kind = "recorded"  // the run has gone on: a part of its journal, and files
	Asked     Kind = "asked"     // its run needs an approval
	Answered  Kind = "answered"  // a person approved or denied that
	Released  Kind = "released"  // given back, to be continued not before a time
	Completed Kind = "completed" // the run passed
	Failed    Kind = "failed"    // the run came to another end, or could not begin
	Canceled  Kind = "canceled"  // by a person
	Removed   Kind = "removed"   // its entries are being removed
	Dead      Kind = "dead"      // given up after several attempts
	Mended    Kind = "mended"    // it follows a message that no program of ours wrote, and changes nothing
)

// Entry is one event of a job.
type Entry struct {
	Kind   Kind      `json:"kind"`
	Time   time.Time `json:"time"`
	By     string    `json:"by,omitzero"`     // the person, of what people do
	Reason string    `json:"reason,omitzero"` // why; a person always gives one
	Worker string    `json:"worker,omitzero"`
	Spec   *Spec     `json:"spec,omitempty"` // of the first entry
	// Run is the run that Journal and Files are of.
	Run     runs.RunID `json:"run,omitzero"`
	Journal []byte     `json:"journal,omitempty"` // the bytes that came to the run's journal since the last entry
	Files   []File     `json:"files,omitempty"`   // files of the record that are new or have changed
	// Step is the step that runs after the entry; "" is none.
	Step string `json:"step,omitzero"`
	// Finished counts the steps of the run that have ended.
	Finished int `json:"finished,omitzero"`
	// NotBefore is the earliest time at which a released job may be taken again.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Anew says that a released job is not resumed: its next attempt is a new run.
	Anew bool `json:"anew,omitzero"`
	// Contract is the digest of the contract for which an entry Asked requests an approval.
	Contract runs.Digest `json:"contract,omitzero"`
	// Answer is an approval or a denial, as its bytes, and Signature that of them; of an entry Answered.
	Answer    []byte `json:"answer,omitempty"`
	Signature []byte `json:"signature,omitempty"`
	// Status is how the run ended, of the entries that end a job; "" for a job without a run.
	Status runs.Status `json:"status,omitzero"`
}

// File is a file of a record, kept in parts by their digests.
type File struct {
	Path   string      `json:"path"` // in the run directory, slash-separated
	Digest runs.Digest `json:"digest"`
	Bytes  int64       `json:"bytes"`
	Parts  []string    `json:"parts"` // SHA-256 of each part, as hexadecimal digits
	// Apart says that the parts are not in the queue, but where larger files are kept.
	Apart bool `json:"apart,omitzero"`
}

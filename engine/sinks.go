package engine

import (
	"os"
	"slices"

	"markmill/notebooks"
	"markmill/runs"
)

// Sinks are where a run goes besides its journal. The zero value leaves a record without views.
type Sinks struct {
	Observers []Observer
	Views     []View // in the order in which they are written

	// StageOutput writes OUTPUT to a temporary file and returns the output notebooks that the run directory need not
	// keep, which the views then leave out. It is called before the views, with the run as its last event will have it.
	// When it returns none, the views write all. nil is none.
	StageOutput func(ViewInput) []runs.LeftOutput

	// CommitOutput is called when the record is complete, or could not be completed. It renames what was staged into
	// place, or removes it. The run is still locked, so that a crash is noticed. nil is none.
	CommitOutput func(id runs.RunID, complete bool) error

	// Sign makes the signatures of the manifests of the output notebooks, by their names in the run directory. It is
	// called with the run as its last event will have it. nil signs nothing.
	Sign func(ViewInput) (map[string]string, error)
}

// Observer follows a run. Its functions are called from the run's goroutines and must not block for long; nil is none.
type Observer struct {
	Event  func(runs.Event) // every event, once it is in the journal
	Output func(step notebooks.StepID, stream string, chunk []byte)
	// Unfinished shows what a line that is held, because it may hold a secret, has so far; it comes again with Output.
	Unfinished func(step notebooks.StepID, stream string, line []byte)
	Files      []os.FileInfo // files that the observer writes meanwhile; they are no change of the checkout
}

func (s *Sinks) event(e runs.Event) {
	for _, o := range s.Observers {
		if o.Event != nil {
			o.Event(e)
		}
	}
}

func (s *Sinks) output(step notebooks.StepID, stream string, chunk []byte) {
	for _, o := range s.Observers {
		if o.Output != nil {
			o.Output(step, stream, chunk)
		}
	}
}

func (s *Sinks) unfinished(step notebooks.StepID, stream string, line []byte) {
	for _, o := range s.Observers {
		if o.Unfinished != nil {
			o.Unfinished(step, stream, line)
		}
	}
}

func (s *Sinks) live() liveOutput { return liveOutput{s.output, s.unfinished} }

// writes reports whether an observer writes the file.
func (s *Sinks) writes(file os.FileInfo) bool {
	return slices.ContainsFunc(s.Observers, func(o Observer) bool {
		return slices.ContainsFunc(o.Files, func(own os.FileInfo) bool { return os.SameFile(own, file) })
	})
}

// View is a file, or several, that a run leaves for readers. It is derived from source and journal.
type View struct {
	Name   string
	Write  func(ViewInput) error
	Beside bool // it is no part of the record, which is complete without it
	Seals  bool // it digests the other files, which are searched for secrets before
}

// Refused is the error of a view that could be written and must fail the run, with this blocker. The views are then
// written once more, with the blocker in the record; a view that is to be kept refuses only once.
type Refused struct{ Code, Words string }

func (r Refused) Error() string { return r.Words }

func (r Refused) blocker() runs.Blocker { return runs.Blocker{Code: r.Code, Message: r.Words} }

// ViewInput is what a view may use.
type ViewInput struct {
	Dir      string // the run directory
	Notebook *notebooks.Notebook
	Run      *runs.Run
	// Known are digests of files of the directory that were computed while the files were written.
	Known map[string]runs.Digest
	// Clean masks secrets in bytes that a view writes outside Dir; name says where they would show. A secret that is
	// found fails the run. nil: the run has no secrets.
	Clean func(name string, b []byte) []byte
}

package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// Engine holds what runs share. Its fields are set once, before the first run.
type Engine struct {
	Version string // of Markmill, for the record
	Config  Config
	// Source is the repository that Config is from, when the caller has opened it; nil: a request names it.
	Source *worktree.Source
	Store  func(repository string) runs.Store // where the runs of a repository are kept
	Cache  string                             // folder for worktrees, absolute
	// Tools is the program that acts as glue, scrap, check, sandbox helper and warden, by the name it is called with.
	// Without it ("") these are missing, and the record says so.
	Tools  string
	Getenv func(string) (string, bool)
	Now    func() time.Time
	Random io.Reader
	PID    int    // of this process, for the record; 0 asks the system
	User   string // the system's name of the user, for approval requests

	// Beside reports whether a path of the checkout may change during a run because other runs of this process write
	// it; nil is never.
	Beside func(path string) bool
	// Schedules is the store whose scheduled notebooks leave outputs in the checkout; "" is that of the runs.
	Schedules string
	// Ended gets the run directory of each run whose record has become complete; it must not wait. nil does nothing.
	Ended func(dir string)

	Floor *Floor // imposed on all runs; nil imposes nothing

	// Job is the job of a queue that runs are of; nil: they are of none.
	Job *Job

	// Warm is what the next run begins with if it fits; Run takes it away.
	Warm *Warm

	// ProbeSandbox finds out what the system offers for the sandbox; nil asks the system.
	ProbeSandbox func(context.Context, sandbox.Need) sandbox.Offer
	// Kernels finds a built-in kernel by its name; nil is kernel.Lookup.
	Kernels func(name string) (kernel.Kernel, bool)

	warden *process.Warden // of all runs; nil: each has its own
}

// Job is a job of a queue. The approvals of its runs are asked for and given there, and are good for the job: for one
// run, and for what other workers make of it when it is cut.
type Job struct {
	ID        string
	Requester runs.Person   // who submitted it
	Answers   []runs.Answer // to what its runs asked, since one came to its end
}

// NewID makes the id of a run of a notebook.
func (e *Engine) NewID(notebook string) (runs.RunID, error) {
	random := make([]byte, 8)
	if _, err := io.ReadFull(e.Random, random); err != nil {
		return "", fmt.Errorf("random bytes for the run's id: %w", err)
	}
	return runs.NewRunID(e.Now(), taskID(notebook), random), nil
}

// source opens the repository at root; nil outside one.
func (e *Engine) source(root string) (*worktree.Source, error) {
	switch {
	case root == "":
		return nil, nil
	case e.Source != nil && e.Source.Root() == root:
		return e.Source, nil
	}
	return worktree.Open(root)
}

// env is the environment as programs read it: a variable that is not set is empty.
func (e *Engine) env(name string) string {
	value, _ := e.Getenv(name)
	return value
}

// kernel finds a built-in kernel.
func (e *Engine) kernel(name string) (kernel.Kernel, bool) {
	if e.Kernels != nil {
		return e.Kernels(name)
	}
	return kernel.Lookup(name)
}

// Sinks are where a run goes besides its journal. The zero value leaves a record without views.
type Sinks struct {
	Observers []Observer
	Views     []View // in the order in which they are written

	// StageOutput writes OUTPUT to a temporary file and returns the output notebooks that the run directory need not
	// keep, which the views then leave out. It is called before the views, with the run as its last event will have it.
	// When it returns none, the views write all. nil is none.
	StageOutput func(ViewInput) []runs.LeftOutput

	// Ended is called with the directory of the record, when that is complete or could not be completed. It renames
	// what was staged into place, or removes it. The run is still locked, so that a crash is noticed. nil is none.
	Ended func(dir string, complete bool) error

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

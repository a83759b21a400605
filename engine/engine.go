package engine

import (
	"context"
	"fmt"
	"io"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
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

package kernel

import (
	"context"
	"io"
	"syscall"
	"time"

	"markmill/engine/process"
	"markmill/notebooks"
	"markmill/runs"
)

// Kernel is one way to interpret a language. It is stateless and shared by all runs. A new kernel is one file and one
// line in the table.
type Kernel interface {
	// Name is the word that selects it: "bash", "python", "command:lua".
	Name() string
	// Languages are the words of a fence's info string that it runs, lower case. A fence that says only "shell" means
	// the shell that people type at, which is bash.
	Languages() []string
	// ValidateParam checks, before anything is started, whether a session can hold the parameter. It returns nil or a
	// *notebooks.Error that says what cannot be held and what to do instead.
	ValidateParam(notebooks.Bound) error
	// Start starts an interpreter. A missing program is a *notebooks.Error of KindProvider. ctx bounds the start only.
	Start(ctx context.Context, o Options) (Session, error)
}

// Options is what a session starts with. The kernel may write under Private and nowhere else.
type Options struct {
	Program string   // path or name to look up in Env's PATH; "" is the kernel's own default
	Dir     string   // working directory, absolute
	Env     []string // the whole environment, "NAME=value"; nothing of the engine's own environment is added
	Params  []notebooks.Bound
	Private string // an empty directory of this session's own, absolute, outside the worktree
	Strict  bool   // shells: any failing command fails the step
	// Scraps is the file (JSON lines of runs.ScrapData) that the commands glue and scrap, and the functions of Python
	// and Node, append to.
	Scraps string
	// Wrap, when set, is put before the interpreter's argument vector (a sandbox helper).
	Wrap []string
	// Confine, when set, takes rights from the thread that starts the interpreter, and so from the interpreter. It is
	// called on that thread, which ends with the interpreter.
	Confine func() error
	// Attributes, when set, may change how the interpreter's process is made, for the namespaces that the helper in
	// Wrap needs.
	Attributes func(*syscall.SysProcAttr)
	// Place, when set, is where the interpreter runs: Dir, Private and every path in Env are paths of it. Order then
	// counts instead of Confine and Attributes, see process.Options.
	Place *process.Place
	Order string
	// Ending gets what the interpreter prints as it is closed: a trap, atexit. nil is nobody.
	Ending io.Writer
	// EndWithStep ends what a step leaves running with the step. Otherwise it lives until the session is closed.
	EndWithStep bool
	// Waits starts an interpreter that gets its parameters with Ready; see the function Waits.
	Waits bool
	// Mark, when set, is the run's: everything that the session starts gets it, so that the run's Warden finds it.
	Mark process.Mark
	// Grace is how long an interrupt, then a term, may take before the next harder signal.
	Grace time.Duration
}

// process says how the interpreter's process is started.
func (o *Options) process() process.Options {
	return process.Options{Confine: o.Confine, Attributes: o.Attributes, Place: o.Place, Order: o.Order}
}

// Session is a live interpreter. It keeps variables, functions and directory from step to step.
// One goroutine uses it at a time.
type Session interface {
	// Info describes the interpreter.
	Info() Info
	// Run runs one step to its end and returns when everything that it wrote was handed to the writers. Processes that
	// it started may go on; what they write goes to the writers of the step that runs then. When ctx is done (a time
	// limit, an interrupt), the interpreter gets an interrupt, then a term, then a kill, each after Grace. So does
	// everything that the step started, even outside of its process group: nothing of it is left, and the outcome says
	// so. What earlier steps left goes on as long as the interpreter does. An error of the author's code is an Outcome;
	// a Go error means that the engine failed.
	Run(ctx context.Context, r Request) (Outcome, error)
	// Bind sets parameters in the live session, over what the author's code set. This is how values reach a notebook
	// whose defaults are a code-language parameters block.
	Bind(ctx context.Context, params []notebooks.Bound) error
	// EndStarted ends what the last step started and left running.
	EndStarted()
	// Running lists the processes of the session: those of the interpreter itself, and what steps left.
	Running() (own []int, left []process.Info)
	// Alive is false once the interpreter has ended; the session is useless then.
	Alive() bool
	// Close ends the interpreter and everything it started, and frees what the session held.
	Close() error
}

// Info describes the interpreter of a session.
type Info struct {
	Program string
	Version string
	PID     int
}

// Request is one step to run.
type Request struct {
	Code   []byte
	File   string            // name that tracebacks show ("task.md")
	Line   int               // line in File of the code's first line, so that tracebacks point into the notebook
	Dir    string            // absolute; "" leaves the session where the last step left it
	Env    map[string]string // of this step only
	Stdout io.Writer         // gets the raw bytes as they come
	Stderr io.Writer
	// DisplayDir is where rich results are written that are not in Outcome.Held, as display-<k>.<ext>, k from 1. It is
	// made only when needed.
	DisplayDir string
	// Ordered asks for Outcome.Outputs.
	Ordered bool
	// Turn is where an agent's turn goes; other kernels do not use it.
	Turn Turn
}

// Turn gets what an agent's program tells, as it comes. Stdout of the request is the transcript.
type Turn struct {
	Event func(runs.AgentData)    // nil drops them
	Steer func() []runs.SteerData // takes what operators say; nil if nobody can
	// Home is the program's, a folder that exists; "" makes one. Session is that of the backend to go on with, in its
	// home, and Prompt what it is told then, in the place of the step's code.
	Home, Session, Prompt string
	Raw, Log              io.Writer // the program's own standard output and standard error; nil drops them
}

// Display is one rich result that a step left in DisplayDir, or in Outcome.Held.
type Display struct {
	File string // base name in DisplayDir
	MIME string
	Alt  string // text/plain of the same result, "" without one
	// ID is the id by which it may be updated, "" without one. Update means that it replaces what an earlier step
	// showed under that id, and is shown only there.
	ID     string
	Update bool
}

// Outcome is how a step ended.
type Outcome struct {
	Exit         int            // exit code; 1 for an exception; 128+n for signal n
	TerminatedBy string         // "" or who ended it: "timeout", "interrupt", "signal KILL", …
	Caught       bool           // ended by the engine, its code went on to an end of its own with exit code 0
	Died         bool           // the interpreter is gone, and its state with it
	Restarted    bool           // the step ended the interpreter (exit 3), which was restarted with its state
	Lost         string         // what a restart could not bring back, "" when nothing was lost
	Leftover     int            // processes that the step left and that were ended with it
	Left         []process.Info // what still runs, of this step and of earlier ones
	Displays     []Display
	// by Display.File: the bytes of those that came in messages and are not in DisplayDir
	Held   map[string][]byte
	Err    *ExecError
	Failed *FailedCommand // of a shell, where it is certain
	// End are the events with which an agent's turn ended; the last one is its runs.AgentEnd.
	End []runs.AgentData
	// Outputs is what came in which order, if Request.Ordered asks for it and the kernel knows; else nil. Its counts of
	// bytes are those of what was handed to the writers; File is a base name in DisplayDir.
	Outputs []runs.OutputData
}

// neverPassed makes a failure of a step that the engine ended: it never succeeds, whatever it says itself.
func (o *Outcome) neverPassed() {
	if o.TerminatedBy != "" && o.Exit == 0 {
		o.Exit, o.Caught = 130, true
	}
}

// ExecError is an exception as the interpreter reported it.
type ExecError struct {
	Name, Value string
	Traceback   string // trimmed to the author's frames
	Line        int    // of the notebook, 0 unknown
}

// FailedCommand is the command at which a step of a shell failed.
type FailedCommand struct {
	Line    int    // of the notebook
	Command string // as the author wrote it, in one line
}

package engine

import (
	"context"
	"io"
	"os"
	"time"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// Request is one run to do.
type Request struct {
	ID     runs.RunID // from NewID; "": Run makes one
	Path   string     // of the notebook, as the user gave it; "-" is standard input
	Source []byte     // its bytes, regions stripped
	MadeOf string     // where it is an output notebook: the path of its source, as its manifest has it
	Output string     // where the output notebook goes, for the record and the untouched check; "" is the run directory only
	Assets string     // folder of the output notebook's pictures, relative to it
	// OutputForm is that of the output notebook where it is another than the notebook's: its own stands in the run
	// directory too.
	OutputForm notebooks.Form

	// OwnFiles are files that the caller writes while the run goes on (a log, the events): they are
	// no change of the checkout.
	OwnFiles []os.FileInfo

	// Empty says that a notebook without a step is no mistake, because nothing is to run.
	Empty bool

	Given        []notebooks.Given
	AllowUnknown bool
	AllowErrors  bool // as the notebook's allow_errors
	ReportMode   bool // readers of the output notebook see what came of the steps, and their code only when they ask for it

	Repository  *worktree.Source // the user's repository; nil outside one
	Folder      string           // outside a repository: the absolute path of the folder that the run works in; "" is an empty one of its own
	Base        string           // revision; "" is HEAD
	Dirty       Dirty
	Reverse     []worktree.Restored // files that begin with an earlier content: the base has the change of the run already
	InPlace     bool
	Copy        []string // ignored files to take along, besides the notebook's own
	Branch      string
	KeepTree    bool
	Cwd         string // where steps start, relative to the worktree; "" is its root
	Kernel      string // overrides the notebook's kernel
	Language    string // of steps that name none
	StepTimeout time.Duration
	RunTimeout  time.Duration // of the whole run, in the place of the notebook's
	Start       time.Duration // limit of a kernel's start; 0 is a minute

	Only, SkipTags []string
	From, Until    notebooks.StepID

	// Markers lets nbval's comments in the code count (notebooks.Markers): the run is a test.
	Markers bool
	// KeepGoing runs the steps behind one that failed, too, as long as its interpreter lives. The run fails all the
	// same.
	KeepGoing bool
	Resume    *Cut // the run that this one goes on from; nil: it begins anew
}

// Dirty is what happens to the user's uncommitted changes.
type Dirty string

const (
	DirtyIgnore  Dirty = "ignore"  // they are not in the worktree; the run says how many there are
	DirtyInclude Dirty = "include" // they are taken along, as a base of their own
	DirtyBlock   Dirty = "block"   // the run does not start
)

// View is a file, or several, that a run leaves for readers: a fold of source and journal.
type View struct {
	Name  string
	Write func(ViewInput) error
	// Beside says that it is no part of the record, which is whole without it.
	Beside bool
}

// Refused is the error of a view that could be written and must fail the run: with this blocker. The views are
// then written once more, of the record that has it; a view that is to be kept refuses only once.
type Refused struct{ Code, Words string }

func (r Refused) Error() string { return r.Words }

// ViewInput is what a view may look at.
type ViewInput struct {
	Dir      string // the run directory
	Notebook *notebooks.Notebook
	Run      *runs.Run
	// Known are the digests of files of the directory that were made as they were written.
	Known map[string]runs.Digest
	// Clean masks secrets in bytes that a view writes outside Dir; name says where they show. A secret that is
	// found fails the run. It is nil when there is none to mask.
	Clean func(name string, b []byte) []byte
}

// Engine holds what runs share. Its fields are set once, before the first run.
type Engine struct {
	Version string // of Markmill, for the record
	Config  Config
	Store   func(repository string) runs.Store // where runs of a repository are kept
	Cache   string                             // folder for worktrees, absolute
	Tools   string                             // program that answers as glue, scrap, the sandbox's helper and the warden; "" does without, and says so
	Getenv  func(string) (string, bool)
	Now     func() time.Time
	Random  io.Reader
	User    string // who runs, by the system's name, for requests of approval
	Views   []View

	// Leave writes what a run leaves at OUTPUT, whole, so that it waits for Place, and says which output notebooks the
	// run directory is not to keep: the views write none of these. It is called before the views, of the run as its
	// last event will have it. Where it gives none, because they are to be kept or OUTPUT cannot be written, all is
	// left to the views. nil is none.
	Leave func(ViewInput) []runs.LeftOutput

	// Sign makes the signatures of the manifests of the output notebooks, by their names in the run directory. It is
	// called with the run as its last event will have it. nil signs nothing.
	Sign func(ViewInput) (map[string]string, error)

	// Place is called when the record is complete, or failed to be: what views left waiting beside it is put into
	// its place, or taken away. The run is still locked, so that a crash in it is seen. nil is none.
	Place func(id runs.RunID, complete bool) error

	// Offer says what the system has for the sandbox; nil asks the system.
	Offer func(context.Context, sandbox.Need) sandbox.Offer

	// Observe gets every event as it is journalled, and Output what steps print. Both are called
	// from the run's goroutines and must not block for long; nil is none.
	Observe func(runs.Event)
	Output  func(step notebooks.StepID, stream string, chunk []byte)
}

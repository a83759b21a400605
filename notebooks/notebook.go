package notebooks

import (
	"slices"
	"time"
)

// StepID names a step: the author's id, or one made from its place ("step-3").
type StepID string

// Span is a half-open range of byte offsets into Notebook.Source.
type Span struct{ Start, End int }

// Notebook is a parsed source: the author's bytes, and the place of everything in them.
type Notebook struct {
	Name            string   // path as the user gave it, for messages
	Source          []byte   // the author's bytes, exactly; regions are not in it
	Form            Form     //
	Front           Front    // front matter, decoded
	Params          []Param  // declared parameters, in order
	ParamsAt        int      // offset after the first parameters block, or front matter, that declares them; or -1
	Steps           []*Step  // every step, in order
	Fences          []Part   // of Markdown: every fence at the top level, whether it runs or not, in order
	Warnings        []*Error // what is odd but runs (TOML front matter, a bare fence that looks like a step, …)
	DefaultLanguage string   // of steps that name none, and of the values that a run is given; see SetDefaultLanguage

	places *Places // of Source; nil where no reader of this package made it
}

// New returns a notebook without steps.
func New(name string, src []byte, form Form) *Notebook {
	return &Notebook{Name: name, Source: src, Form: form, ParamsAt: -1, places: NewPlaces(src)}
}

// Step finds a step by its id; nil if there is none.
func (nb *Notebook) Step(id StepID) *Step {
	for _, s := range nb.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Step is one runnable fence.
type Step struct {
	ID       StepID
	Index    int    // place among the steps, from 0
	Lang     string // language word as typed, lower case: "bash", "python"
	Code     []byte // the code that runs: option lines (#|, :key:) are not in it
	CodeLine int    // line in Source of the first line of Code, from 1
	Fence    Span   // the whole fence, opening line to end of closing line (its newline included)
	Line     int    // line of the opening fence, from 1
	Tags     []string
	Explicit bool // the id was written by the author

	Timeout    time.Duration // 0: the notebook's, or none
	Cwd        string        // relative to the worktree, slash-separated
	Kernel     string        // named session ("" is the language's own)
	Needs      []StepID
	If         string // expression over parameters and scraps; "" is true
	ExpectExit *int   // nil: 0
	Retries    int    // further tries after the first
	Backend    string // of an agent's step: who does it; "" leaves it to the configuration
	Normalize  []string
	Env        map[string]string
	Output     string // OutputOpen, OutputFolded, OutputHidden; "": the notebook's

	// Apart marks a cell of a Jupyter notebook that is in another language than the notebook's kernel.
	Apart bool

	// Parameters marks a code-language parameters block (papermill's "parameters" cell).
	Parameters bool
}

// How much of a step's output is shown in the output notebook. By default results are open and everything else is
// folded.
const (
	OutputOpen   = "open"
	OutputFolded = "folded"
	OutputHidden = "hidden"
)

// OutputOf returns how much of a step's output is shown: the step's own setting, or else the notebook's.
func (nb *Notebook) OutputOf(s *Step) string {
	switch {
	case s.Output != "":
		return s.Output
	case s.Has(TagHideOutput):
		return OutputHidden
	}
	return nb.Front.Output
}

// Has reports whether the step carries a tag. Names of papermill, nbclient and nbval are translated when the notebook
// is parsed, so callers ask for Markmill's own.
func (s *Step) Has(tag string) bool { return slices.Contains(s.Tags, tag) }

// Tags with a meaning. Others are kept and mean nothing.
const (
	TagParameters   = "parameters"
	TagInjected     = "injected-parameters"
	TagTest         = "test"
	TagReview       = "review"
	TagSetup        = "setup"
	TagFinally      = "finally"
	TagSkip         = "skip"
	TagRaises       = "raises-exception"
	TagAllowFailure = "allow-failure"
	TagNoChange     = "no-change"
	TagVolatile     = "volatile"
	TagCheck        = "check-output"
	TagHideInput    = "hide-input"
	TagHideOutput   = "hide-output"
)

// Front is the front matter: what the run as a whole may do and must leave.
type Front struct {
	Span        Span // the block with its fences; empty without one
	Title       string
	Description string
	Kernel      string
	Timeout     time.Duration // of each step, unless it says otherwise; 0 is none
	RunTimeout  time.Duration // of the whole run; 0 is none
	AllowErrors bool          // a step that fails lets the run go on, and does not fail it; tests and reviews do
	Env         map[string]string
	Copy        []string // ignored files that the worktree gets too
	Strict      *bool    // shells: any failing command fails the step; nil is true
	Sandbox     string   // "", "on", "off", "strict", "required"
	Network     string   // "", "on", "off"
	Processes   string   // how long what a step leaves running lives: "", "run", "step"
	Resources   Resources
	Secrets     []string
	SecretsAt   []Place // of each of Secrets in the file; the zero value where that is not known

	Allow, Forbid    []string
	Protect          []string // files that judge the run: a change of one has the tests run again without it
	ProtectMode      string   // "", "enforce", "report"
	Limits           Limits
	Require          []string // diff, tests, clean, approval
	ForbiddenActions []string
	Mode             string
	Risk             string
	Approval         string
	Normalize        []Normalize
	Schedule         string
	Alerts           []string
	MaxOutput        int64 // bytes of a step's output kept in the output notebook; 0 is the default
	Durability       string
	Reads            string // "", "on", "off": whether what steps read is watched
	Inputs           []DeclaredInput
	Reuse            string   // "", "on", "off", "tests": whether steps of earlier runs are carried
	Output           string   // of each step, unless it says otherwise
	Headline         []string // scraps that the verdict shows, in this order; nil: the first scalars
}

// Resources bounds what the processes of steps may use; 0 is no limit.
type Resources struct {
	Memory    int64 // bytes, of each process
	Processes int64
	FileSize  int64 // bytes, of one file
	OpenFiles int64 // of each process
}

// Limits bounds what a run may change; 0 is no limit.
type Limits struct {
	Files int
	Lines int
	Bytes int64
}

// Normalize replaces what varies in a command's output by something that does not.
type Normalize struct {
	Name    string // what a step's normalize= names; built-in names have no Pattern
	Pattern string // RE2
	Replace string
}

package notebooks

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode"

	"markmill/notebooks/codec"
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
	Refused         []*Error // mistakes with which no run begins; readers of older records take them
	AlmostParams    *Error   // the warning of a fence that almost declares parameters; nil without one
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
	Attempts   int    // of an agent's step: how many runs of the notebook are compared; 0 is one
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

// MaxAttempts is how many attempts there are at most of each backend.
const MaxAttempts = 100

// Which of several attempts is taken: the first that passes, the one that passes with the smallest change, or none.
const (
	PickFirst    = "first"
	PickSmallest = "smallest"
	PickNone     = "none"
)

// Picks are the words of pick:.
var Picks = []string{PickFirst, PickSmallest, PickNone}

// Attempts is how many attempts the notebook asks for; 0 asks for a plain run.
func (nb *Notebook) Attempts() int {
	for _, s := range nb.Steps {
		if s.Attempts > 0 {
			return s.Attempts
		}
	}
	return 0
}

// Has reports whether the step carries a tag. Names of papermill, nbclient and nbval are translated when the notebook
// is parsed, so callers ask for Markmill's own.
func (s *Step) Has(tag string) bool { return slices.Contains(s.Tags, tag) }

// Judges reports whether the verdict depends on what the step says.
func (s *Step) Judges() bool { return Judge(s.Tags) }

// Judge reports whether a step with these tags judges: a test, or a review.
func Judge(tags []string) bool {
	return slices.Contains(tags, TagTest) || slices.Contains(tags, TagReview)
}

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
	TagInterrupt    = "interrupt-on-timeout"
	TagNoChange     = "no-change"
	TagVolatile     = "volatile"
	TagCheck        = "check-output"
	TagHealth       = "check"
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
	// InterruptOnTimeout lets the run go on behind a step that obeyed the interrupt at its time limit.
	InterruptOnTimeout bool
	Env                map[string]string
	Copy               []string // ignored files that the worktree gets too
	Deps               []string // ignored folders of the checkout that steps get; "none" is not even the default ones
	Data               []string // patterns of ignored files that belong to the work
	DataKeep           string   // "", "passed", "always": of which runs they go into the checkout
	Tree               string   // "", "mounted", "separate": where steps find the worktree
	Strict             *bool    // shells: any failing command fails the step; nil is true
	Sandbox            string   // "", "on", "off", "strict", "required"
	Network            string   // "", "on", "off"
	Processes          string   // how long what a step leaves running lives: "", "run", "step"
	Resources          Resources
	Secrets            []string
	SecretsAt          []Place // of each of Secrets in the file; the zero value where that is not known

	Allow, Forbid    []string
	Protect          []string // files that judge the run: a change of one has the tests run again without it
	ProtectMode      string   // "", "enforce", "report"
	Artifacts        []string // patterns of results that belong to no change, where the base has none
	Limits           Limits
	Require          []string // diff, tests, clean, approval
	ForbiddenActions []string
	Mode             string
	ModeAt           Place // of its value in the file
	Risk             string
	Approval         string
	Normalize        []Normalize
	Schedule         *Schedule   // nil without one
	Alerts           *Alerts     // nil: nobody is told
	Objectives       *Objectives // nil: none
	MaxOutput        int64       // bytes of a step's output kept in the output notebook; 0 is the default
	Durability       string
	Reads            string // "", "on", "off": whether what steps read is watched
	Inputs           []DeclaredInput
	Reuse            string   // "", "on", "off", "tests": whether steps of earlier runs are carried
	Pick             string   // "" or one of Picks: which of several attempts is taken
	Output           string   // of each step, unless it says otherwise
	Headline         []string // scraps that the verdict shows, in this order; nil: the first scalars
	Singleton        Singleton
	Proof            string // "", or one of ProofStages: what of a coding agent the notebook proves
}

// Singleton says what becomes of a job while another one of the same key has not ended.
type Singleton struct {
	// with parameters in braces, as in OUTPUT; "": jobs of the notebook have nothing to do with each other
	Key     string
	Overlap string // one of Overlaps
}

// OverlapAllow lets jobs of the same key run at the same time.
const OverlapAllow = "allow"

// Overlaps lists what may become of a job of a Singleton, the default first: it waits, is left out, takes the place of
// the other one, goes on beside it, or its parameters are said to the agent that works on the other one.
var Overlaps = []string{"queue", "skip", "cancel", OverlapAllow, "steer"}

// ProofStages are the stages in which a coding agent is proven, in their order.
var ProofStages = []string{"fixture", "sandbox-repository", "negative-cases", "repeat", "clean-clone", "candidate"}

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

// IsID reports whether a word can be the id of a step: letters, digits, - _ . , so that it can also be the name of a
// folder.
func IsID(id string) bool { return id != "" && id == Slug(id) }

// Slug makes an id of any text.
func Slug(text string) string {
	id := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, text)
	id = strings.TrimRight(strings.TrimLeft(id, ".-"), ".")
	if len(id) > maxID {
		id = strings.ToValidUTF8(id[:maxID], "")
	}
	return id
}

// maxID is in bytes: the folder of a step is <number>-<id>, and 255 is the limit of most file systems.
const maxID = 120

// Part is a part of a source: the front matter, a fence, or the text between two of them.
type Part struct {
	Kind PartKind
	Span Span // from the head of its first line, its last newline included

	// Of a fence:
	Info string
	Form Form   // how the info string is spelled; "" for a bare language
	Code []byte // without the indentation of the fence, option lines included; lines end with \n
	Step *Step  // of PartStep
}

// PartKind is what a part is to a run.
type PartKind int

const (
	PartText        PartKind = iota // prose, and fences that do not run
	PartFrontMatter                 //
	PartParameters                  // a fence of YAML or JSON that declares parameters
	PartStep
)

// Parts returns the parts of a Markdown notebook, in order: together they are all bytes of the source. Fences that do
// not run belong to the text around them.
func (nb *Notebook) Parts() []Part {
	var parts []Part
	at := 0
	until := func(end int) {
		if at < end {
			parts = append(parts, Part{Span: Span{at, end}})
		}
	}
	add := func(p Part) {
		until(p.Span.Start)
		parts = append(parts, p)
		at = p.Span.End
	}
	if front := nb.Front.Span; front.End > front.Start {
		add(Part{Kind: PartFrontMatter, Span: front})
	}
	for _, f := range nb.Fences {
		if f.Kind != PartText {
			add(f)
		}
	}
	until(len(nb.Source))
	return parts
}

// Text returns the bytes of a part.
func (nb *Notebook) Text(p Part) string { return string(nb.Source[p.Span.Start:p.Span.End]) }

// AlmostDeclares says what is wrong with a fence that almost declares a parameter: AlmostParams, or a fence of YAML
// without a tag that has the name as a key. It is nil without one.
func (nb *Notebook) AlmostDeclares(name string) *Error {
	if nb.AlmostParams != nil {
		return nb.AlmostParams
	}
	for _, f := range nb.Fences {
		if f.Kind == PartText && (f.Info == "yaml" || f.Info == "yml") &&
			bytes.Contains(append([]byte("\n"), f.Code...), []byte("\n"+name+":")) {
			line, _ := nb.Position(f.Span.Start)
			return &Error{Kind: KindParameter, File: nb.Name, Line: line,
				Msg: "the fence with " + name + " is prose", Hint: "write ```" + f.Info + " {.parameters}"}
		}
	}
	return nil
}

// Declares reports whether a fence of YAML or JSON declares parameters.
func (nb *Notebook) Declares() bool {
	return slices.ContainsFunc(nb.Fences, func(p Part) bool { return p.Kind == PartParameters })
}

// Cell is a code cell of a form that another package reads.
type Cell struct {
	ID       string // as the form has it; "" without one
	Place    int    // among all cells, from 1: names a cell without an id; 0: its place among the steps does
	Lang     string
	Apart    bool // the cell itself says its language
	Code     string
	At       Span // the whole cell in the source
	Line     int  // where it begins
	CodeLine int  // where its code begins
	Tags     []string
	Options  []Option
	Block    string // the YAML that declares the parameters it assigns; "" if it declares them itself
	Strict   bool   // an option that nobody knows is a mistake, and not another tool's
}

// Option is an attribute of a cell, as one of an info string is.
type Option struct {
	Name  string
	Value codec.Raw
	At    int // offset in the source
}

// FrontMatter is a front matter that such a reader found.
type FrontMatter struct {
	Text   []byte                         // YAML or JSON: names and values
	At     Span                           // all of it, its marks included
	Place  func(line, col int) (int, int) // of the source, of a place in Text; all from 1
	Strict bool                           // a key that nobody knows is a mistake, and not another tool's
}

// CellFile is what such a reader found in a file.
type CellFile struct {
	Name        string
	Source      []byte
	Form        Form
	FrontMatter []FrontMatter
	Head        *FrontMatter // the text at the head that is no front matter for the reader; nil without one
	Cells       []Cell
}

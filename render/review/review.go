package review

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/render/fresh"
)

// Version is the version of the JSON (docs/review.md). Members are only ever added to a version.
const Version = 1

// Review describes the notebooks that changed between two sides. Its JSON is the schema of docs/review.md.
type Review struct {
	Version int         `json:"version"`
	Base    Revision    `json:"base"`
	Head    Revision    `json:"head"`
	Verdict string      `json:"verdict"` // pass, decide, fail
	FailOn  []Condition `json:"fail_on"`
	Require Level       `json:"require,omitzero"` // the level of proof that outputs must have; "" without
	// Current says that every output must be current, those of notebooks that did not change, too.
	Current bool   `json:"require_current,omitzero"`
	Counts  Counts `json:"counts"`
	// ReadsUnknown are the outputs of the branch of which it is not known what their tests read.
	ReadsUnknown []string    `json:"reads_unknown,omitempty"`
	Rules        []Rule      `json:"rules,omitempty"`    // changed files that say what runs may do, or that judge them
	Findings     []Finding   `json:"findings,omitempty"` // what a reviewer must not miss, causes before consequences
	Judged       *Judged     `json:"judged,omitempty"`   // what the base's tests say of the branch; nil: not asked
	Notebooks    []*Notebook `json:"notebooks"`          // what matters most first; an output behind its source
	Runs         []RunCommit `json:"-"`                  // commits of the branch that name a run

	changed          []changedFile
	changedNotebooks int
	rows             [][]string // the table of the first screen
}

// Revision is one side.
type Revision struct {
	Name   string `json:"name"`            // as the user gave it; "working tree"
	Commit string `json:"commit,omitzero"` // "" of the working tree
}

// Counts counts notebooks by change and condition, and outputs by state.
type Counts struct {
	Notebooks int `json:"notebooks"`
	// a source and its outputs are one, and so is each file of the rules
	Objections int               `json:"objections"`
	Decisions  int               `json:"decisions,omitzero"` // what a person must decide
	Changes    map[Change]int    `json:"changes"`
	Conditions map[Condition]int `json:"conditions"` // of notebooks; one can have several
	Outputs    map[State]int     `json:"outputs"`
	Proof      map[Level]int     `json:"proof"` // of outputs
}

// Change is how a file changed.
type Change string

const (
	Added   Change = "added"
	Removed Change = "removed"
	Renamed Change = "renamed" // and perhaps edited, too
	Edited  Change = "edited"
	// Untouched is a notebook that is as it was, with outputs that other changes of the branch made outdated.
	Untouched Change = "untouched"
)

// Kind is the kind of a notebook.
type Kind string

const (
	KindSource  Kind = "source"
	KindOutput  Kind = "output"
	KindJupyter Kind = "jupyter"
)

// Condition is something that a gate can object to.
type Condition string

const (
	OnPolicy    Condition = "policy"
	OnRules     Condition = "rules"
	OnWeakened  Condition = "weakened"
	OnDiffers   Condition = "differs"
	OnUntested  Condition = "untested"
	OnUnread    Condition = "unread"
	OnJudged    Condition = "judged"
	OnDecide    Condition = "decide"
	OnRed       Condition = "red"
	OnFewer     Condition = "fewer"
	OnPartial   Condition = "partial"
	OnFailed    Condition = "failed"
	OnEdited    Condition = "edited"
	OnDamaged   Condition = "damaged"
	OnProof     Condition = "proof"
	OnOutdated  Condition = "outdated"
	OnMissing   Condition = "missing"
	OnUnknown   Condition = "unknown"
	OnUnapplied Condition = "unapplied"
	OnTold      Condition = "told"
	OnChanged   Condition = "changed"
)

// Conditions lists them: causes before consequences, the worst first.
var Conditions = []Condition{OnPolicy, OnJudged, OnDecide, OnRules, OnRed, OnUnread, OnDiffers, OnWeakened,
	OnFewer, OnPartial, OnFailed, OnEdited, OnDamaged, OnProof, OnOutdated, OnUntested, OnMissing, OnUnknown,
	OnUnapplied, OnTold, OnChanged}

// conditionWords says when each condition holds.
var conditionWords = map[Condition]string{
	OnPolicy:    "the policy of the repository is weaker, or another program runs the steps",
	OnRules:     "a file of the rules changed: settings, protected files, workflow files",
	OnWeakened:  "a contract became wider, or a step may now fail or be left out",
	OnDiffers:   "the files of the branch are not those that a run left",
	OnUntested:  "a test step read no file of the repository, or no test reads what changed",
	OnUnread:    "the tests do not read what they read before, though it is there",
	OnJudged:    "an old test fails with the base's tests, and the branch saved it otherwise",
	OnDecide:    "the branch changed an old test that does not hold any more",
	OnRed:       "a test or a step passed before, and does not now",
	OnFewer:     "fewer tests ran, or more were skipped",
	OnPartial:   "only a part of the notebook ran",
	OnFailed:    "the run of an output did not pass",
	OnEdited:    "an output was edited by hand",
	OnDamaged:   "an output lacks a region or its manifest, or cannot be read",
	OnProof:     "an output has not the level of proof that is required",
	OnOutdated:  "the source changed since the run, or something that the run read",
	OnMissing:   "a source had an output, or should have one, and has none",
	OnUnknown:   "what the run of an output read is not known",
	OnUnapplied: "the branch does not have the change of a run",
	OnTold:      "something that a reviewer should know",
	OnChanged:   "any notebook changed",
}

// Explain says which conditions there are, the worst first, and which of them fail a review.
func Explain(failOn []Condition) string {
	var b strings.Builder
	for _, c := range Conditions {
		sign := " "
		switch {
		case !slices.Contains(failOn, c):
		case c == OnDecide:
			sign = signDecide
		default:
			sign = signBad
		}
		fmt.Fprintf(&b, "%s %-9s %s\n", sign, c, conditionWords[c])
	}
	return b.String()
}

// Always lists the conditions that fail a review even if its list omits them, unless the list excludes them by name.
// A list written before these conditions existed must not let them pass.
var Always = []Condition{OnPolicy, OnJudged, OnDecide, OnUnread, OnDiffers, OnWeakened, OnFewer, OnPartial, OnProof}

// DefaultFailOn lists the further conditions that fail a review by default.
var DefaultFailOn = []Condition{OnRed, OnFailed, OnEdited, OnDamaged, OnOutdated}

// RequireCurrent lists the conditions that fail a review when outputs must be current.
var RequireCurrent = []Condition{OnOutdated, OnMissing, OnUnknown}

// State is the state of an output.
type State string

const (
	Current  State = "current"  // it passed, and the source and all that its run read are as they were
	Outdated State = "outdated" // the source changed, or something that the run read
	Unknown  State = "unknown"  // of its source as it is; what the run read is not known, or cannot be compared
	Unproven State = "unproven" // a Jupyter notebook: whose outputs these are cannot be told
	Partial  State = "partial"  // only a part of the notebook ran
	Failed   State = "failed"
	Blocked  State = "blocked" // a gate was not met, and nothing ran
	Altered  State = "edited"
	Damaged  State = "damaged"
	Missing  State = "missing" // never run, or the output is gone
)

// Output is a stored output on the new side, or the one that a source lacks.
type Output struct {
	Path     string   `json:"path"`
	States   []State  `json:"states"`             // the worst first
	Status   string   `json:"status,omitzero"`    // of the run
	Source   string   `json:"source,omitzero"`    // path of the source that it is of
	Problems []string `json:"problems,omitempty"` // what is off, with its place
	Partial  string   `json:"partial,omitzero"`   // why only a part ran
	Approval string   `json:"approval,omitzero"`  // who approved the run
	Proof    *Proof   `json:"proof,omitempty"`    // how far it can be trusted; nil of one that is missing
	// how the branch stands to the change of the run; nil where there is none to compare
	Applied  *Applied  `json:"applied,omitempty"`
	Blockers []Blocker `json:"blockers,omitempty"` // why the run did not pass, causes before consequences
	// Reasons are what is not as it was at the run: steps of the source, and what the run read.
	Reasons []fresh.Reason `json:"reasons,omitempty"`
	Unknown string         `json:"unknown,omitzero"` // why it cannot be told whether it is current
	Pinned  string         `json:"pinned,omitzero"`  // as of which commit it is current, where its run read the history
	// Given are the parameters that were given to the run, and their values.
	Given []notebooks.ManifestParam `json:"given,omitempty"`
	// Judges are the files that the branch changed and that steps up to the last test read, scripts first.
	Judges []string `json:"judges,omitempty"`
	// Tree says how the tree that the run tested was another than its base with what the base locks.
	Tree []string `json:"tree,omitempty"`

	// Unread are the files that its tests do not read any more, as those on the old side did.
	Unread []string `json:"unread,omitempty"`
	// Idle are the test steps that read no file of the repository.
	Idle []notebooks.StepID `json:"judged_nothing,omitempty"`

	readsUnknown bool // it is not known what its tests read

	// Read and Wrote are files of data: that the run read, and wrote.
	Read  []string `json:"read,omitempty"`
	Wrote []string `json:"wrote,omitempty"`

	cameTo    string   // what its tests came to
	gone      string   // the source that it is of, where the branch removed that
	elsewhere []string // what the run began with, and neither side has
	inside    []string // interpreters that lay in the repository, where the branch can replace them
	replaced  []string // interpreters that were another file for a later step
}

// Blocker is why a run did not pass, from its manifest.
type Blocker struct {
	Code    string   `json:"code"`
	Step    string   `json:"step,omitzero"`
	Rule    string   `json:"rule,omitzero"`
	Message string   `json:"message"`
	Files   []string `json:"files,omitempty"`
	Fix     string   `json:"fix,omitzero"`
}

// Has reports whether the output has a state.
func (o *Output) Has(s State) bool { return slices.Contains(o.States, s) }

// Notebook is a notebook that changed.
type Notebook struct {
	Path       string      `json:"path"`
	From       string      `json:"from,omitzero"` // of one that was renamed
	Change     Change      `json:"change"`
	Kind       Kind        `json:"kind"`
	Conditions []Condition `json:"conditions,omitempty"` // the worst first
	Red        []string    `json:"red,omitempty"`        // steps that turned red, tests first
	Outputs    []Output    `json:"outputs,omitempty"`    // of an output itself, of a source those that are of it
	Error      string      `json:"error,omitzero"`       // why it cannot be read
	// what lets changed and added steps pass, or hides what they print
	Weak     []Weakness `json:"weak,omitempty"`
	Contract []string   `json:"contract,omitempty"` // what the contract allows that it did not before
	// of an output: its source, where that changed too; the two are one objection
	Of string `json:"of,omitzero"`
	// the notebook at which the same text is compared; the cells stand there alone
	TextAt     string      `json:"text_at,omitzero"`
	Comparison any         `json:"comparison,omitempty"` // the JSON of a comparison
	Cut        bool        `json:"cut,omitzero"`         // the comparison is left out, because the review is bounded
	Diff       *diff.Diff  `json:"-"`                    // nil where one side cannot be read
	members    []*Notebook // of a source: its outputs that changed
}

// Compared reports whether to show the comparison of the notebook. A line is enough for a removed one.
func (n *Notebook) Compared() bool { return n.Diff != nil && n.Change != Removed }

// Leads reports whether a notebook is listed by itself, and not with its source.
func (n *Notebook) Leads() bool { return n.Of == "" }

// ObjectsTo reports whether a condition fails the review.
func (r *Review) ObjectsTo(c Condition) bool { return slices.Contains(r.FailOn, c) }

// Objects reports whether the notebook, or an output listed with it, fails the review.
func (r *Review) Objects(n *Notebook) bool {
	return slices.ContainsFunc(n.Conditions, r.ObjectsTo) || slices.ContainsFunc(n.members, r.Objects)
}

// Objections counts the objections. A source and its outputs count once.
func (r *Review) Objections() int {
	count := 0
	for _, n := range r.Notebooks {
		if n.Leads() && r.Objects(n) {
			count++
		}
	}
	for i := range r.Rules {
		if r.ObjectsTo(r.Rules[i].condition()) {
			count++
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Objection && (f.Condition == OnJudged || f.Condition == OnUntested && r.notebook(f.Path) == nil) {
			count++
		}
	}
	return count
}

// Decisions counts what a person must decide.
func (r *Review) Decisions() (count int) {
	for i := range r.Findings {
		if r.Findings[i].decides() {
			count++
		}
	}
	return count
}

package review

import (
	"slices"

	"markmill/notebooks/diff"
)

// Version is that of the JSON (docs/review.md). Members are only ever added to a version.
const Version = 1

// Review is what became of all notebooks between two sides. As JSON it is the schema of docs/review.md.
type Review struct {
	Version   int         `json:"version"`
	Base      Revision    `json:"base"`
	Head      Revision    `json:"head"`
	Verdict   string      `json:"verdict"` // pass, fail
	FailOn    []Condition `json:"fail_on"`
	Counts    Counts      `json:"counts"`
	Notebooks []*Notebook `json:"notebooks"` // what matters most first
}

// Revision is one side.
type Revision struct {
	Name   string `json:"name"`            // as the user gave it; "working tree"
	Commit string `json:"commit,omitzero"` // "" of the working tree
}

// Counts counts notebooks by what became of them, and outputs by how they stand.
type Counts struct {
	Notebooks  int               `json:"notebooks"`
	Changes    map[Change]int    `json:"changes"`
	Conditions map[Condition]int `json:"conditions"` // of notebooks; one can have several
	Outputs    map[State]int     `json:"outputs"`
}

// Change is what became of a file.
type Change string

const (
	Added   Change = "added"
	Removed Change = "removed"
	Renamed Change = "renamed" // and perhaps edited, too
	Edited  Change = "edited"
)

// Kind is what a notebook is.
type Kind string

const (
	KindSource  Kind = "source"
	KindOutput  Kind = "output"
	KindJupyter Kind = "jupyter"
)

// Condition is something that a gate can object to.
type Condition string

const (
	OnRed     Condition = "red"     // a test or a step passed before, and does not now
	OnFailed  Condition = "failed"  // the run of an output did not pass
	OnEdited  Condition = "edited"  // an output was edited by hand
	OnDamaged Condition = "damaged" // an output lacks a region or its manifest, or cannot be read
	OnStale   Condition = "stale"   // the source changed since the run
	OnMissing Condition = "missing" // a source had an output, or should have one, and has none
	OnChanged Condition = "changed" // any notebook changed
)

// Conditions lists them, the worst first.
var Conditions = []Condition{OnRed, OnFailed, OnEdited, OnDamaged, OnStale, OnMissing, OnChanged}

// DefaultFailOn is what a review objects to unless it is told otherwise: what is red, and what is not what a run left.
var DefaultFailOn = []Condition{OnRed, OnFailed, OnEdited, OnDamaged}

// State is how an output stands.
type State string

const (
	Fresh    State = "fresh"    // the output of the source as it is
	Intact   State = "intact"   // the output of the text that it holds; no source stands beside it
	Unproven State = "unproven" // a Jupyter notebook: whose outputs these are cannot be told
	Failed   State = "failed"
	Altered  State = "edited"
	Damaged  State = "damaged"
	Stale    State = "stale"
	Missing  State = "missing"
)

// Output is a stored output and how it stands on the new side.
type Output struct {
	Path     string   `json:"path"`
	States   []State  `json:"states"`             // the worst first
	Status   string   `json:"status,omitzero"`    // of the run
	Source   string   `json:"source,omitzero"`    // path of the source that it is of
	Problems []string `json:"problems,omitempty"` // what is off, with its place
}

// Has says that the output stands so.
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
	Comparison any         `json:"comparison,omitempty"` // the JSON of a comparison
	at         string      // of a source: the output notebook whose comparison shows its text, too
	Diff       *diff.Diff  `json:"-"` // nil where one side cannot be read
}

// Has says that a condition holds of the notebook.
func (n *Notebook) Has(c Condition) bool { return slices.Contains(n.Conditions, c) }

// Compared says that the comparison of the notebook is to be shown: what was removed is told in a line, and a source with its output.
func (n *Notebook) Compared() bool { return n.Diff != nil && n.Change != Removed && n.at == "" }

// objections are the conditions of a notebook that the review fails on.
func (r *Review) objections(n *Notebook) []Condition {
	var out []Condition
	for _, c := range n.Conditions {
		if slices.Contains(r.FailOn, c) {
			out = append(out, c)
		}
	}
	return out
}

// Objects says that the review fails because of the notebook.
func (r *Review) Objects(n *Notebook) bool { return len(r.objections(n)) > 0 }

// Objections counts the notebooks that the review fails because of.
func (r *Review) Objections() int {
	count := 0
	for _, n := range r.Notebooks {
		if r.Objects(n) {
			count++
		}
	}
	return count
}

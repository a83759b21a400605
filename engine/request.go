package engine

import (
	"fmt"
	"unicode/utf8"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/runs"
)

// Request asks for one run. It is data: as JSON it can be sent to another process, whose engine plans and runs the
// same. It may hold the values of secrets.
type Request struct {
	runs.Options
	StartNS int64 `json:"start_ns,omitzero"` // limit for the start of a kernel; 0 is a minute

	ID     runs.RunID `json:"id,omitzero"`      // from NewID; "": Run makes one
	Path   string     `json:"path"`             // of the notebook, as the user gave it; "-" is standard input
	Source []byte     `json:"source"`           // its bytes, regions stripped
	MadeOf string     `json:"made_of,omitzero"` // for an output notebook: the path of its source, from its manifest
	// Output is where the output notebook goes, for the record and for the check that the checkout did not change: an
	// absolute path or an address; "" is the run directory only. Frozen says that a notebook is already there and is
	// only compared: the record names no output.
	Output string `json:"output,omitzero"`
	Frozen bool   `json:"frozen,omitzero"`
	Assets string `json:"assets,omitzero"` // folder of the output notebook's pictures, relative to it
	// OutputPath is of a job: where who submitted it writes the output notebook, in that repository. Output is then "".
	OutputPath string `json:"output_path,omitzero"`
	// OutputForm is the form of the output notebook if it differs from the notebook's. The run directory then has both.
	OutputForm notebooks.Form `json:"output_form,omitzero"`

	Empty        bool           `json:"empty,omitzero"` // accept a notebook without steps
	Given        []params.Given `json:"given,omitempty"`
	AllowUnknown bool           `json:"allow_unknown,omitzero"`

	Repository string `json:"repository,omitzero"` // root of the user's checkout; "" outside a repository
	// Repository is a clone of this one, which the record names and whose store has it; "" is no clone
	Origin string `json:"origin,omitzero"`
	// outside a repository: absolute path of the folder to work in; "" is an empty one
	Folder string `json:"folder,omitzero"`
	Base   string `json:"base,omitzero"` // revision; "" is HEAD
	Dirty  Dirty  `json:"dirty,omitzero"`
	// files that begin with an earlier content: the base has the run's change already
	Reverse []worktree.Restored `json:"reverse,omitempty"`
	InPlace bool                `json:"in_place,omitzero"`
	// runs.TreeMounted, which is then required, TreeSeparate; "" is either
	Tree     string `json:"tree,omitzero"`
	KeepTree bool   `json:"keep_tree,omitzero"`

	// apply nbval's comments in the code (notebooks.Markers): the run is a test
	Markers bool `json:"markers,omitzero"`
	// run the steps after a failed one too, while its interpreter lives
	KeepGoing bool       `json:"keep_going,omitzero"`
	Resume    runs.RunID `json:"resume,omitzero"` // the interrupted run to resume; "" begins anew

	// Observed says that the run is an observation: whom the notebook's alerts: names is told of what it finds.
	Observed bool `json:"observed,omitzero"`

	Rerun *runs.RerunData `json:"rerun,omitempty"` // the run that this one repeats, in a worktree in any case
	Sweep *runs.SweepData `json:"sweep,omitempty"` // the row of the sweep that the run is made for; nil without one
	// Fork makes the run a fork of Resume, which may have come to any end: notebook and parameters may differ. At is
	// the first step that runs; "" is the first that did not pass or differs.
	Fork bool             `json:"fork,omitzero"`
	At   notebooks.StepID `json:"at,omitzero"`
	// Judge runs the judges alone; nil runs the notebook.
	Judge *JudgeRequest `json:"judge,omitempty"`
	// Reuse carries steps of earlier runs that would do the same again: ReuseOn, ReuseTests, ReuseOff; "" is as the
	// notebook says.
	Reuse string `json:"reuse,omitzero"`
}

// Dirty is what happens to the user's uncommitted changes.
type Dirty string

const (
	DirtyIgnore  Dirty = "ignore"  // they are not in the worktree; the run says how many there are
	DirtyInclude Dirty = "include" // they are copied into the worktree, as a base of their own
	DirtyBlock   Dirty = "block"   // the run does not start
)

// output is the output notebook that the record names.
func (r *Request) output() string {
	if r.Frozen {
		return ""
	}
	return r.Output
}

// checkText returns an error for a text that is not UTF-8: the record is JSON and cannot hold it.
func (r *Request) checkText() error {
	for _, t := range []struct {
		what  string
		texts []string
	}{
		{"the path", []string{r.Path, r.MadeOf, r.Output, r.Assets, r.Repository, r.Origin, r.Folder}},
		{"--base", []string{r.Base}}, {"--branch", []string{r.Branch}}, {"--copy", r.Copy},
		{"--data", r.Data}, {"--cwd", []string{r.Cwd}},
		{"--kernel", []string{r.Kernel}}, {"--backends", []string{r.Backend}}, {"--language",
			[]string{r.Language}}, {"--skip-tag", r.SkipTags},
	} {
		for _, text := range t.texts {
			if err := notUTF8(t.what, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// notUTF8 is the error of a name that the record cannot hold; nil for UTF-8.
func notUTF8(what, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindInput,
		Msg:  fmt.Sprintf("%s %s is not UTF-8, and the record of a run cannot name it", what, runs.QuotePath(text)),
		Hint: "rename it, or work in a clone elsewhere"}
}

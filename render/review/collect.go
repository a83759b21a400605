package review

import (
	"slices"
	"strings"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
)

// File is a file that differs between the two sides.
type File struct {
	Path     string
	From     string // where one was that only moved
	Old, New bool   // on which sides it is
}

// Input is what is reviewed.
type Input struct {
	Base, Head         Tree
	BaseName, HeadName Revision
	Files              []File // all that differ, of those that IsNotebookName takes
	FailOn             []Condition
	Compare            diff.Options
	// Output is the path that the settings of the new side give to the output of a source; nil without such a setting.
	Output func(path string, source []byte) (string, bool)
}

// reviewer is a review in the making.
type reviewer struct {
	in         Input
	base, head *side
	from, to   map[string]string   // of files that were renamed: new to old, old to new
	bySetting  map[string][]string // of outputs: the sources whose output that is by the settings
	judged     map[string]Output
	notebooks  []*Notebook
	told       map[string]*Notebook // by path on the new side
}

// Make reviews. The error is of the trees; a notebook that cannot be read is told.
func Make(in Input) (*Review, error) {
	r := &reviewer{in: in, base: newSide(in.Base, in.BaseName), head: newSide(in.Head, in.HeadName), from: map[string]string{}, to: map[string]string{},
		judged: map[string]Output{}, told: map[string]*Notebook{}}
	files := r.renames(in.Files)
	for _, f := range files {
		if f.From != "" {
			r.from[f.Path], r.to[f.From] = f.From, f.Path
		}
	}
	r.settings(files)
	for _, f := range files {
		if err := r.file(f); err != nil {
			return nil, err
		}
	}
	out := &Review{Version: Version, Base: in.BaseName, Head: in.HeadName, Verdict: "pass", FailOn: in.FailOn, Notebooks: r.notebooks}
	for _, n := range out.Notebooks {
		n.settle()
		for i := range n.Outputs {
			if at := r.told[n.Outputs[i].Path]; n.Kind == KindSource && n.Outputs[i].Has(Fresh) && at.shows(n) {
				n.at = at.Path
			}
		}
		if out.Objects(n) {
			out.Verdict = "fail"
		}
	}
	slices.SortStableFunc(out.Notebooks, func(a, b *Notebook) int {
		if d := out.rank(a) - out.rank(b); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	out.count()
	return out, nil
}

// file reviews one file.
func (r *reviewer) file(f File) error {
	n := &Notebook{Path: f.Path, From: f.From, Change: Edited}
	var old, now *book
	if f.Old {
		old = r.base.book(f.Path)
		if f.From != "" {
			old, n.Change = r.base.book(f.From), Renamed
		}
		old.look()
	} else {
		n.Change = Added
	}
	if f.New {
		now = r.head.book(f.Path).look()
		n.Kind = now.kind
	} else {
		n.Change = Removed
	}
	if n.Kind == "" && old != nil {
		n.Kind = old.kind
	}
	if n.Kind == "" { // a text of another kind
		return nil
	}
	r.notebooks = append(r.notebooks, n)
	r.told[n.Path] = n
	r.compare(n, old, now)
	switch {
	case now == nil:
		return r.removed(n, old)
	case n.Error != "":
	case now.kind == KindOutput:
		o, err := r.output(n.Path)
		n.Outputs = append(n.Outputs, o)
		return err
	case now.kind == KindSource:
		return r.source(n)
	case now.kind == KindJupyter:
		jupyterOutput(n, n.Diff != nil && hasOutputs(n.Diff.Old), hasOutputs(n.Diff.New), n.Diff.New.Status)
	}
	return nil
}

func hasOutputs(d *diff.Document) bool {
	return slices.ContainsFunc(d.Cells, func(c diff.Cell) bool { return len(c.Outputs)+len(c.Scraps) > 0 })
}

// compare compares the two sides of a notebook. One side that is not there is an empty notebook.
func (r *reviewer) compare(n *Notebook, old, now *book) {
	docs := [2]*diff.Document{}
	for i, b := range []*book{old, now} {
		s := r.base
		if i == 1 {
			s = r.head
		}
		if b == nil {
			docs[i] = &diff.Document{Name: s.call(n.Path), Form: "none"}
			continue
		}
		doc, err := s.document(b)
		switch {
		case err != nil && i == 1:
			n.Error = err.Error()
			return
		case err != nil: // what it was cannot be told; what it is can
			doc = &diff.Document{Name: s.call(b.path), Form: "none", Notes: []string{"cannot be read: " + err.Error()}}
		}
		docs[i] = doc
	}
	n.Diff = diff.Compare(docs[0], docs[1], r.in.Compare)
	n.Comparison = diffview.Value(n.Diff)
	for _, test := range []bool{true, false} {
		for _, c := range n.Diff.Results {
			if c.Turned == diff.Red && c.Test == test && c.Was != "" && c.Now != "" {
				n.Red = append(n.Red, c.Step)
			}
		}
	}
}

// source tells how the outputs of a source stand, that has changed.
func (r *reviewer) source(n *Notebook) error {
	now, before, err := r.outputs(n.Path)
	if err != nil {
		return err
	}
	for _, p := range now {
		o, err := r.output(p)
		if err != nil {
			return err
		}
		n.Outputs = append(n.Outputs, o)
	}
	if len(now) > 0 {
		return nil
	}
	if n.Diff.Old.Status != "" { // it was its own output
		n.Outputs = append(n.Outputs, Output{Path: n.Path, States: []State{Missing}, Source: n.Path, Problems: []string{"it held the outputs of a run, and holds none"}})
		return nil
	}
	switch wanted := r.configured(n.Path); {
	case len(before) > 0:
		n.Outputs = append(n.Outputs, Output{Path: before[0], States: []State{Missing}, Source: n.Path, Problems: []string{"it was there, and is not"}})
	case wanted != "" && !r.head.there(wanted):
		n.Outputs = append(n.Outputs, Output{Path: wanted, States: []State{Missing}, Source: n.Path, Problems: []string{"markmill.yaml wants it there"}})
	}
	return nil
}

// removed tells that a source which stayed has lost its output.
func (r *reviewer) removed(n *Notebook, old *book) error {
	if old.kind != KindOutput {
		return nil
	}
	owner, err := r.base.ownerOf(old.path)
	if err != nil || owner == "" {
		return err
	}
	if owner = r.now(owner); owner == "" {
		return nil
	}
	if now, _, err := r.outputs(owner); err != nil || len(now) > 0 {
		return err
	}
	n.Outputs = append(n.Outputs, Output{Path: n.Path, States: []State{Missing}, Source: owner, Problems: []string{"it was there, and is not"}})
	return nil
}

// settle draws the conditions from what was found.
func (n *Notebook) settle() {
	have := map[Condition]bool{OnChanged: true, OnRed: len(n.Red) > 0, OnDamaged: n.Error != ""}
	for i := range n.Outputs {
		for state, c := range map[State]Condition{Failed: OnFailed, Altered: OnEdited, Damaged: OnDamaged, Stale: OnStale, Missing: OnMissing} {
			have[c] = have[c] || n.Outputs[i].Has(state)
		}
	}
	for _, c := range Conditions {
		if have[c] {
			n.Conditions = append(n.Conditions, c)
		}
	}
}

// shows says that the comparison of an output notebook shows what changed in its source, too.
func (n *Notebook) shows(source *Notebook) bool {
	return n != nil && n.Diff != nil && source.Diff != nil && n.Kind == KindOutput && n.Change == source.Change && n.Diff.Counts == source.Diff.Counts && n.Diff.Prose == source.Diff.Prose
}

// rank orders notebooks: what is objected to first, and then what is worst.
func (r *Review) rank(n *Notebook) int {
	rank := slices.Index(Conditions, n.Conditions[0])
	if !r.Objects(n) {
		rank += len(Conditions)
	}
	return rank
}

func (r *Review) count() {
	c := Counts{Notebooks: len(r.Notebooks), Changes: map[Change]int{}, Conditions: map[Condition]int{}, Outputs: map[State]int{}}
	seen := map[string]bool{}
	for _, n := range r.Notebooks {
		c.Changes[n.Change]++
		for _, on := range n.Conditions {
			c.Conditions[on]++
		}
		for _, o := range n.Outputs {
			if !seen[o.Path] {
				for _, s := range o.States {
					c.Outputs[s]++
				}
			}
			seen[o.Path] = true
		}
	}
	r.Counts = c
}

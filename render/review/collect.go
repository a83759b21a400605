package review

import (
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/render/diffview"
)

// File is a file that differs between the two sides.
type File struct {
	Path     string
	From     string // where one was that only moved
	Old, New bool   // on which sides it is
}

// Input is what Make reviews.
type Input struct {
	Base, Head         Tree
	BaseName, HeadName Revision
	Files              []File // all that differ, of those that IsNotebookName takes
	FailOn             []Condition
	Compare            diff.Options
	// Output returns the output path that the new side's settings give a source. It may be nil.
	Output func(path string, source []byte) (string, bool)
	// Changed lists the paths of all files that differ.
	Changed []string
	// Rules lists the changed files that by name say what runs may do. Matches finds protected files.
	Rules   []Rule
	Protect []string                                  // patterns of protect: in the settings of the base
	Matches func(patterns []string, path string) bool // whether protect: names a path; nil where nothing can tell
	// Proof returns the level of proof of an output notebook. Without it every one is claimed.
	Proof   func(path string, output []byte) Proof
	Require Level // the level that outputs must have; "" for any
}

// reviewer builds a review.
type reviewer struct {
	in         Input
	base, head *side
	from, to   map[string]string   // of files that were renamed: new to old, old to new
	bySetting  map[string][]string // of outputs: the sources whose output that is by the settings
	judged     map[string]Output
	notebooks  []*Notebook
	told       map[string]*Notebook // by path on the new side
	pairs      map[*Notebook][2]*book
	brought    map[string]bool         // the outputs that the branch adds or changes
	changes    map[string][][2]version // of files: what the runs of those outputs made of what
	findings   []Finding
}

// Make reviews. It returns an error only if a tree cannot be read; a notebook that cannot be read becomes a finding.
func Make(in Input) (*Review, error) {
	r := &reviewer{in: in, base: newSide(in.Base, in.BaseName), head: newSide(in.Head, in.HeadName),
		from: map[string]string{}, to: map[string]string{},
		judged: map[string]Output{}, told: map[string]*Notebook{}, pairs: map[*Notebook][2]*book{},
		brought: map[string]bool{}}
	files := r.renames(in.Files)
	for _, f := range files {
		if f.From != "" {
			r.from[f.Path], r.to[f.From] = f.From, f.Path
		}
	}
	r.settings(files)
	for _, f := range files {
		if f.New && r.head.isOutput(f.Path) && !(f.From != "" && r.base.book(f.From).digest == r.head.book(f.Path).digest) {
			r.brought[f.Path] = true
		}
	}
	for _, f := range files {
		if err := r.file(f); err != nil {
			return nil, err
		}
	}
	r.group()
	rules := r.protected(slices.Clone(in.Rules))
	out := &Review{Version: Version, Base: in.BaseName, Head: in.HeadName, Verdict: "pass", FailOn: in.FailOn,
		Require: in.Require, Rules: rules, Notebooks: r.notebooks,
		Findings: r.findRules(rules)}
	for _, outputs := range []bool{false, true} { // an output does not say again what its source said
		for _, n := range out.Notebooks {
			if (n.Kind == KindOutput) == outputs {
				r.find(n)
				n.settle()
			}
		}
	}
	out.order()
	out.Findings = append(out.Findings, r.findings...)
	out.sortFindings()
	if out.Objections() > 0 {
		out.Verdict = "fail"
	}
	out.count()
	return out, nil
}

// group puts changed outputs behind their source, and chooses which comparison shows a text that several share.
func (r *reviewer) group() {
	shown := map[[2]string]string{}
	for _, n := range r.notebooks {
		if n.Diff == nil || n.Kind == KindOutput {
			continue
		}
		shown[textsOf(r.pairs[n])] = n.Path
	}
	for _, n := range r.notebooks {
		if n.Kind != KindOutput {
			continue
		}
		owner := ""
		if o := n.outputOf(n.Path); o != nil {
			owner = o.Source
		}
		if n.Change == Removed && owner == "" {
			was, err := r.base.ownerOf(n.Path)
			if err == nil {
				owner = was // which may have gone, too
			}
		}
		if source := r.told[owner]; source != nil && source != n {
			n.Of = source.Path
			source.members = append(source.members, n)
		}
		if n.Diff == nil || n.Change == Removed {
			continue
		}
		texts := textsOf(r.pairs[n])
		switch at, ok := shown[texts]; {
		case ok:
			n.TextAt = at
		case texts[0] == "" && owner != "" && r.head.book(owner).look().sourceDigest() == texts[1] && r.told[owner] == nil:
			n.TextAt = owner // which did not change
		case texts[0] == "" && n.Of != "" && r.head.book(owner).digest == texts[1]:
			n.TextAt = owner // the output is new, its source is not
		default:
			shown[texts] = n.Path
		}
	}
	for _, n := range r.notebooks {
		if n.Diff == nil {
			continue
		}
		if n.TextAt == "" {
			n.Comparison = diffview.Value(n.Diff)
		} else {
			n.Comparison = diffview.Value(diffview.WithoutCells(n.Diff))
		}
	}
}

// textsOf returns the source digests of a notebook on both sides, "" for a side without it.
func textsOf(pair [2]*book) (out [2]string) {
	for i, b := range pair {
		switch {
		case b == nil || b.err != nil:
		case b.kind == KindOutput:
			out[i] = notebooks.DigestOf(b.stripped.Source)
		default:
			out[i] = b.sourceDigest()
		}
	}
	return out
}

// order sorts objections first, then by severity. Outputs follow their source.
func (r *Review) order() {
	leaders := slices.DeleteFunc(slices.Clone(r.Notebooks), func(n *Notebook) bool { return !n.Leads() })
	worst := func(a, b *Notebook) int {
		if d := r.rank(a) - r.rank(b); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	}
	slices.SortStableFunc(leaders, worst)
	r.Notebooks = make([]*Notebook, 0, len(r.Notebooks))
	for _, n := range leaders {
		slices.SortStableFunc(n.members, worst)
		r.Notebooks = append(append(r.Notebooks, n), n.members...)
	}
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
	r.pairs[n] = [2]*book{old, now}
	r.compare(n, old, now)
	switch {
	case now == nil:
		return r.removed(n, old)
	case n.Error != "":
	case now.kind == KindOutput:
		return r.addOutputs(n, n.Path)
	case now.kind == KindSource:
		return r.source(n)
	case now.kind == KindJupyter:
		return r.jupyter(n, now)
	}
	return nil
}

// jupyter adds the outputs in a Jupyter notebook, and those that runs of it left elsewhere.
func (r *reviewer) jupyter(n *Notebook, now *book) error {
	if now.manifest() == nil {
		r.jupyterOutput(n, hasOutputs(n.Diff.Old), hasOutputs(n.Diff.New), n.Diff.New.Status)
	} else {
		if err := r.addOutputs(n, n.Path); err != nil {
			return err
		}
	}
	others, _, err := r.outputs(n.Path)
	if err != nil {
		return err
	}
	return r.addOutputs(n, others...)
}

// addOutputs adds the outputs at some paths to a notebook.
func (r *reviewer) addOutputs(n *Notebook, paths ...string) error {
	for _, p := range paths {
		o, err := r.output(p)
		if err != nil {
			return err
		}
		n.Outputs = append(n.Outputs, o)
	}
	return nil
}

func hasOutputs(d *diff.Document) bool {
	return slices.ContainsFunc(d.Cells, func(c diff.Cell) bool { return len(c.Outputs)+len(c.Scraps) > 0 })
}

// compare compares the two sides of a notebook. A missing side counts as an empty notebook.
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
}

// source adds the outputs of a changed source.
func (r *reviewer) source(n *Notebook) error {
	now, before, err := r.outputs(n.Path)
	if err != nil {
		return err
	}
	if len(now) > 0 {
		return r.addOutputs(n, now...)
	}
	if n.Diff.Old.Status != "" { // it was its own output
		n.Outputs = append(n.Outputs, Output{Path: n.Path, States: []State{Missing}, Source: n.Path,
			Problems: []string{"it held the outputs of a run, and holds none"}})
		return nil
	}
	switch wanted := r.configured(n.Path); {
	case len(before) > 0:
		n.Outputs = append(n.Outputs, Output{Path: before[0], States: []State{Missing}, Source: n.Path,
			Problems: []string{"it was there, and is not"}})
	case wanted != "" && !r.head.there(wanted):
		n.Outputs = append(n.Outputs, Output{Path: wanted, States: []State{Missing}, Source: n.Path,
			Problems: []string{"markmill.yaml wants it there"}})
	}
	return nil
}

// removed reports that a remaining source lost its output.
func (r *reviewer) removed(n *Notebook, old *book) error {
	if old.kind != KindOutput {
		return r.orphans(n)
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
	n.Outputs = append(n.Outputs, Output{Path: n.Path, States: []State{Missing}, Source: owner,
		Problems: []string{"it was there, and is not"}})
	return nil
}

// orphans reports the outputs that a removed source left behind.
func (r *reviewer) orphans(n *Notebook) error {
	left, err := r.head.naming(n.Path)
	if err != nil {
		return err
	}
	if n.Kind == KindSource {
		before, err := r.base.outputsOf(n.Path)
		if err != nil {
			return err
		}
		left = slices.Concat(left, before)
	}
	slices.Sort(left)
	for _, p := range slices.Compact(left) {
		if !r.head.isOutput(p) {
			continue
		}
		o, err := r.output(p)
		if err != nil {
			return err
		}
		if o.Source == "" {
			n.Outputs = append(n.Outputs, o)
		}
	}
	return nil
}

// settle sorts the conditions, and adds those of outputs that changed themselves, whose findings are listed
// separately.
func (n *Notebook) settle() {
	have := map[Condition]bool{OnChanged: true}
	for _, c := range n.Conditions {
		have[c] = true
	}
	for i := range n.Outputs {
		for state, c := range map[State]Condition{Failed: OnFailed, Partial: OnPartial, Altered: OnEdited,
			Damaged: OnDamaged, Stale: OnStale, Missing: OnMissing} {
			have[c] = have[c] || n.Outputs[i].Has(state)
		}
	}
	n.Conditions = nil
	for _, c := range Conditions {
		if have[c] {
			n.Conditions = append(n.Conditions, c)
		}
	}
}

// worst returns the gravest condition of a notebook and its outputs.
func (n *Notebook) worst() int {
	rank := slices.Index(Conditions, n.Conditions[0])
	for _, m := range n.members {
		rank = min(rank, m.worst())
	}
	return rank
}

// rank orders notebooks: objections first, then by severity.
func (r *Review) rank(n *Notebook) int {
	rank := n.worst()
	if !r.Objects(n) {
		rank += len(Conditions)
	}
	return rank
}

func (r *Review) count() {
	c := Counts{Notebooks: len(r.Notebooks), Objections: r.Objections(), Changes: map[Change]int{},
		Conditions: map[Condition]int{}, Outputs: map[State]int{}, Proof: map[Level]int{}}
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
				if o.Proof != nil {
					c.Proof[o.Proof.Level]++
				}
			}
			seen[o.Path] = true
		}
	}
	r.Counts = c
}

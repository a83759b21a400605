package review

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks/diff"
	"markmill/notebooks/region"
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
	Files              []File // all that differ
	FailOn             []Condition
	Compare            diff.Options
	// Output returns the output path that the new side's settings give a source. It may be nil.
	Output func(path string, source []byte) (string, bool)
	// Rules lists the changed files that by name say what runs may do. Matches finds protected files.
	Rules   []Rule
	Protect []string                                  // patterns of protect: in the settings of the base
	Matches func(patterns []string, path string) bool // whether protect: names a path; nil where nothing can tell
	// Judges says which files judge the branch; nil is the table of package notebooks.
	Judges func(path string) bool
	// Proof returns the level of proof of an output notebook. Without it every one is claimed.
	Proof   func(path string, output []byte) Proof
	Require Level // the level that outputs must have; "" for any
	// Current makes the review list every output of the new side that is not current.
	Current bool
	// Judged is what the base's tests say; nil where nobody asked them.
	Judged *Judged
	// Runs are the commits of the branch that name a run.
	Runs []RunCommit
}

// reviewer builds a review.
type reviewer struct {
	in         Input
	changed    []string // the paths of all files that differ
	files      []File   // those of them that may be notebooks
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
	touched    map[string]bool // the files that differ, and the folders that they are in
	alone      bool            // each output is read on the new side only: nothing is compared with the old one
}

func newReviewer(in Input) *reviewer {
	r := &reviewer{in: in, base: newSide(in.Base, in.BaseName), head: newSide(in.Head, in.HeadName),
		from: map[string]string{}, to: map[string]string{},
		judged: map[string]Output{}, told: map[string]*Notebook{}, pairs: map[*Notebook][2]*book{},
		brought: map[string]bool{}}
	for _, f := range in.Files {
		r.changed = append(r.changed, f.Path)
		was, is := IsNotebookName(f.From), IsNotebookName(f.Path)
		switch {
		case is && (f.From == "" || was):
			r.files = append(r.files, f)
		case is: // renamed from a file that was no notebook
			r.files = append(r.files, File{Path: f.Path, New: true})
		case was:
			r.files = append(r.files, File{Path: f.From, Old: true})
		}
		if f.From != "" {
			r.changed = append(r.changed, f.From)
		}
	}
	return r
}

// Make reviews. It returns an error only if a tree cannot be read; a notebook that cannot be read becomes a finding.
func Make(in Input) (*Review, error) {
	r := newReviewer(in)
	r.files = r.renames(r.files)
	for _, f := range r.files {
		if f.From != "" {
			r.from[f.Path], r.to[f.From] = f.From, f.Path
		}
	}
	r.settings(r.files)
	for _, f := range r.files {
		if f.New && r.head.isOutput(f.Path) &&
			!(f.From != "" && r.base.book(f.From).digest == r.head.book(f.Path).digest) {
			r.brought[f.Path] = true
		}
	}
	for _, f := range r.files {
		r.file(f)
	}
	r.affected()
	r.group()
	rules := r.protected(slices.Clone(in.Rules))
	out := &Review{Version: Version, Base: in.BaseName, Head: in.HeadName, Verdict: "pass", FailOn: in.FailOn,
		Require: in.Require, Current: in.Current, Rules: rules, Notebooks: r.notebooks,
		Findings: r.findRules(rules), Judged: in.Judged, Runs: in.Runs}
	out.changed, out.changedNotebooks = r.compareFiles(rules)
	for _, outputs := range []bool{false, true} { // an output does not say again what its source said
		for _, n := range out.Notebooks {
			if (n.Kind == KindOutput) == outputs {
				r.find(n)
				n.settle()
			}
		}
	}
	out.order()
	out.Findings = slices.Concat(out.Findings, in.Judged.Findings(), r.findings, r.untested(), out.uncovered())
	out.rows = r.table(out)
	for name, o := range r.judged {
		if o.readsUnknown && r.brought[name] {
			out.ReadsUnknown = append(out.ReadsUnknown, name)
		}
	}
	slices.Sort(out.ReadsUnknown)
	out.sortFindings()
	switch {
	case out.Objections() > 0:
		out.Verdict = "fail"
	case out.Decisions() > 0:
		out.Verdict = "decide"
	}
	out.count()
	return out, cmp.Or(r.base.err, r.head.err)
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
			owner = r.base.ownerOf(n.Path) // which may have gone, too
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
		case texts[0] == "" && owner != "" &&
			r.head.book(owner).look().sourceDigest() == texts[1] && r.told[owner] == nil:
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
			out[i] = region.DigestOf(b.stripped.Source)
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
func (r *reviewer) file(f File) {
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
		return
	}
	r.notebooks = append(r.notebooks, n)
	r.told[n.Path] = n
	r.pairs[n] = [2]*book{old, now}
	r.compare(n, old, now)
	switch {
	case now == nil:
		r.removed(n, old)
	case n.Error != "":
	case now.kind == KindOutput:
		r.addOutputs(n, n.Path)
	case now.kind == KindSource:
		r.source(n)
	case now.kind == KindJupyter:
		r.jupyter(n, now)
	}
}

// jupyter adds the outputs in a Jupyter notebook, and those that runs of it left elsewhere.
func (r *reviewer) jupyter(n *Notebook, now *book) {
	if now.manifest() == nil {
		r.jupyterOutput(n, hasOutputs(n.Diff.Old), hasOutputs(n.Diff.New), n.Diff.New.Status)
	} else {
		r.addOutputs(n, n.Path)
	}
	others, _ := r.outputs(n.Path)
	r.addOutputs(n, others...)
}

// addOutputs adds the outputs at some paths to a notebook.
func (r *reviewer) addOutputs(n *Notebook, paths ...string) {
	for _, p := range paths {
		n.Outputs = append(n.Outputs, r.output(p))
	}
}

// addMissing adds an output that should be there.
func (n *Notebook) addMissing(name, source, why string) {
	n.Outputs = append(n.Outputs, Output{Path: name, States: []State{Missing}, Source: source, Problems: []string{why}})
}

func hasOutputs(d *diff.Document) bool {
	return slices.ContainsFunc(d.Cells, func(c diff.Cell) bool { return len(c.Outputs)+len(c.Scraps) > 0 })
}

// compare compares the two sides of a notebook. A missing side counts as an empty notebook.
func (r *reviewer) compare(n *Notebook, old, now *book) {
	was, err := r.base.document(old, n.Path)
	if err != nil { // what it was cannot be told; what it is can
		was = &diff.Document{Name: r.base.call(old.path), Form: "none",
			Notes: []string{"cannot be read: " + err.Error()}}
	}
	is, err := r.head.document(now, n.Path)
	if err != nil {
		n.Error = err.Error()
		return
	}
	n.Diff = diff.Compare(was, is, r.in.Compare)
}

// source adds the outputs of a changed source.
func (r *reviewer) source(n *Notebook) {
	now, before := r.outputs(n.Path)
	switch wanted := r.configured(n.Path); {
	case len(now) > 0:
		r.addOutputs(n, now...)
	case n.Diff.Old.Status != "": // it was its own output
		n.addMissing(n.Path, n.Path, "it held the outputs of a run, and holds none")
	case len(before) > 0:
		n.addMissing(before[0], n.Path, "it was there, and is not")
	case wanted != "" && !r.head.there(wanted):
		n.addMissing(wanted, n.Path, "markmill.yaml wants it there")
	}
}

// removed reports that a remaining source lost its output.
func (r *reviewer) removed(n *Notebook, old *book) {
	if old.kind != KindOutput {
		r.orphans(n)
		return
	}
	owner := r.now(r.base.ownerOf(old.path))
	if owner == "" {
		return
	}
	if now, _ := r.outputs(owner); len(now) == 0 {
		n.addMissing(n.Path, owner, "it was there, and is not")
	}
}

// orphans reports the outputs that a removed source left behind.
func (r *reviewer) orphans(n *Notebook) {
	left := slices.Clone(r.head.naming(n.Path))
	if n.Kind == KindSource {
		left = append(left, r.base.outputsOf(n.Path)...)
	}
	slices.Sort(left)
	for _, p := range slices.Compact(left) {
		if r.head.isOutput(p) && r.output(p).Source == "" {
			r.addOutputs(n, p)
		}
	}
}

// settle sorts the conditions, and adds those of outputs that changed themselves, whose findings are listed
// separately.
func (n *Notebook) settle() {
	have := n.Conditions
	if n.Change != Untouched {
		have = append(have, OnChanged)
	}
	for i := range n.Outputs {
		for _, state := range n.Outputs[i].States {
			have = append(have, stateConditions[state])
		}
	}
	n.Conditions = slices.DeleteFunc(slices.Clone(Conditions),
		func(c Condition) bool { return !slices.Contains(have, c) })
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
	c := Counts{Notebooks: len(r.Notebooks), Objections: r.Objections(), Decisions: r.Decisions(),
		Changes: map[Change]int{}, Conditions: map[Condition]int{}, Outputs: map[State]int{}, Proof: map[Level]int{}}
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

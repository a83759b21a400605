package review

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/region"
)

// stateOrder is the order in which states are listed.
var stateOrder = []State{Failed, Partial, Altered, Damaged, Stale, Missing, Fresh, Intact, Unproven}

// stateConditions are the conditions that states meet.
var stateConditions = map[State]Condition{Failed: OnFailed, Partial: OnPartial, Altered: OnEdited, Damaged: OnDamaged,
	Stale: OnStale, Missing: OnMissing}

func (o *Output) sort() {
	slices.SortFunc(o.States, func(a, b State) int { return slices.Index(stateOrder, a) - slices.Index(stateOrder, b) })
	o.States = slices.Compact(o.States)
}

// output judges an output notebook of the new side.
func (r *reviewer) output(name string) Output {
	if o, ok := r.judged[name]; ok {
		return o
	}
	o := Output{Path: name}
	b := r.head.book(name).look()
	r.problems(&o, b)
	o.Source = r.owner(name)
	if m := b.manifest(); m != nil {
		r.tell(&o, m)
		own := region.DigestOf(b.stripped.Source)
		if b.jupyter != nil {
			own = b.sourceDigest()
		}
		r.stand(&o, m, own)
		o.Applied = r.applied(name, m)
	}
	r.prove(&o, b)
	o.sort()
	r.judged[name] = o
	return o
}

// tell copies what the manifest says of the run.
func (r *reviewer) tell(o *Output, m *notebooks.Manifest) {
	o.Status, o.Partial = m.Status, m.Partial
	switch {
	case m.Partial != "" || m.Status == "partial":
		o.Partial = cmp.Or(m.Partial, "its run was partial")
		o.States = append(o.States, Partial)
		if m.Status != "partial" && m.Status != "pass" {
			o.States = append(o.States, Failed)
		}
	case m.Status != "pass":
		o.States = append(o.States, Failed)
	}
	if m.Contract != nil {
		o.Approval = m.Contract.Approval
	}
	for _, b := range m.Blockers {
		o.Blockers = append(o.Blockers, Reason{Code: b.Code, Step: string(b.Step), Rule: b.Rule, Message: b.Message,
			Files: b.Paths, Fix: b.Fix})
	}
}

// stand compares an output with its source. own is the digest of the output's own text.
func (r *reviewer) stand(o *Output, m *notebooks.Manifest, own string) {
	whole := len(o.Problems) == 0
	switch {
	case o.Source == "" && !whole: // what its own text was, cannot be told
	case o.Source == "" && r.lost(m, o.Path):
		o.States = append(o.States, Stale)
		o.gone = path.Clean(m.SourcePath)
	case o.Source == "" && own == m.Source:
		o.States = append(o.States, Intact)
	case o.Source == "":
		o.States = append(o.States, Stale)
		o.Problems = append(o.Problems,
			"the text of the notebook is another than at its run, and no source stands beside it")
	case r.head.book(o.Source).look().digestFor(o.Path) == m.Source:
		if whole && own == m.Source {
			o.States = append(o.States, Fresh) // what was edited is not known to be the output of anything
		}
	default:
		o.States = append(o.States, Stale)
	}
	if o.Source != "" && own != m.Source && whole {
		o.States = append(o.States, Altered)
		o.Problems = append(o.Problems,
			"the text around the regions was edited: it is not that of the source at the run")
	}
}

// lost reports whether the branch removed the source that a manifest names.
func (r *reviewer) lost(m *notebooks.Manifest, output string) bool {
	name := path.Clean(m.SourcePath)
	return m.SourcePath != "" && name != output && !r.head.there(name) && r.base.isNotebook(name)
}

// problems lists edited and missing regions.
func (r *reviewer) problems(o *Output, b *book) {
	list, edited := b.stripped.Problems, map[int]bool{} // by line
	for _, region := range b.stripped.Regions {
		if region.Edited {
			edited[region.Line] = true
		}
	}
	if b.jupyter != nil && b.manifest() != nil {
		list = b.jupyter.Damage()
		if len(list) > 0 {
			o.States = append(o.States, Altered)
		}
	}
	for _, p := range list {
		switch {
		case b.jupyter != nil:
		case p.Step != "" && edited[p.Line]:
			o.States = append(o.States, Altered)
		default:
			o.States = append(o.States, Damaged)
		}
		words := p.Msg
		if p.Step != "" {
			words = fmt.Sprintf("step %q: %s", string(p.Step), words)
		}
		if p.Line > 0 {
			words = fmt.Sprintf("line %d: %s", p.Line, words)
		}
		o.Problems = append(o.Problems, words)
	}
}

// jupyterOutput judges the outputs of a Jupyter notebook that Markmill did not run. No digest covers them, so much
// is unproven.
func (r *reviewer) jupyterOutput(n *Notebook, was, is bool, status string) {
	o := Output{Path: n.Path, Status: status}
	switch {
	case was && !is:
		o.States = []State{Missing}
		o.Problems = []string{"its cells had outputs, and have none"}
	case !is:
		return
	default:
		if status == "fail" {
			o.States = append(o.States, Failed)
		}
		o.States = append(o.States, Unproven)
		r.prove(&o, r.head.book(n.Path))
	}
	n.Outputs = append(n.Outputs, o)
}

// outputOf returns the output at a path among those of a notebook, nil without one.
func (n *Notebook) outputOf(name string) *Output {
	if i := slices.IndexFunc(n.Outputs, func(o Output) bool { return o.Path == name }); i >= 0 {
		return &n.Outputs[i]
	}
	return nil
}

// failure describes on one line why a run did not pass: the first cause, and its step.
func (o *Output) failure() (step, words string) {
	words = "its run is " + o.Status
	if len(o.Blockers) == 0 {
		return "", words
	}
	b := o.Blockers[0]
	words += ": "
	if b.Step != "" && !strings.Contains(b.Message, b.Step) {
		words += "step " + b.Step + ": "
	}
	words += b.Message
	if more := len(o.Blockers) - 1; more > 0 {
		words += fmt.Sprintf(" (and %d more)", more)
	}
	return b.Step, words
}

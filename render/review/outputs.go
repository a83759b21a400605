package review

import (
	"fmt"
	"slices"

	"markmill/notebooks"
)

// stateOrder is the order in which states are told.
var stateOrder = []State{Failed, Altered, Damaged, Stale, Missing, Fresh, Intact, Unproven}

func (o *Output) sort() {
	slices.SortFunc(o.States, func(a, b State) int { return slices.Index(stateOrder, a) - slices.Index(stateOrder, b) })
	o.States = slices.Compact(o.States)
}

// output tells how an output notebook of the new side stands.
func (r *reviewer) output(name string) (Output, error) {
	if o, ok := r.judged[name]; ok {
		return o, nil
	}
	o := Output{Path: name}
	b := r.head.book(name).look()
	r.problems(&o, b)
	m := b.stripped.Manifest
	owner, err := r.owner(name)
	if err != nil {
		return o, err
	}
	o.Source = owner
	if m != nil {
		o.Status = m.Status
		if m.Status != "pass" {
			o.States = append(o.States, Failed)
		}
		own := notebooks.DigestOf(b.stripped.Source)
		switch {
		case owner == "" && len(b.stripped.Problems) > 0: // what its own text was, cannot be told
		case owner == "" && own == m.Source:
			o.States = append(o.States, Intact)
		case owner == "":
			o.States = append(o.States, Stale)
			o.Problems = append(o.Problems, "the text of the notebook is another than at its run, and no source stands beside it")
		case r.head.book(owner).digest == m.Source:
			if len(b.stripped.Problems) == 0 && own == m.Source {
				o.States = append(o.States, Fresh) // what was edited is not known to be the output of anything
			}
		default:
			o.States = append(o.States, Stale)
		}
		if owner != "" && own != m.Source && len(b.stripped.Problems) == 0 {
			o.States = append(o.States, Altered)
			o.Problems = append(o.Problems, "the text around the regions was edited: it is not that of the source at the run")
		}
	}
	o.sort()
	r.judged[name] = o
	return o, nil
}

// problems tells which regions were edited, and what is missing.
func (r *reviewer) problems(o *Output, b *book) {
	edited := map[int]bool{} // by line
	for _, region := range b.stripped.Regions {
		if region.Edited {
			edited[region.Line] = true
		}
	}
	for _, p := range b.stripped.Problems {
		state := Damaged
		if p.Step != "" && edited[p.Line] {
			state = Altered
		}
		o.States = append(o.States, state)
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

// jupyterOutput tells how the outputs of a Jupyter notebook stand: no digest holds them, so that much is unproven.
func jupyterOutput(n *Notebook, was, is bool, status string) {
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
	}
	n.Outputs = append(n.Outputs, o)
}

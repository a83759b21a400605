package engine

import (
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// RanAlready reports whether a recorded run did what the plan says: the same notebook, steps, kernels, parameters, base
// commit, options and rules, in a worktree without uncommitted changes. Secrets cannot be compared, because no record
// holds them.
func (p *Plan) RanAlready(r *runs.Run) bool {
	c := r.Contract
	if p.source == nil || r.Source != runs.DigestOf(p.request.Source) || r.Started.Options == nil ||
		c.Dirty == string(DirtyInclude) && c.DirtyFiles > 0 || c.MutationMode == runs.MutationInPlace ||
		!sameParameters(p.Parameters(), c.Parameters) {
		return false
	}
	return codec.Same(p.data(), r.Plan) && codec.Same(options(*p.Options()), options(*r.Started.Options)) &&
		codec.Same(terms(p.Contract()), terms(c))
}

// options are those that decide what the steps do: without given values, which are among the parameters.
func options(o runs.OptionsData) runs.OptionsData {
	o.Given, o.Branch, o.ReportMode, o.Timings = nil, "", false, false
	return o
}

// terms are what a contract allows and expects, on which commit.
func terms(c runs.ContractData) runs.ContractData {
	c.TaskID, c.Job, c.TargetRepository, c.Parameters, c.Environment = "", "", "", nil, nil
	c.Dirty, c.DirtyFiles = "", 0
	return c
}

// sameParameters compares values, but those of secrets.
func sameParameters(a, b []runs.ParamData) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		secret := a[i].Type == string(notebooks.TypeSecret)
		if a[i].Name != b[i].Name || a[i].Type != b[i].Type || !secret && !codec.Same(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}

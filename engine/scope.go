package engine

import (
	"markmill/notebooks/codec"
	"markmill/notebooks/expr"
	"markmill/runs"
)

// scope is what the condition of a step can see: parameters, the scraps so far, which steps passed.
// A secret is not there: a condition would tell it apart by its outcome.
func (r *run) scope() expr.Scope {
	s := expr.Scope{Params: map[string]any{}, Scraps: map[string]any{}, Steps: map[string]bool{}}
	for _, b := range r.plan.values() {
		if b.Value.Type != "secret" {
			s.Params[b.Param.Name] = b.Value.Native()
		}
	}
	for name, scrap := range r.scraps {
		var v any
		if scrap.File == "" && codec.Unmarshal(scrap.Value, &v) == nil {
			s.Scraps[name] = v
		}
	}
	for _, step := range r.plan.Steps {
		s.Steps[string(step.ID)] = r.records[step.ID].Status == runs.StepPassed
	}
	return s
}

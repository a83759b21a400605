package engine

import (
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/expr"
	"markmill/runs"
)

// scope is what the condition of a step can refer to: parameters, the scraps so far, and which steps passed. Secrets
// are left out: whether the step runs would reveal them.
func (r *run) scope() expr.Scope {
	s := expr.Scope{Params: map[string]any{}, Scraps: map[string]any{}, Steps: map[string]bool{}}
	for _, b := range r.plan.values() {
		if b.Value.Type != "secret" {
			s.Params[b.Param.Name] = b.Value.Native()
		}
	}
	for name, scrap := range r.scraps {
		if v, ok := scrapValue(scrap); ok {
			s.Scraps[name] = v
		}
	}
	for _, step := range r.plan.steps {
		s.Steps[string(step.ID)] = r.results[step.ID].Status == runs.StepPassed
	}
	return s
}

// scrapValue is a scrap in a condition: numbers and dates as such, a file as its path.
func scrapValue(scrap runs.ScrapData) (any, bool) {
	if scrap.File != "" {
		return scrap.File, true
	}
	if v, err := notebooks.ParseWire(scrap.Value); err == nil {
		return v.Native(), true
	}
	var v any // an object as programs write it
	err := codec.Unmarshal(scrap.Value, &v)
	return v, err == nil
}

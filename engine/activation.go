package engine

import (
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// Activation is what a repository lets an agent do now.
type Activation struct {
	Backend *runs.AdmittedAgent // nil if it is not admitted, or denied
	Denied  *runs.DeniedAgent   // why it cannot do a step
	Fix     string              // what an operator can do about that
	Mode    string              // what a run with it may change: one of AgentModes
}

// AgentModes are the mutation modes of runs with agents, the tightest first.
func AgentModes() []string { return append([]string{}, agentModes...) }

// Activation says whether a step may be done by an agent here, by the admission and the policies, those of the last
// commit included.
func (e *Engine) Activation(src *worktree.Source, name string) (Activation, error) {
	policies, err := e.policies(src, "")
	if err != nil {
		return Activation{}, err
	}
	p := &Plan{policies: policies, notebook: &notebooks.Notebook{}}
	d := &runs.EligibilityData{}
	_, denied := p.admitted(e, name, d)
	return Activation{Backend: d.Backend, Denied: denied, Fix: d.Escalation, Mode: p.agentMode()}, nil
}

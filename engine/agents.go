package engine

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"markmill/engine/agent"
	"markmill/engine/kernel"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// agentVariable requests a backend. It can only choose among those that are admitted.
const agentVariable = "MARKMILL_BACKEND"

// isAgent reports whether the text of a step is a prompt.
func (t kernels) isAgent(s *notebooks.Step) bool {
	_, own := t.eng.Config.Kernels[kernel.AgentLanguage]
	return s.Lang == kernel.AgentLanguage && !own
}

// offline reports whether an agent does the step that is to have no network.
func (s *PlannedStep) offline() bool {
	k, ok := s.Kernel.(*kernel.Agent)
	return ok && k.Offline
}

// hasAgents reports whether an agent does a step of the notebook.
func (p *Plan) hasAgents() bool { return len(p.agents) > 0 }

// noAgent is the kernel of an agent's step for which no backend was selected: the run is blocked.
type noAgent struct{ kernel.Kernel }

func (noAgent) Name() string                        { return runs.AgentKernelPrefix + "none" }
func (noAgent) ValidateParam(notebooks.Bound) error { return nil }

// chooseAgent decides which backend does a step, and keeps the decision for the journal.
func (p *Plan) chooseAgent(e *Engine, s *notebooks.Step) kernel.Kernel {
	d := &runs.EligibilityData{MutationMode: p.agentMode(), RiskClass: cmp.Or(p.notebook.Front.Risk, "low"),
		Approval: p.needsApproval(), Gates: runs.AgentGates{Required: []string{"admitted", "policy", "program",
			"credentials", "sandbox", "mutation-mode"}, Passed: []string{}, Missing: []string{}}}
	if p.agents == nil {
		p.agents = map[notebooks.StepID]*runs.EligibilityData{}
	}
	p.agents[s.ID] = d
	d.Requested, d.RequestedBy = s.Backend, "notebook"
	// attempts that are compared have the same judges
	if b := p.request.Backend; b != "" && (d.Requested == "" || !s.Judges()) {
		d.Requested, d.RequestedBy = b, "request"
	}
	if d.Requested == "" {
		d.Requested, d.RequestedBy = e.env(agentVariable), "environment"
	}
	if d.Requested == "" {
		d.RequestedBy = ""
	}
	names := slices.Sorted(maps.Keys(e.Config.Agents))
	if d.Requested != "" {
		names = []string{d.Requested}
	}
	for _, name := range names {
		k, denied := p.admitted(e, name, d)
		if denied == nil {
			d.SelectedBackend, d.Escalation = name, ""
			d.Gates.Passed, d.Gates.Missing = []string{"admitted", "policy", "program", "credentials"}, []string{}
			return k
		}
		d.Denied = append(d.Denied, *denied)
	}
	if len(names) == 0 {
		d.Gates.Missing = []string{"admitted"}
		d.Denied = []runs.DeniedAgent{{Backend: "", Code: runs.CodeProviderNotAdmitted,
			Reason: "no agent is admitted in " + ConfigFile}}
		d.Escalation = "markmill agent admit NAME, with one of " + strings.Join(agentNames(), ", ")
	}
	return noAgent{}
}

// admitted returns the kernel of a backend that may do a step, or why it may not.
func (p *Plan) admitted(e *Engine, name string, d *runs.EligibilityData) (*kernel.Agent, *runs.DeniedAgent) {
	deny := func(gate, code, reason, fix string) (*kernel.Agent, *runs.DeniedAgent) {
		if !slices.Contains(d.Gates.Missing, gate) {
			d.Gates.Missing = append(d.Gates.Missing, gate)
		}
		d.Escalation = cmp.Or(d.Escalation, fix)
		return nil, &runs.DeniedAgent{Backend: name, Code: code, Reason: reason}
	}
	c, ok := e.Config.Agents[name]
	b, known := c.backend(name)
	if !ok || !known {
		fix := AdmitCommand(name)
		if _, builtIn := agent.Find(name); !builtIn {
			fix += ", or request one of: " + strings.Join(agentNames(), ", ")
		}
		return deny("admitted", runs.CodeProviderNotAdmitted, fmt.Sprintf("the agent %s is not admitted in %s", name,
			ConfigFile), fix)
	}
	for _, policy := range p.policies {
		if policy.Agents != nil && !slices.Contains(policy.Agents, name) {
			return deny("policy", runs.CodeProviderNotAdmitted, fmt.Sprintf("the policy of %s admits no agent %s "+
				"here: it names %s", policy.place(), name, cmp.Or(strings.Join(policy.Agents, ", "), "none")),
				"request another, or change policy: agents:")
		}
	}
	program := sandbox.Home(e.Getenv, c.Path)
	digest, _, err := e.DigestOfAgent(program)
	if err != nil {
		return deny("program", runs.CodeProviderUnavailable, fmt.Sprintf("the program of the agent %s cannot be "+
			"read: %v", name, err), "install it again, and admit it: "+AdmitCommand(name))
	}
	if info, err := os.Stat(program); err != nil || info.Mode()&0o111 == 0 {
		return deny("program", runs.CodeProviderUnavailable, fmt.Sprintf("the program of the agent %s, %s, is not "+
			"executable", name, program), "install it again, and admit it: "+AdmitCommand(name))
	}
	if digest != runs.Digest("sha256:"+c.SHA256) {
		return deny("program", runs.CodeProviderChanged, fmt.Sprintf("the program of the agent %s, %s, is not the "+
			"one that was admitted: its digest is %s", name, program, digest), "look at what changed, and admit it: "+
			AdmitCommand(name))
	}
	k := c.kernel(b, program, e.Getenv)
	if len(c.Credentials) > 0 && len(k.Keys) == 0 {
		return deny("credentials", runs.CodeProviderAuth,
			fmt.Sprintf("the agent %s has no credentials: none of %s is set", name, strings.Join(c.Credentials, ", ")),
			"set "+c.Credentials[0])
	}
	d.Backend = &runs.AdmittedAgent{Name: name, Program: program, Digest: digest, Version: c.Version, Model: c.Model,
		Endpoint: c.Endpoint, Credentials: c.Credentials}
	return k, nil
}

// agentMode is the mutation mode of the run's agents: the tightest that a policy sets, or the notebook by mode: none.
// Nothing can widen it.
func (p *Plan) agentMode() string {
	if p.notebook.Front.Mode == runs.MutationNone {
		return runs.MutationNone
	}
	mode := ""
	for _, policy := range p.policies {
		if at := slices.Index(agentModes, policy.AgentMode); at >= 0 &&
			(mode == "" || at < slices.Index(agentModes, mode)) {
			mode = policy.AgentMode
		}
	}
	return cmp.Or(mode, defaultAgentMode)
}

// beyondMode says what the run does that its agents' mutation mode does not allow; "" if nothing.
func (p *Plan) beyondMode() string {
	at := slices.Index(agentModes, p.agentMode())
	risk := p.notebook.Front.Risk
	switch inPlace := p.mode() == runs.MutationInPlace; {
	case inPlace && at < slices.Index(agentModes, "owned-repository"):
		return "works in place"
	case inPlace && p.agentMode() == "owned-repository" && (risk == "high" || risk == "critical"):
		return "works in place with the risk " + risk
	case p.request.Branch != "" && at < slices.Index(agentModes, defaultAgentMode):
		return "makes a branch"
	}
	return ""
}

// protectContract forbids agents to change what they are held to: the notebook and the settings of the repository.
func (p *Plan) protectContract() {
	if !p.hasAgents() {
		return
	}
	for _, name := range []string{p.request.SourcePath(p.root()), ConfigFile} {
		if pattern := literal(name); name != "" && !slices.Contains(p.notebook.Front.Forbid, pattern) {
			p.notebook.Front.Forbid = append(slices.Clone(p.notebook.Front.Forbid), pattern)
		}
	}
}

// decideAgents adds the gates of agents to those of the plan. The sandbox is decided.
func (p *Plan) decideAgents() {
	for i := range p.steps {
		s := &p.steps[i]
		d := p.agents[s.ID]
		if d == nil || s.Skip != "" {
			continue
		}
		block := func(gate, code, words, fix string) {
			d.Gates.Missing = append(d.Gates.Missing, gate)
			d.SelectedBackend, d.Escalation = "", fix
			d.Denied = append(d.Denied, runs.DeniedAgent{Backend: d.Backend.Name, Code: code, Reason: words})
		}
		if d.SelectedBackend != "" {
			switch beyond := p.beyondMode(); {
			case beyond != "":
				block("mutation-mode", runs.CodeProviderNotAdmitted, fmt.Sprintf("the run %s, and the mutation mode "+
					"of its agents is %s", beyond, d.MutationMode), "leave the option out, or set policy: agent-mode:")
			case p.sandbox.Writes == "" && p.notebook.Front.Sandbox != "off":
				block("sandbox", runs.CodeProviderUnavailable, "nothing confines here what the agent writes",
					"run it on Linux with Landlock, or say sandbox: off in the notebook")
			case s.offline() && p.offline.Network == sandbox.NetworkOpen:
				block("sandbox", runs.CodeProviderUnavailable, "the network of the agent cannot be cut here",
					"run it where a network namespace can be made, or admit the agent without network: off")
			default:
				d.Gates.Passed = append(d.Gates.Passed, "sandbox", "mutation-mode")
				if d.Backend.Network = sandbox.NetworkOpen; s.offline() {
					d.Backend.Network = p.offline.Network
				}
			}
		}
		if d.SelectedBackend == "" {
			last := d.Denied[len(d.Denied)-1]
			p.gates = append(p.gates, runs.Blocker{Code: last.Code, Rule: "backend: " + cmp.Or(d.Requested, "any"),
				Message: fmt.Sprintf("step %s: %s; %s", s.ID, last.Reason, d.Escalation)})
		}
	}
}

// agentSecrets are the credentials of all admitted agents, which nothing of the run may show.
func (p *Plan) agentSecrets(e map[string]AgentConfig, getenv func(string) (string, bool)) (out []secret) {
	if !slices.ContainsFunc(p.notebook.Steps, func(s *notebooks.Step) bool { return s.Lang == kernel.AgentLanguage }) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		for _, variable := range e[name].Credentials {
			if v, ok := getenv(variable); ok && v != "" {
				out = append(out, secret{"variable " + variable, v})
			}
		}
	}
	return out
}

// recordEligibility records, before anything runs, which backend does which step.
func (r *run) recordEligibility() error {
	for i := range r.plan.steps {
		s := &r.plan.steps[i]
		d := r.plan.agents[s.ID]
		if d == nil || s.Skip != "" {
			continue
		}
		told := *d
		told.DecisionID = fmt.Sprintf("%s/%s", r.id, s.ID)
		if n := len(told.Denied); told.SelectedBackend == "" && n > 0 {
			last := told.Denied[n-1]
			marker, err := r.mark(last.Code, s.ID, last.Reason, told.Escalation)
			if err != nil {
				return err
			}
			told.Marker = marker
		}
		if err := r.rec.emit(runs.AgentEligibility, s.ID, told); err != nil {
			return err
		}
	}
	return nil
}

// mark writes the diagnostic marker of a code, unless an earlier step has left it: it then gets a line more in a file
// of its own.
func (r *run) mark(code string, step notebooks.StepID, words, fix string) (*runs.SealedFile, error) {
	name := runs.Marker(code)
	if name == "" {
		return nil, nil
	}
	if err := makeFolder(r.rec.record.File(runs.BackendDir)); err != nil {
		return nil, artifact(err)
	}
	path := runs.BackendDir + "/" + name
	if _, err := os.Stat(r.rec.record.File(path)); err == nil {
		path = runs.BackendDir + "/" + string(step) + "-" + name
		for n := 2; ; n++ {
			if _, err := os.Stat(r.rec.record.File(path)); err != nil {
				break
			}
			path = fmt.Sprintf("%s/%s-%d-%s", runs.BackendDir, step, n, name)
		}
	}
	text := fmt.Sprintf("%s\nstep: %s\n%s\n", code, step, r.rec.conceal(words))
	if fix != "" {
		text += "fix: " + fix + "\n"
	}
	file, err := r.rec.keep(path, []byte(text))
	return &file, err
}

// AgentsHere says of each admitted agent which program a run of a repository would start, or why it would not; and what
// a run with an agent may change. The policies are those of a run of the commit that is checked out; src is nil outside
// a repository.
func (e *Engine) AgentsHere(src *worktree.Source) (usable map[string]*runs.AdmittedAgent,
	denied map[string]*runs.DeniedAgent, mode string, err error) {
	p := &Plan{notebook: &notebooks.Notebook{}}
	if p.policies, err = e.policies(src, ""); err != nil {
		return nil, nil, "", err
	}
	usable, denied = map[string]*runs.AdmittedAgent{}, map[string]*runs.DeniedAgent{}
	for name := range e.Config.Agents {
		d := &runs.EligibilityData{}
		if _, no := p.admitted(e, name, d); no != nil {
			denied[name] = no
		} else {
			usable[name] = d.Backend
		}
	}
	return usable, denied, p.agentMode(), nil
}

// Activation is what a repository lets an agent do now.
type Activation struct {
	Denied *runs.DeniedAgent // why it cannot do a step
	Fix    string            // what an operator can do about that
	Mode   string            // what a run with it may change: one of AgentModes
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
	return Activation{Denied: denied, Fix: d.Escalation, Mode: p.agentMode()}, nil
}

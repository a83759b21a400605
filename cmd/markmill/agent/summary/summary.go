package summary

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/agent"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/review"
	"markmill/runs"
)

// Options say what is summed up.
type Options struct {
	Engine *engine.Engine
	Store  runs.Store
	Now    time.Time // decides which keys are valid
}

// Summary is what is known of the agents of a repository. Its JSON is docs/schemas/summary.json.
type Summary struct {
	Agents []Agent `json:"agents"` // by name
	// notebooks and records that cannot be read, with the command that looks
	Problems []string `json:"problems,omitempty"`
	Next     string   `json:"next"` // what an operator does next
}

// Agent is a coding agent that is admitted, installed, or named by a proof.
type Agent struct {
	Name string `json:"name"`
	// Eligible says that it has passed every stage with the program, model and notebooks that are here now. It does not
	// make it active.
	Eligible bool     `json:"eligible"`
	Lacks    []string `json:"lacks"` // what it lacks to be eligible: stages, in their order
	// Active says that markmill.yaml admits it, and that nothing denies it a step now.
	Active   bool              `json:"active"`
	Admitted bool              `json:"admitted"`
	Mode     string            `json:"mode,omitzero"`     // agent-mode: what a run with it may change
	Program  string            `json:"program,omitzero"`  // that is admitted, or found on PATH
	Version  string            `json:"version,omitzero"`  // that is admitted
	Model    string            `json:"model,omitzero"`    // that is admitted
	Denied   *runs.DeniedAgent `json:"denied,omitempty"`  // why an admitted one is not active
	Decision *Decision         `json:"decision,omitzero"` // the newest about it
	Proofs   []Proof           `json:"proofs"`            // a member for each stage
	Next     string            `json:"next"`              // what an operator does next about it
}

// Decision is an agent.eligibility event of a run, by which the agent was selected for a step.
type Decision struct {
	ID      string     `json:"decision_id"`
	Run     runs.RunID `json:"run"`
	Mode    string     `json:"mutation_mode"`
	Risk    string     `json:"risk_class"`
	Missing []string   `json:"missing"` // gates
}

// States of a Proof. One that did not pass has the status of its run: fail, blocked, interrupted, running.
const (
	Passed   = "passed"
	Outdated = "outdated" // it passed, and is of another notebook, program or model than those that are here
	Damaged  = "damaged"  // its record does not verify
	Missing  = "missing"  // there is no run
	Unproven = "unproven" // the run passed, and no agent was selected in it
)

// Proof is one stage of an agent.
type Proof struct {
	Stage    string       `json:"stage"`
	State    string       `json:"state"`
	Level    review.Level `json:"level,omitzero"` // of the run: recorded, signed, repeated
	Run      runs.RunID   `json:"run,omitzero"`
	At       *time.Time   `json:"at,omitempty"`      // when it ended
	Why      string       `json:"why,omitzero"`      // of one that did not pass
	Notebook string       `json:"notebook,omitzero"` // from the root of the repository
	Replay   []string     `json:"replay,omitempty"`  // the command that runs it again, for the root of the repository
	Model    string       `json:"model,omitzero"`    // that the run used

	digest runs.Digest // of the program that the run used
	given  []string    // the values that it was given, as options
}

// Of sums up a repository.
func Of(ctx context.Context, repo *worktree.Source, o Options) (*Summary, error) {
	s := &survey{o: o, repo: repo, found: map[string]*Agent{}, params: map[string][]string{}}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Engine.Config.Agents)) {
		s.agent(name).Admitted = true
	}
	for _, b := range agent.Table() {
		if path, err := exec.LookPath(b.Program()); err == nil {
			s.agent(b.Name()).Program = path
		}
	}
	out := &Summary{Agents: []Agent{}, Problems: s.problems}
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		a := s.found[name]
		if err := s.finish(a); err != nil {
			return nil, err
		}
		out.Agents = append(out.Agents, *a)
	}
	out.Next = s.next(out.Agents)
	return out, nil
}

// agent is the summary of an agent, which is made if it is not there.
func (s *survey) agent(name string) *Agent {
	a := s.found[name]
	if a == nil {
		a = &Agent{Name: name, Lacks: []string{}}
		for _, stage := range notebooks.ProofStages {
			a.Proofs = append(a.Proofs, Proof{Stage: stage, State: Missing})
		}
		s.found[name] = a
	}
	return a
}

// finish says what follows from the proofs and the admission of an agent.
func (s *survey) finish(a *Agent) error {
	now, err := s.o.Engine.Activation(s.repo, a.Name)
	if err != nil {
		return err
	}
	c := s.o.Engine.Config.Agents[a.Name]
	if a.Admitted {
		a.Program, a.Version, a.Model, a.Mode = c.Path, c.Version, c.Model, now.Mode
		a.Active, a.Denied = now.Denied == nil, now.Denied
	}
	for i := range a.Proofs {
		p := &a.Proofs[i]
		if a.Admitted && p.State == Passed && (p.digest != runs.Digest("sha256:"+c.SHA256) || p.Model != c.Model) {
			p.State, p.Why = Outdated, "it is of another program or model than the one that is admitted"
		}
		if p.State != Passed {
			a.Lacks = append(a.Lacks, p.Stage)
		}
		if n := s.notebook(p.Stage); n != nil {
			p.Notebook, p.Replay = n.path, s.replay(a, p, n, c)
		}
	}
	a.Eligible = len(a.Lacks) == 0
	a.Next = a.todo(now.Fix)
	return nil
}

// replay is the command that runs a stage for an agent: with the values that its run was given, else with those of
// another proof of the agent, else with those of its admission.
func (s *survey) replay(a *Agent, p *Proof, n *notebook, c engine.AgentConfig) []string {
	words := []string{"markmill", "run", n.path}
	if given, ok := s.params[a.Name]; ok {
		if p.Run != "" {
			given = p.given
		}
		return append(words, given...)
	}
	values := map[string]string{"agent": a.Name, "program": c.Path, "model": c.Model}
	if !strings.ContainsAny(c.Endpoint, "@?") { // it may have a key in it
		values["endpoint"] = c.Endpoint
	}
	if len(c.Credentials) > 0 {
		values["credential"] = c.Credentials[0]
	}
	if c.Path == "" { // it is found on PATH
		values["program"] = a.Program
	}
	for _, name := range []string{"agent", "program", "model", "endpoint", "credential"} {
		if values[name] != "" && slices.Contains(n.params, name) {
			words = append(words, "-p", name+"="+values[name])
		}
	}
	return words
}

// todo is what an operator does next about an agent.
func (a *Agent) todo(fix string) string {
	if a.Admitted && a.Denied != nil {
		return fmt.Sprintf("%s is denied (%s): %s", a.Name, a.Denied.Code, fix)
	}
	for i := range a.Proofs {
		p := &a.Proofs[i]
		switch {
		case p.State == Passed:
		case p.Notebook == "":
			return fmt.Sprintf("no notebook has proof: %s; copy one from examples/proofs (docs/agents.md)", p.Stage)
		case p.State == Missing, p.State == Outdated:
			return fmt.Sprintf("prove %s of %s: run its command", p.Stage, a.Name)
		case p.State == "running":
			return fmt.Sprintf("wait for %s", p.Run)
		case p.State == Damaged:
			return fmt.Sprintf("see what is wrong with the record of %s: markmill verify %s; then run its command",
				p.Stage, p.Run)
		default:
			return fmt.Sprintf("see why %s did not pass: markmill show %s; then run its command", p.Stage, p.Run)
		}
	}
	modes := engine.AgentModes()
	switch {
	case !a.Admitted:
		return "all stages are proven; it is for you to admit it: " + engine.AdmitCommand(a.Name)
	case a.Mode != modes[len(modes)-1]:
		return fmt.Sprintf("nothing: all stages are proven, and runs may change what agent-mode %s allows; "+
			"to widen it is for you, in policy: of %s", a.Mode, engine.ConfigFile)
	}
	return "nothing: all stages are proven, and it is active"
}

// next is what an operator does next: about the active agents first, then about those that have come furthest.
func (s *survey) next(agents []Agent) string {
	var first *Agent
	for i := range agents {
		a := &agents[i]
		switch {
		case a.Active && a.Eligible:
		case first == nil, a.Admitted && !first.Admitted,
			a.Admitted == first.Admitted && len(a.Lacks) < len(first.Lacks):
			first = a
		}
	}
	switch {
	case len(s.problems) > 0:
		return s.problems[0]
	case first != nil:
		return first.Next
	case len(agents) > 0:
		return agents[0].Next
	case len(s.books) > 0:
		return "prove an agent: markmill run " + s.books[0].path + " (docs/agents.md)"
	}
	return "install a coding agent, or admit one: markmill agent admit NAME (docs/agents.md)"
}

// Words say on one line whether an agent is eligible, and whether it is active.
func (a *Agent) Words() []string {
	total := len(notebooks.ProofStages)
	words := []string{fmt.Sprintf("%d of %d stages proven", total-len(a.Lacks), total), "not eligible", "not active"}
	if a.Eligible {
		words[1] = "eligible"
	}
	switch {
	case a.Active:
		words[2] = "active: " + a.Mode
	case a.Denied != nil:
		words[2] += ": " + a.Denied.Reason
	default:
		words[2] += ": " + engine.ConfigFile + " does not admit it"
	}
	return words
}

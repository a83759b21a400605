package runs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Types of the events of an agent's step. agent.eligibility comes before any step runs; the others come between
// step.started and step.finished, in the order in which the backend reported them.
const AgentEligibility EventType = AgentEventPrefix + "eligibility"

// AgentEventPrefix begins the types of the other events: an AgentKind follows.
const AgentEventPrefix = "agent."

// AgentKernelPrefix begins the names of kernels that are an agent: "agent:codex".
const AgentKernelPrefix = "agent:"

// AgentKind is what an event of an agent says.
type AgentKind string

// The kinds.
const (
	AgentSession   AgentKind = "session"   // the backend's session: Session, Model
	AgentMessage   AgentKind = "message"   // what the agent says: Text
	AgentReasoning AgentKind = "reasoning" // withheld: only Bytes
	AgentTool      AgentKind = "tool"      // a call of a tool: ID, Tool, Digest of its arguments
	AgentCommand   AgentKind = "command"   // a command that ended: ID, Command, Exit, Bytes and Digest of its output
	AgentEdit      AgentKind = "edit"      // a file that the agent says it changed: ID, Path
	AgentUsage     AgentKind = "usage"     // tokens: Usage
	AgentRetry     AgentKind = "retry"     // the program asks the model again: Text says why
	AgentError     AgentKind = "error"     // Text
	AgentRaw       AgentKind = "raw"       // a line that the adapter does not know: Bytes, Digest
	AgentSteer     AgentKind = "steer"     // what an operator told the agent: Text, Actor
	AgentResume    AgentKind = "resume"    // the turn was cut, and goes on in its session: Session, Text is the prompt
	AgentEnd       AgentKind = "end"       // the turn ended: Text is the last message, Code why it is no success
)

// AgentKinds are all kinds, in the order above.
var AgentKinds = []AgentKind{AgentSession, AgentMessage, AgentReasoning, AgentTool, AgentCommand, AgentEdit, AgentUsage,
	AgentRetry, AgentError, AgentRaw, AgentSteer, AgentResume, AgentEnd}

// AgentData is the data of the events of an agent's turn: what all backends' output is read as.
type AgentData struct {
	Kind    AgentKind    `json:"kind"`
	ID      string       `json:"id,omitzero"` // of the item, as the backend names it
	Text    string       `json:"text,omitzero"`
	Cut     int64        `json:"cut,omitzero"` // bytes of Text or Command that are only in the raw log
	Tool    string       `json:"tool,omitzero"`
	Digest  Digest       `json:"digest,omitzero"` // of a tool's arguments, a command's output, or a raw line
	Command string       `json:"command,omitzero"`
	Exit    *int         `json:"exit,omitempty"`
	Path    string       `json:"path,omitzero"` // as the backend says it
	Bytes   int64        `json:"bytes,omitzero"`
	Session string       `json:"session,omitzero"`
	Model   string       `json:"model,omitzero"`
	Actor   string       `json:"actor,omitzero"`
	Code    string       `json:"code,omitzero"` // one of CodeProvider…
	Why     string       `json:"why,omitzero"`
	Usage   *AgentTokens `json:"usage,omitempty"`
	// Files are, of an end, the raw logs of the turn and its diagnostic marker.
	Files []SealedFile `json:"files,omitempty"`
	// Carried says that the turn had this event in an earlier run, in which it was cut.
	Carried *CarriedData `json:"carried,omitempty"`

	Args   string `json:"-"`               // of a tool, as the backend says them
	Output string `json:"output,omitzero"` // of a command; the journal has its digest instead
}

// SteerData is what an operator says to an agent that works: now, or as a follow-up when its turn is over.
type SteerData struct {
	Text     string    `json:"text"`
	Actor    string    `json:"actor"`
	Time     time.Time `json:"time"`
	FollowUp bool      `json:"follow_up,omitzero"`
}

// How an agent was told, as Why of an AgentSteer says it.
const (
	SteerNow      = "now"
	SteerFollowUp = "follow-up"
	SteerTooLate  = "too late" // the agent had ended
)

// steerPrefix begins the names of files that steer a run. They are no part of the record: the events say what they
// said.
const steerPrefix = TempPrefix + "steer-"

// Steer leaves a text for the agent of a run that is alive.
func (r *Record) Steer(d SteerData) error {
	run, _, err := r.Load()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(run.Steps, func(s StepRecord) bool {
		return s.Step != nil && s.Finished == nil && strings.HasPrefix(s.Step.Kernel, AgentKernelPrefix)
	})
	if run.Completed != nil || at < 0 || !r.Alive() {
		return &notebooks.Error{Kind: notebooks.KindOption,
			Msg: fmt.Sprintf("no agent is at work in run %s: there is nobody to tell", run.ID)}
	}
	text, err := codec.Marshal(d)
	if err != nil {
		return err
	}
	return r.Write(fmt.Sprintf("%s%d", steerPrefix, d.Time.UnixNano()), text)
}

// TakeSteered takes what Steer has left, the oldest first, so that the agent is told once: only the run itself may.
// What cannot be read is dropped.
func (r *Record) TakeSteered() (list []SteerData) {
	files, _ := filepath.Glob(filepath.Join(r.path, steerPrefix+"*"))
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		d := SteerData{}
		if err == nil && os.Remove(file) == nil && codec.Unmarshal(text, &d) == nil {
			list = append(list, d)
		}
	}
	return list
}

// AgentTokens counts tokens. CostUSD is in US dollars, as the program reports it, 0 if it does not.
type AgentTokens struct {
	Input   int64   `json:"input"`
	Cached  int64   `json:"cached,omitzero"`
	Output  int64   `json:"output"`
	CostUSD float64 `json:"cost_usd,omitzero"`
}

// EligibilityData is the data of agent.eligibility: which backend may do a step, decided before anything runs.
type EligibilityData struct {
	DecisionID string `json:"decision_id"`
	// the backend that was asked for; "" left it to the choice
	Requested       string         `json:"requested,omitzero"`
	RequestedBy     string         `json:"requested_by,omitzero"` // the notebook, the environment, the request
	SelectedBackend string         `json:"selected_backend"`      // "" is none
	Denied          []DeniedAgent  `json:"denied,omitempty"`
	RiskClass       string         `json:"risk_class"`
	Gates           AgentGates     `json:"gates"`
	MutationMode    string         `json:"mutation_mode"`
	Approval        bool           `json:"approval"`            // the run needs an approval
	Escalation      string         `json:"escalation,omitzero"` // what an operator can do, where none was selected
	Backend         *AdmittedAgent `json:"backend,omitempty"`   // that was selected
	Marker          *SealedFile    `json:"marker,omitempty"`    // the diagnostic marker in backend/
}

// DeniedAgent is a backend that may not do a step.
type DeniedAgent struct {
	Backend string `json:"backend"`
	Code    string `json:"code"`
	Reason  string `json:"words"`
}

// AgentGates are the gates that a backend has to pass.
type AgentGates struct {
	Required []string `json:"required"`
	Passed   []string `json:"passed"`
	Missing  []string `json:"missing"`
}

// AdmittedAgent is a backend as markmill.yaml admits it.
type AdmittedAgent struct {
	Name        string   `json:"name"`
	Program     string   `json:"program"`
	Digest      Digest   `json:"digest"`
	Version     string   `json:"version,omitzero"`
	Model       string   `json:"model,omitzero"`
	Endpoint    string   `json:"endpoint,omitzero"`
	Network     string   `json:"network,omitzero"`      // of its step alone: open, namespace, landlock-tcp
	Credentials []string `json:"credentials,omitempty"` // names of variables
}

// BackendDir is the folder of a record with the raw logs and the diagnostic markers of agents.
const BackendDir = "backend"

// Marker is the name of the diagnostic marker for a code, without the folder; "" where there is none.
func Marker(code string) string {
	switch code {
	case CodeProviderAuth:
		return "provider-auth-unavailable.txt"
	case CodeProviderTimeout:
		return "provider-timeout.txt"
	case CodeProviderReasoningOnly:
		return "provider-reasoning-only.txt"
	case CodeProviderProtocol:
		return "provider-protocol.txt"
	case CodeProviderUnavailable, CodeProviderNotAdmitted, CodeProviderChanged, CodeProviderRateLimited,
		CodeProviderRefused, CodeProviderFailed:
		return "provider-unavailable.txt"
	}
	return ""
}

// IsTurn reports whether a type is of an event within an agent's turn.
func IsTurn(t EventType) bool {
	for _, kind := range AgentKinds {
		if t == AgentEventPrefix+EventType(kind) {
			return true
		}
	}
	return false
}

// Backends are those that did, or were to do, the agents' steps of a run, in the order of the plan, each once.
func (r *Run) Backends() (names []string) {
	for i := range r.Steps {
		if name := r.Steps[i].Backend(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Backend is who did an agent's step, or was to do it; "" for other steps.
func (s *StepRecord) Backend() string {
	e := s.Eligibility
	switch {
	case e == nil:
		return ""
	case e.SelectedBackend == "" && e.Requested == "" && len(e.Denied) > 0:
		return e.Denied[0].Backend
	}
	return cmp.Or(e.SelectedBackend, e.Requested)
}

// Tokens sums up what the backend of an agent's step reported; nil where it reported nothing.
func (s *StepRecord) Tokens() (sum *AgentTokens) {
	for _, e := range s.Turn {
		if e.Usage == nil {
			continue
		}
		if sum == nil {
			sum = &AgentTokens{}
		}
		sum.add(e.Usage)
	}
	return sum
}

func (t *AgentTokens) add(more *AgentTokens) {
	t.Input, t.Cached, t.Output = t.Input+more.Input, t.Cached+more.Cached, t.Output+more.Output
	t.CostUSD += more.CostUSD
}

// Tokens sums up what the backends of a run reported; nil where none reported anything.
func (r *Run) Tokens() (sum *AgentTokens) {
	for i := range r.Steps {
		if t := r.Steps[i].Tokens(); t != nil {
			if sum == nil {
				sum = &AgentTokens{}
			}
			sum.add(t)
		}
	}
	return sum
}

package scripted

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks/codec"
)

// Turn is one answer of the model. Think comes first, then Say, then Run or Tool; the others replace an answer.
type Turn struct {
	Think   int    `json:"think,omitempty"` // bytes of reasoning
	Say     string `json:"say,omitempty"`   // text
	Run     string `json:"run,omitempty"`   // a command line, for the agent's shell tool
	Tool    string `json:"tool,omitempty"`  // a tool of an MCP server, by the server's name for it, with Args
	Args    object `json:"args,omitempty"`
	Refuse  bool   `json:"refuse,omitempty"`  // the API's own word for a refusal, with Say
	Status  int    `json:"status,omitempty"`  // HTTP status of an error
	Once    bool   `json:"once,omitempty"`    // Status is of the first request alone
	Garbage bool   `json:"garbage,omitempty"` // a stream that is none
	Cut     bool   `json:"cut,omitempty"`     // the stream breaks off after half of the answer
	Hang    bool   `json:"hang,omitempty"`    // nothing comes until the client goes
	If      string `json:"if,omitempty"`      // the scenario goes on here when the conversation has this text
}

// Scenario is what the model does, turn by turn; after the last turn it repeats that.
type Scenario []Turn

//go:embed scenarios.json
var scenarios []byte

// Scenarios returns the scenarios by name.
func Scenarios() (map[string]Scenario, error) {
	var all map[string]Scenario
	if err := codec.Unmarshal(scenarios, &all); err != nil {
		return nil, fmt.Errorf("scenarios.json: %w", err)
	}
	return all, nil
}

// turn returns the turn that follows so many tool results in a conversation. A scenario that begins with If has several
// for as many tasks, and no results of one that was left.
func (s Scenario) turn(results int, conversation []byte) Turn {
	apart := s[0].If != ""
	for i, called := 0, 0; i < len(s); i++ {
		if s[i].If != "" && bytes.Contains(conversation, []byte(s[i].If)) {
			if !s[i].calls() {
				return s[i]
			}
			s, results = s[i:], max(results-called, 0)
			break
		}
		if s[i].calls() && !apart {
			called++
		}
	}
	if results >= len(s) {
		return s[len(s)-1]
	}
	return s[results]
}

// tool is one that a request offers.
type tool struct {
	Namespace string `json:"-"` // the server that has it, where the API says so apart
	Name      string `json:"name"`
}

// call is a tool that a turn calls.
type call struct {
	tool tool
	args any
}

// shellTools are the names of the tools that run commands.
var shellTools = []string{"exec_command", "Bash", "bash", "run_shell_command"}

// calls reports whether a turn calls a tool.
func (t *Turn) calls() bool { return t.Run != "" || t.Tool != "" }

// call is what a turn calls, of the tools that a request offers; nil where it calls none, or that one is not offered.
// Agents put the name of an MCP server before that of its tool, each in its own way.
func (t *Turn) call(tools []tool) *call {
	for _, offered := range tools {
		switch {
		case t.Run != "" && offered.Name == "exec_command":
			return &call{offered, object{"cmd": t.Run}}
		case t.Run != "" && slices.Contains(shellTools, offered.Name):
			return &call{offered, object{"command": t.Run, "description": "a scripted command"}}
		case t.Tool != "" && (offered.Name == t.Tool && offered.Namespace != "" ||
			strings.HasSuffix(offered.Name, "_"+t.Tool) && strings.Contains(offered.Name, "markmill")):
			return &call{offered, t.Args}
		}
	}
	return nil
}

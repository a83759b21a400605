package scripted

import (
	"bytes"
	_ "embed"
	"fmt"

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

package scripted

import (
	"bytes"
	_ "embed"
	"fmt"

	"markmill/notebooks/codec"
)

// Turn is one answer of the model. Think comes first, then Say, then Run; the others replace an answer.
type Turn struct {
	Think   int    `json:"think,omitempty"`   // bytes of reasoning
	Say     string `json:"say,omitempty"`     // text
	Run     string `json:"run,omitempty"`     // a command line, for the agent's shell tool
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

// turn returns the turn that follows so many tool results in a conversation.
func (s Scenario) turn(results int, conversation []byte) Turn {
	for i, runs := 0, 0; i < len(s); i++ {
		if s[i].If != "" && bytes.Contains(conversation, []byte(s[i].If)) {
			if s[i].Run == "" {
				return s[i]
			}
			s, results = s[i:], max(results-runs, 0)
			break
		}
		if s[i].Run != "" {
			runs++
		}
	}
	if results >= len(s) {
		return s[len(s)-1]
	}
	return s[results]
}

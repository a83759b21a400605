package agent

import (
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// turn is what all readers keep of a turn, to decide how it ended.
type turn struct {
	final    string // the last message
	code     string // why the turn is no success, by the program's own word
	why      string
	ended    bool // the program said that its turn is over
	messages int
	tools    int
	thoughts int
	unread   int // lines that are no JSON
}

// Ended reports whether the program has said that its turn is over.
func (t *turn) Ended() bool { return t.ended }

// note counts events, and keeps the last message.
func (t *turn) note(events []runs.AgentData) []runs.AgentData {
	for _, e := range events {
		switch e.Kind {
		case runs.AgentMessage:
			if strings.TrimSpace(e.Text) != "" {
				t.messages++
				t.final = e.Text
			}
		case runs.AgentTool, runs.AgentCommand, runs.AgentEdit:
			t.tools++
		case runs.AgentReasoning:
			t.thoughts++
		}
	}
	return events
}

// fail notes why the turn is no success; the first reason stays.
func (t *turn) fail(code, why string) {
	if t.code == "" {
		t.code, t.why = code, why
	}
}

// end is the event that ends the turn.
func (t *turn) end(exit int, stderr string) runs.AgentData {
	e := runs.AgentData{Kind: runs.AgentEnd, Text: t.final, Code: t.code, Why: t.why, Exit: &exit}
	stderr = strings.TrimSpace(stderr)
	switch {
	case e.Code != "":
	case !t.ended && exit != 0 && classify(stderr) != "":
		e.Code, e.Why = classify(stderr), lastLines(stderr)
	case !t.ended && t.unread > 0:
		e.Code, e.Why = runs.CodeProviderProtocol, "it printed lines that are no events, and no end of its turn"
	case !t.ended:
		e.Code, e.Why = runs.CodeProviderProtocol,
			strings.TrimSuffix("its events break off without an end of its turn: "+lastLines(stderr), ": ")
	case t.messages == 0 && t.tools == 0:
		e.Code, e.Why = runs.CodeProviderReasoningOnly, "the model gave neither an answer nor a tool call"
	case exit != 0:
		e.Code, e.Why = runs.CodeProviderFailed, fmt.Sprintf("the program ended with exit %d", exit)
	}
	return e
}

// lastLines is the end of what a program printed, in one line.
func lastLines(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}

// classify says by which code a program's message about a failed turn goes; "" where it says nothing known.
func classify(message string) string {
	m := strings.ToLower(message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(m, w) {
				return true
			}
		}
		return false
	}
	switch {
	case m == "":
		return ""
	case has("no final response"):
		return runs.CodeProviderReasoningOnly
	case has("401", "403", "unauthorized", "authentication", "invalid api key", "api key not", "not logged in",
		"/login"):
		return runs.CodeProviderAuth
	case has("429", "rate limit", "too many requests", "quota", "overloaded"):
		return runs.CodeProviderRateLimited
	case has("usage policy", "content filter", "contentfilter", "refus", "safety"):
		return runs.CodeProviderRefused
	case has("stream", "utf", "json", "parse", "disconnect", "terminated", "socket", "unexpected", "malformed",
		"invalid", "incomplete", "empty", "closed", "econnreset", "no response", "connection"):
		return runs.CodeProviderProtocol
	}
	return ""
}

// failureCode is classify with a code for everything.
func failureCode(message string) string {
	if code := classify(message); code != "" {
		return code
	}
	return runs.CodeProviderFailed
}

// object reads a line that is a JSON object; false for any other.
func object(line []byte, into any) bool {
	return len(line) > 0 && line[0] == '{' && codec.Unmarshal(line, into) == nil
}

// raw is a line that the reader does not know.
func raw(line []byte) []runs.AgentData {
	return []runs.AgentData{{Kind: runs.AgentRaw, Bytes: int64(len(line)), Digest: runs.DigestOf(line)}}
}

// unread is a line that is no JSON object; an empty one is nothing.
func (t *turn) notEvent(line []byte) []runs.AgentData {
	if len(strings.TrimSpace(string(line))) == 0 {
		return nil
	}
	t.unread++
	return raw(line)
}

func one(e runs.AgentData) []runs.AgentData { return []runs.AgentData{e} }

// reasoned is reasoning, of which only the size is kept.
func reasoned(text string) runs.AgentData {
	return runs.AgentData{Kind: runs.AgentReasoning, Bytes: int64(len(text))}
}

// output describes what a command printed: its size, its end for the transcript.
func output(e runs.AgentData, text string) runs.AgentData {
	e.Bytes, e.Output = int64(len(text)), text
	return e
}

package agent

import (
	"strings"

	"markmill/runs"
)

// command is a program of the configuration.
type command struct {
	name string
	args []string
}

func (c command) Name() string        { return c.name }
func (command) Program() string       { return "" }
func (command) Tested() []string      { return nil }
func (command) Credentials() []string { return nil }

func (c command) Call(t Turn) Call {
	env := []string{"MARKMILL_AGENT_MODEL=" + t.Model, "MARKMILL_AGENT_ENDPOINT=" + t.Endpoint,
		"MARKMILL_AGENT_SESSION=" + t.Session}
	return Call{Args: c.args, Env: env, Input: []byte(t.Prompt)}
}

func (command) Reader() Reader { return &commandReader{} }

// commandReader reads JSON lines in the form of runs.AgentData. Other lines are what the agent says.
type commandReader struct {
	turn
	text strings.Builder // lines that are no events
}

func (r *commandReader) Line(line []byte) []runs.AgentData {
	var e runs.AgentData
	if !object(line, &e) || e.Kind == "" {
		r.text.Write(line)
		r.text.WriteByte('\n')
		return nil
	}
	switch e.Kind {
	case runs.AgentReasoning:
		e = runs.AgentData{Kind: e.Kind, Bytes: e.Bytes + int64(len(e.Text))}
	case runs.AgentCommand:
		e.Bytes = int64(len(e.Output))
	case runs.AgentEnd:
		r.ended = true
		if e.Code != "" {
			r.fail(e.Code, e.Why)
		}
		return r.said()
	case runs.AgentSession, runs.AgentMessage, runs.AgentTool, runs.AgentEdit, runs.AgentUsage, runs.AgentRetry,
		runs.AgentError:
	default:
		return append(r.said(), raw(line)...)
	}
	return r.note(append(r.said(), e))
}

// said is the text so far.
func (r *commandReader) said() []runs.AgentData {
	text := strings.TrimSpace(strings.ToValidUTF8(r.text.String(), "�"))
	r.text.Reset()
	if text == "" {
		return nil
	}
	return r.note(one(runs.AgentData{Kind: runs.AgentMessage, Text: text}))
}

func (r *commandReader) End(exit int, stderr string) []runs.AgentData {
	out := r.said()
	r.ended = r.ended || exit == 0
	if r.thoughts == 0 { // a program need not say anything
		r.messages++
	}
	if !r.ended {
		r.fail(failureCode(lastLines(stderr)), lastLines(stderr))
	}
	return append(out, r.end(exit, stderr))
}

package agent

import (
	"slices"
	"strings"

	"markmill/runs"
)

// Backend is how to call an agent's program and how to read what it prints. It is stateless and shared by all runs.
type Backend interface {
	// Name is the word that selects it: "claude", "codex".
	Name() string
	// Program is the program's usual name, to be found on PATH; "" for a command of the configuration.
	Program() string
	// Tested names the versions of the program that the adapter was tested with.
	Tested() []string
	// Credentials are the environment variables that usually hold the program's credentials; none means that it needs
	// none.
	Credentials() []string
	// Call returns how the program is started for a turn.
	Call(Turn) Call
	// Reader returns what reads the output of one turn.
	Reader() Reader
}

// Turn is what a program is asked for: one prompt, which it works on until it is done.
type Turn struct {
	Prompt   string
	Session  string // of the backend, to be continued; "" begins a new one
	Model    string // "" is the program's own choice
	Endpoint string // base URL of the model's API; "" is the program's own
	Home     string // an empty folder of this step's own, absolute: the program's HOME
	Tmp      string // where it may leave temporary files, absolute
	Key      string // name of the environment variable that holds the credentials; "" without
}

// Call is how a program is started.
type Call struct {
	Args  []string // after the program's own name
	Env   []string // NAME=value, in addition to what every step gets
	Input []byte   // first on standard input, a pipe
	// Steer returns what is written to standard input to tell a running turn more; nil where a program takes nothing
	// more. Standard input then stays open until the turn has ended.
	Steer func(text string) []byte
	Files map[string][]byte // by path below Home, slash-separated, written before the start
}

// Reader reads what one turn prints.
type Reader interface {
	// Line returns the events of one line of standard output, without its end.
	Line(line []byte) []runs.AgentData
	// Ended reports whether the program has said that its turn is over.
	Ended() bool
	// End returns the events that follow from how the program ended: its exit code, and the end of its standard error.
	// The last one is the only runs.AgentEnd of the turn.
	End(exit int, stderr string) []runs.AgentData
}

// Table returns the backends. A new one is one file and one line here. Commands of the configuration are not in it: see
// NewCommand.
func Table() []Backend {
	return []Backend{claude{}, codex{}, gemini{}, opencode{}}
}

// Find returns the backend of a name.
func Find(name string) (Backend, bool) {
	table := Table()
	i := slices.IndexFunc(table, func(b Backend) bool { return b.Name() == name })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// NewCommand returns the backend of a program of the configuration: it gets the prompt on standard input, and prints
// text, or events as JSON lines in the form of runs.AgentData.
func NewCommand(name string, args []string) Backend { return command{name, slices.Clone(args)} }

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

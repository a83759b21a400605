package agent

import (
	"slices"

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

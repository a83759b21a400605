package agent

// Backend is how to call an agent's program and how to read what it prints. It is stateless and shared by all runs.
type Backend interface {
	// Name is the word that selects it: "claude", "codex".
	Name() string
	// Program is the program's usual name, to be found on PATH.
	Program() string
	// Tested names the versions of the program that the adapter was tested with.
	Tested() string
	// Credentials are the environment variables of which one must be set for the program to sign in; none means that it
	// needs no credentials.
	Credentials() []string
	// Call returns how the program is started for a turn.
	Call(Turn) (Call, error)
	// Reader returns what reads the output of one turn.
	Reader() Reader
	// Steer returns what is written to the standard input of a running turn to hand it a message, or false if the
	// program cannot be told anything before its turn ends.
	Steer(text string) (input []byte, ok bool)
}

// Turn is what a program is asked for: one prompt, which it works on until it is done.
type Turn struct {
	Prompt  string
	Session string // of the backend, to be continued; "" begins a new one
	Model   string // "" is the program's own choice
	// Endpoint is the base URL of the model's API, "" for the program's own.
	Endpoint string
	// Home is an empty folder of this step's own, absolute: the program's HOME. It stays for the turns of one session.
	Home string
	Dir  string // the worktree, absolute
	// Key is the name of the environment variable that holds the credentials; it is one of Credentials, or "".
	Key string
}

// Call is how a program is started.
type Call struct {
	Args  []string          // after the program's own name
	Env   []string          // NAME=value, in addition to what every step gets
	Input []byte            // first on standard input
	Open  bool              // standard input stays open after Input, for Steer, until the turn ends
	Files map[string][]byte // by path below Home, written before the start, for the user alone
}

// Reader reads what one turn prints.
type Reader interface {
	// Line returns the events of one line of standard output, without its end.
	Line(line []byte) []Event
	// End returns the events that follow from how the program ended: its exit code, and the end of its standard error.
	// The last one is of KindEnd.
	End(exit int, stderr []byte) []Event
}

// Kind is what an event says. The words are those of the journal's types without "agent.".
type Kind string

// The kinds.
const (
	KindSession   Kind = "session"   // the backend's session: Session, Model
	KindMessage   Kind = "message"   // what the agent says: Text
	KindReasoning Kind = "reasoning" // withheld: only Bytes
	KindTool      Kind = "tool"      // a call of a tool: ID, Tool, Digest of its arguments
	KindCommand   Kind = "command"   // a command that ended: ID, Command, Exit, Text is its output
	KindEdit      Kind = "edit"      // a file that the agent says it changed: ID, Path
	KindUsage     Kind = "usage"     // tokens so far
	KindRetry     Kind = "retry"     // the program asks the model again: Text says why
	KindError     Kind = "error"     // Code, Text
	KindEnd       Kind = "end"       // the turn ended: Text is the final answer, Code why it is no success, or ""
	KindRaw       Kind = "raw"       // a line that the reader does not know: Text
)

// Event is what all backends' output is read as.
type Event struct {
	Kind    Kind   `json:"kind"`
	ID      string `json:"id,omitempty"` // of the item, as the backend names it
	Text    string `json:"text,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Digest  string `json:"digest,omitempty"` // SHA-256 of the arguments, "sha256:…"
	Command string `json:"command,omitempty"`
	Exit    *int   `json:"exit,omitempty"`
	Path    string `json:"path,omitempty"` // as the backend says it
	Bytes   int    `json:"bytes,omitempty"`
	Session string `json:"session,omitempty"`
	Model   string `json:"model,omitempty"`
	Code    string `json:"code,omitempty"` // one of the codes below
	Usage   *Usage `json:"usage,omitempty"`
}

// Usage counts tokens. Cost is in US dollars, as the program reports it, 0 if it does not.
type Usage struct {
	Input       int64   `json:"input"`
	CachedInput int64   `json:"cached_input,omitempty"`
	Output      int64   `json:"output"`
	Cost        float64 `json:"cost_usd,omitempty"`
}

// Why a turn is no success. The engine adds provider_timeout and provider_unavailable, which no output shows.
const (
	CodeAuth          = "provider_auth_unavailable" // no credentials, or refused ones
	CodeRateLimited   = "provider_rate_limited"     // the program gave up asking
	CodeProtocol      = "provider_protocol"         // output that is no stream of events, or one that breaks off
	CodeReasoningOnly = "provider_reasoning_only"   // neither an answer nor a tool call
	CodeRefused       = "provider_refused"          // the model refused the task
	CodeFailed        = "provider_failed"           // the program reported another error
)

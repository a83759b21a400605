package kernel

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"markmill/engine/agent"
	"markmill/notebooks"
	"markmill/runs"
)

// Agent is a kernel whose steps are prompts: it starts the program of a backend for each, in a home of its own.
type Agent struct {
	Backend  agent.Backend
	Program  string // path
	Version  string // as it was admitted
	Model    string
	Endpoint string
	Keys     []string // environment variables with credentials: NAME=value
	Offline  bool     // it is to have no network; the caller sees to it
	// StartLimit is how long the program may take to its first line of output, and IdleLimit how long it may print
	// nothing after that.
	StartLimit, IdleLimit time.Duration
}

func (k *Agent) Name() string { return runs.AgentKernelPrefix + k.Backend.Name() }

// Languages returns nothing: which agent runs a fence of the language agent is decided by the engine.
func (k *Agent) Languages() []string { return nil }

// ValidateParam accepts all: parameters do not reach the program.
func (k *Agent) ValidateParam(notebooks.Bound) error { return nil }

// Speaks reports whether the kernel is for a language.
func (k *Agent) Speaks(lang string) bool { return lang == AgentLanguage }

// AgentLanguage is the language of a fence whose text is a prompt.
const AgentLanguage = "agent"

// agentSession starts a program for each turn, as a command does.
type agentSession struct {
	*commandSession
	agent *Agent
	base  []string // environment of every turn
	steps int
}

// Start finds the program; nothing runs before the first turn. What a turn leaves running ends with it.
func (k *Agent) Start(ctx context.Context, o Options) (Session, error) {
	o.Program, o.Params, o.EndWithStep = k.Program, nil, true
	c, err := (&command{name: k.Name(), argv: []string{k.Program}}).Start(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &agentSession{commandSession: c.(*commandSession), agent: k}
	s.base = append(s.base, s.env...)
	return s, nil
}

func (s *agentSession) Info() Info {
	return Info{Program: s.path, Version: s.agent.Version, PID: s.last}
}

// Run runs a step. The request's code is the prompt of its first turn; what an operator asks for after a turn, or
// during one whose program takes nothing more, is the prompt of another, in the same session of the backend.
func (s *agentSession) Run(ctx context.Context, r Request) (Outcome, error) {
	s.steps++
	home := cmp.Or(r.Turn.Home, filepath.Join(s.o.Private, fmt.Sprintf("home-%d", s.steps)))
	to := &steered{Turn: r.Turn, transcript: r.Stdout}
	t := agent.Turn{Prompt: string(r.Code), Model: s.agent.Model, Endpoint: s.agent.Endpoint, Home: home, Tmp: s.tmp(),
		Key: s.key()}
	if r.Turn.Session != "" {
		t.Prompt, t.Session, to.session = r.Turn.Prompt, r.Turn.Session, r.Turn.Session
	}
	for {
		out, err := s.turn(ctx, r, t, to)
		if err != nil || ctx.Err() != nil || out.End[len(out.End)-1].Code != "" {
			return out, err
		}
		more := to.waiting()
		if more == "" || to.session == "" {
			return out, nil
		}
		for _, e := range out.End[:len(out.End)-1] {
			if to.Event != nil {
				to.Event(e)
			}
		}
		t.Prompt, t.Session = more, to.session
	}
}

// turn runs the program once.
func (s *agentSession) turn(ctx context.Context, r Request, t agent.Turn, to *steered) (out Outcome, err error) {
	call := s.agent.Backend.Call(t)
	if err := writeHome(t.Home, call.Files); err != nil {
		return Outcome{}, err
	}
	s.kernel.argv = append([]string{s.path}, call.Args...)
	s.env = append(s.base[:len(s.base):len(s.base)], "HOME="+t.Home)
	for name, below := range map[string]string{"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache",
		"XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_RUNTIME_DIR": ".run"} {
		s.env = append(s.env, name+"="+filepath.Join(t.Home, filepath.FromSlash(below)))
	}
	s.env = lastSettings(append(append(s.env, s.agent.Keys...), call.Env...)) // some programs take the first of two
	feed := &feed{reader: s.agent.Backend.Reader(), to: to, last: time.Now()}
	if s.stdin, feed.input, err = os.Pipe(); err != nil { // claude reads nothing from a file
		return Outcome{}, err
	}
	defer feed.input.Close()
	limited, stop := s.watch(ctx, feed, call)
	defer stop()
	go feed.ask(call)
	r.Code, r.Stdout, r.Stderr = call.Input, feed, feed.stderr()
	if out, err = s.commandSession.Run(limited, r); err != nil {
		return out, err
	}
	feed.flush()
	out.End = feed.reader.End(out.Exit, feed.tail.text())
	end := &out.End[len(out.End)-1]
	switch cause := context.Cause(limited); {
	case out.TerminatedBy != "" && ctx.Err() == nil && limited.Err() != nil, out.TerminatedBy == "timeout":
		out.TerminatedBy = "timeout"
		if end.Code != runs.CodeProviderAuth { // that is why it took so long
			end.Code, end.Why = runs.CodeProviderTimeout, cause.Error()
		}
	case out.TerminatedBy != "":
		end.Code, end.Why = "", "ended by "+out.TerminatedBy
	}
	for _, e := range out.End {
		to.show(e)
	}
	if end.Code != "" && out.Exit == 0 {
		out.Exit = 1
	}
	return out, nil
}

// tmp is the folder for temporary files that steps have.
func (s *agentSession) tmp() string {
	for _, v := range s.base {
		if dir, ok := strings.CutPrefix(v, "TMPDIR="); ok {
			return dir
		}
	}
	return s.o.Private
}

// key names the first variable with credentials.
func (s *agentSession) key() string {
	if len(s.agent.Keys) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(s.agent.Keys[0], "=")
	return name
}

// writeHome makes the folder that a turn has as its home, with the backend's configuration alone.
func writeHome(home string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Join(home, ".run"), 0o700); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// watch is a context that also ends when the program prints nothing for too long; and hands on what operators say
// meanwhile. The clock is the system's, as for every limit.
func (s *agentSession) watch(ctx context.Context, f *feed, call agent.Call) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			silent, lines := f.silence()
			most, words := s.agent.StartLimit,
				fmt.Errorf("the program printed nothing within %s of its start", s.agent.StartLimit)
			if lines {
				most, words = s.agent.IdleLimit, fmt.Errorf("the program printed nothing for %s", s.agent.IdleLimit)
			}
			if silent >= most {
				cancel(words)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(most-silent, lookEvery)): // the other limit may hold by then
			}
			f.steer(call)
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// lookEvery is how often a turn looks whether an operator has something to say.
const lookEvery = 200 * time.Millisecond

// steered hands on the events of all turns of a step, and keeps what operators want to say in the next one.
type steered struct {
	Turn
	transcript io.Writer

	mu      sync.Mutex
	session string
	later   []string
}

// tell hands on an event; one at a time.
func (t *steered) tell(e runs.AgentData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Kind == runs.AgentSession {
		t.session = e.Session
	}
	io.WriteString(t.transcript, runs.Transcript(e))
	if t.Event != nil {
		t.Event(e)
	}
}

// show writes an event to the transcript alone.
func (t *steered) show(e runs.AgentData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	io.WriteString(t.transcript, runs.Transcript(e))
}

// waiting is what operators want to say now that a turn is over; "" if nothing.
func (t *steered) waiting() string {
	for _, s := range t.take() {
		t.keep(s)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(t.later, "\n\n")
	t.later = nil
	return text
}

func (t *steered) take() []runs.SteerData {
	if t.Steer == nil {
		return nil
	}
	return t.Steer()
}

// keep keeps a text for the next turn, and records who said it.
func (t *steered) keep(s runs.SteerData) {
	t.tell(runs.AgentData{Kind: runs.AgentSteer, Text: s.Text, Actor: s.Actor, Why: runs.SteerFollowUp})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.later = append(t.later, s.Text)
}

// feed cuts a program's output into lines and hands on what they say.
type feed struct {
	reader agent.Reader
	to     *steered
	input  *os.File     // the program's standard input
	line   bytes.Buffer // without its end so far
	tail   tail         // of standard error

	mu     sync.Mutex
	last   time.Time // when it printed something
	lines  bool      // it has printed a line
	closed bool      // its input
}

// longestLine bounds the memory of a line. A longer one is read in pieces, which are no events.
const longestLine = 64 << 20

func (f *feed) Write(b []byte) (int, error) {
	n := len(b)
	f.heard(bytes.IndexByte(b, '\n') >= 0)
	if f.to.Raw != nil {
		if _, err := f.to.Raw.Write(b); err != nil {
			return 0, err
		}
	}
	for {
		head, rest, ended := bytes.Cut(b, []byte{'\n'})
		f.line.Write(head)
		if !ended {
			break
		}
		f.flush()
		b = rest
	}
	if f.line.Len() > longestLine {
		f.flush()
	}
	return n, nil
}

// flush reads the line so far.
func (f *feed) flush() {
	for _, e := range f.reader.Line(bytes.TrimSuffix(f.line.Bytes(), []byte{'\r'})) {
		f.to.tell(e)
	}
	f.line.Reset()
	if f.reader.Ended() {
		f.over()
	}
}

// over closes the program's input.
func (f *feed) over() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.input.Close()
}

// steer hands on what operators say: to the program, if it listens, else to the next turn.
func (f *feed) steer(call agent.Call) {
	for _, s := range f.to.take() {
		f.mu.Lock()
		now := call.Steer != nil && !s.FollowUp && !f.closed && f.lines
		if now {
			_, err := f.input.Write(call.Steer(s.Text))
			now = err == nil
		}
		f.mu.Unlock()
		if !now {
			f.to.keep(s)
			continue
		}
		f.to.tell(runs.AgentData{Kind: runs.AgentSteer, Text: s.Text, Actor: s.Actor, Why: runs.SteerNow})
	}
}

// ask writes the prompt. A program that ends without reading it says so by its events. The input stays open only where
// the backend can be told more.
func (f *feed) ask(call agent.Call) {
	_, _ = f.input.Write(call.Input)
	if call.Steer == nil {
		f.over()
	}
}

func (f *feed) heard(line bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.lines = time.Now(), f.lines || line
}

func (f *feed) silence() (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.last), f.lines
}

// stderr keeps the program's log, and its end for the reader.
func (f *feed) stderr() io.Writer {
	if f.to.Log == nil {
		return &f.tail
	}
	return io.MultiWriter(&f.tail, f.to.Log)
}

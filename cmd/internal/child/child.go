// Package child starts the program markmill for its servers, that of markmill mcp serve and the workbench, and says
// which paths their clients may name. What changes something is a command, with the same checks and records; what only
// reads is read through the packages instead.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"markmill/render/plain"
)

const (
	MaxDocument = 32 << 20        // bytes of a document of --json
	maxWords    = 16 << 10        // bytes of what a program says on standard error
	endTime     = 2 * time.Minute // that an interrupted run has for its record and its finally steps
)

// Program is markmill, called in one folder.
type Program struct {
	Path  string
	Dir   string
	Slots chan struct{} // bounds the calls at the same time; further ones wait
}

// ActorVariable tells the program for which person it is called.
const ActorVariable = "MARKMILL_ACTOR"

type actorKey struct{}

// As makes calls with the context on behalf of a person, whom records then name. "" is the user.
func As(ctx context.Context, person string) context.Context {
	return context.WithValue(ctx, actorKey{}, person)
}

// Environ is the environment of a program that is called with a context: that of this one, with the person of As.
func Environ(ctx context.Context) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, ActorVariable+"=") })
	if person, _ := ctx.Value(actorKey{}).(string); person != "" {
		env = append(env, ActorVariable+"="+person)
	}
	return env
}

// Call is one call of the program.
type Call struct {
	Stdin []byte
	To    io.Writer // its standard output
	Args  []string
}

// Do starts the program and waits for its end. When ctx ends, the program is interrupted, as by Ctrl-C. It
// returns the exit code, and the end of what the program said on standard error.
func (p *Program) Do(ctx context.Context, c Call) (code int, words string, err error) {
	select {
	case p.Slots <- struct{}{}:
		defer func() { <-p.Slots }()
	case <-ctx.Done():
		return 0, "", context.Cause(ctx)
	}
	said := &end{}
	cmd := exec.CommandContext(ctx, p.Path, c.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, bytes.NewReader(c.Stdin), c.To, said
	cmd.Env = Environ(ctx)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = endTime
	apart(cmd)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel ends the program with the thread that started it
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	err = <-done
	if ctx.Err() != nil {
		return 0, said.String(), context.Cause(ctx)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), said.String(), nil
	}
	return 0, said.String(), err
}

// Document returns the document that a command prints with --json. A document that says what is wrong with the call
// itself becomes an error.
func (p *Program) Document(ctx context.Context, args ...string) ([]byte, error) {
	var out Most
	code, words, err := p.Do(ctx, Call{Args: args, To: &out})
	switch {
	case err != nil:
		return nil, err
	case out.Over:
		return nil, fmt.Errorf("the answer is longer than %d bytes; ask for less", MaxDocument)
	}
	doc := bytes.TrimSpace(out.Bytes())
	if len(doc) == 0 || doc[0] != '{' || bytes.HasPrefix(doc, []byte("{\n  \"schema\": \"markmill.error/")) {
		return nil, Said(code, words)
	}
	return doc, nil
}

// Plain is what a terminal would show of a text: what moves within a line is done, and control characters are gone.
func Plain(text []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(text) {
		body, ended := bytes.CutSuffix(line, []byte("\n"))
		b.WriteString(plain.Line(body))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Said makes an error of what the program said.
func Said(code int, words string) error {
	if words == "" {
		return fmt.Errorf("markmill ended with exit code %d and said nothing", code)
	}
	var lines []string
	for line := range strings.Lines(Plain([]byte(words))) {
		lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "markmill: "))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Most keeps what is written, up to a limit.
type Most struct {
	bytes.Buffer
	Over bool
}

func (m *Most) Write(p []byte) (int, error) {
	if m.Over = m.Over || m.Len()+len(p) > MaxDocument; !m.Over {
		m.Buffer.Write(p)
	}
	return len(p), nil
}

// end keeps the last bytes of what is written.
type end struct{ last []byte }

func (e *end) Write(p []byte) (int, error) {
	e.last = append(e.last, p[max(0, len(p)-maxWords):]...)
	if over := len(e.last) - maxWords; over > 0 {
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return len(p), nil
}

func (e *end) String() string { return string(e.last) }

//go:build unix

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
)

// shellSession is a shell that is started anew, with its state, when a step ends it.
type shellSession struct {
	*live
	kernel *shell
	ran    []byte // code of all steps, kept where a restart has to say what it lost
}

// Start starts the shell with its driver.
func (k *shell) Start(ctx context.Context, o Options) (Session, error) {
	if err := canHoldAll(k, o.Params); err != nil {
		return nil, err
	}
	program := o.Program
	if program == "" {
		program = k.name
	}
	l, err := newLive(o, k.name, program, append(append([]string{}, k.args...), "-c", k.loop, k.name, k.text(o)))
	if err != nil {
		return nil, err
	}
	l.insist = true
	s := &shellSession{live: l, kernel: k}
	l.revives = func() bool { _, whole := s.state(); return whole }
	if err := s.write("params", k.params(o.Params)); err != nil {
		s.close()
		return nil, err
	}
	err = s.start(ctx)
	os.Remove(s.path("params")) // it may hold secrets
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *shellSession) Info() Info   { return s.info() }
func (s *shellSession) Alive() bool  { return !s.proc.over() }
func (s *shellSession) Close() error { return s.close() }

// Run runs one step.
func (s *shellSession) Run(ctx context.Context, r Request) (Outcome, error) {
	if out, over := s.before(ctx); over {
		return out, nil
	}
	if err := s.hand(r); err != nil {
		return Outcome{}, err
	}
	e, err := s.step(ctx, r.Stdout, r.Stderr)
	out := e.outcome()
	if err != nil {
		return out, err
	}
	if out.Exit != 0 || s.proc.over() {
		said, _ := os.ReadFile(s.path(fileFailed)) // a driver that says nothing, or half of it, is no failure of ours
		os.Remove(s.path(fileFailed))
		if out.Exit != 0 {
			out.Failed = failedCommand(said, r, out.Exit)
		}
	}
	s.settle()
	if s.proc.over() {
		err = s.restart(&out)
	}
	return out, err
}

// hand puts the step where the driver reads it: name, what stands before the code so that line
// numbers are the notebook's, directory and environment; and the code itself.
func (s *shellSession) hand(r Request) error {
	if s.kernel.name == "sh" {
		s.ran = append(append(s.ran, r.Code...), '\n')
	}
	name := r.File
	if name == "" {
		name = s.kernel.name
	}
	var meta bytes.Buffer
	for _, v := range []string{name, strings.Repeat("\n", max(r.Line-1, 0)), r.Dir} {
		s.kernel.encode(&meta, v)
	}
	for _, name := range sortedNames(r.Env) {
		if !shellName.MatchString(name) {
			return fmt.Errorf("the environment variable %q has a name that a shell cannot hold", name)
		}
		s.kernel.encode(&meta, name)
		s.kernel.encode(&meta, r.Env[name])
	}
	s.kernel.encode(&meta, "")
	code := bytes.ReplaceAll(r.Code, []byte{0}, nil) // as a shell does with a script
	s.kernel.encode(&meta, string(code))
	return s.order(meta.Bytes(), "")
}

// state is what a shell kept of itself when it ended, and whether that is all.
func (s *shellSession) state() (state []byte, whole bool) {
	state, err := os.ReadFile(s.path(fileState))
	return state, err == nil && bytes.HasSuffix(state, []byte("__mm_whole=1\n"))
}

// restart brings the shell back that the author's code ended, if it could keep its state.
func (s *shellSession) restart(out *Outcome) error {
	if _, whole := s.state(); !whole {
		out.Died = true
		return nil
	}
	err := s.start(context.Background())
	os.Remove(s.path(fileState))
	if err != nil {
		out.Died = true
		return fmt.Errorf("starting the shell again after a step had ended it: %w", err)
	}
	out.Restarted = true
	out.Lost = s.kernel.loses(s.ran)
	return nil
}

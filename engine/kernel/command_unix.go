//go:build unix

package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// commandSession runs its program once a step.
type commandSession struct {
	kernel *command
	o      Options
	path   string // of the program
	tag    string
	env    []string
	out    *pipe
	err    *pipe
	sweep  *sweeper
	dir    string
	last   int // process of the last step
}

// Start finds the program; nothing runs before the first step.
func (k *command) Start(_ context.Context, o Options) (Session, error) {
	if len(k.argv) == 0 {
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, Msg: "the kernel " + k.name + " has no command", Hint: "give it one in markmill.yaml"}
	}
	if err := canHoldAll(k, o.Params); err != nil {
		return nil, err
	}
	program := o.Program
	if program == "" {
		program = k.argv[0]
	}
	path, err := lookProgram(program, o.Dir, o.Env)
	if err != nil {
		return nil, missing(k.name, program, err)
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	o.Mark = o.Mark.session()
	s := &commandSession{kernel: k, o: o, path: path, dir: o.Dir}
	s.tag, s.env = tagged(o.Env, o.Mark)
	s.sweep = newSweeper(s.tag, o.Mark)
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *commandSession) prepare() (err error) {
	object := map[string]codec.Raw{}
	for _, b := range s.o.Params {
		object[b.Param.Name] = b.Value.JSON()
		if name, ok := paramVariable(b); ok {
			s.env = append(s.env, name+"="+shellText(b.Value))
		}
		if b.Value.Type == notebooks.TypeSecret { // the JSON form masks it
			if object[b.Param.Name], err = codec.Marshal(b.Value.Text); err != nil {
				return err
			}
		}
	}
	content, err := codec.Marshal(object)
	if err != nil {
		return err
	}
	params := filepath.Join(s.o.Private, "params.json")
	if err := os.WriteFile(params, content, 0o600); err != nil {
		return err
	}
	s.env = append(s.env, "MARKMILL_PARAMS="+params)
	if s.out, err = newStream(s.o.Private, fileOut); err != nil {
		return err
	}
	s.err, err = newStream(s.o.Private, fileErr)
	return err
}

func (s *commandSession) Info() Info  { return Info{Program: s.path, PID: s.last} }
func (s *commandSession) Alive() bool { return true }

// Bind has nothing to do: every step is a process of its own, and has had the values from its start.
func (s *commandSession) Bind(context.Context, []notebooks.Bound) error { return nil }

// EndStarted ends what the last step started and left running.
func (s *commandSession) EndStarted() {
	s.sweep.sweepStep(s.o.Grace)
	s.sweep.left()
}

// Running lists the session's processes; its interpreter has ended with the step.
func (s *commandSession) Running() (own []int, left []Process) { return nil, s.sweep.running() }

func (s *commandSession) Close() error {
	s.sweep.sweep(s.o.Grace)
	for _, p := range []*pipe{s.out, s.err} {
		if p != nil {
			p.close()
			os.Remove(p.path)
		}
	}
	os.Remove(filepath.Join(s.o.Private, "params.json")) // it may hold secrets
	return nil
}

// Run runs the program on one step's code.
func (s *commandSession) Run(ctx context.Context, r Request) (Outcome, error) {
	if ctx.Err() != nil {
		return Outcome{Exit: 130, TerminatedBy: reason(ctx)}, nil
	}
	if r.Dir != "" {
		if _, err := os.Stat(r.Dir); err != nil {
			fmt.Fprintln(r.Stderr, err)
			return Outcome{Exit: 1}, nil
		}
		s.dir = r.Dir
	}
	p, err := s.launch(r)
	if err != nil {
		return Outcome{}, err
	}
	finish := pumpBoth(s.out, s.err, r.Stdout, r.Stderr)
	s.sweep.begin()
	by := ""
	select {
	case <-p.ended:
	case <-ctx.Done():
		by = reason(ctx)
		s.force(p)
	}
	s.sweep.bereave()
	var out Outcome
	switch {
	case s.o.EndWithStep:
		out.Leftover = s.sweep.sweep(s.o.Grace)
	case by != "":
		out.Leftover = s.sweep.sweepStep(s.o.Grace)
	}
	out.Left = s.sweep.left()
	var signal string
	out.Exit, signal = p.exit()
	switch {
	case by != "":
		out.TerminatedBy = by
		if out.Exit == 0 {
			out.Exit = 130 // what the engine ended is never a success
		}
	case signal != "":
		out.TerminatedBy = "signal " + signal
	}
	if err := finish(); err != nil {
		return out, fmt.Errorf("handing on the output of a step: %w", err)
	}
	return out, nil
}

func (s *commandSession) launch(r Request) (*process, error) {
	ext, inFile := s.kernel.extension()
	file := filepath.Join(s.o.Private, "step"+ext)
	if err := os.WriteFile(file, r.Code, 0o600); err != nil {
		return nil, err
	}
	input := file
	if inFile {
		input = os.DevNull
	}
	stdin, err := os.Open(input)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	stdout, err := s.out.writer()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := s.err.writer()
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	env := append([]string{}, s.env...)
	for _, name := range sortedNames(r.Env) {
		env = append(env, name+"="+r.Env[name])
	}
	argv := append([]string{s.path}, s.kernel.arguments(ext, file)[1:]...)
	exe := s.path
	if len(s.o.Wrap) > 0 {
		argv = append(append([]string{}, s.o.Wrap...), argv...)
		if exe, err = lookProgram(s.o.Wrap[0], s.o.Dir, s.o.Env); err != nil {
			return nil, missing(s.kernel.name, s.o.Wrap[0], err)
		}
	}
	p, err := launch(exe, argv, env, s.dir, []*os.File{stdin, stdout, stderr}, s.o)
	if err != nil {
		return nil, missing(s.kernel.name, exe, err)
	}
	s.last = p.pid
	s.sweep.adopt(p.pid, p.pid)
	return p, nil
}

// force ends the program: an interrupt to its group, a term, then a kill to all it started.
func (s *commandSession) force(p *process) {
	s.sweep.signalStep(syscall.SIGINT, false)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.ended:
			return
		case <-time.After(s.o.Grace):
			s.sweep.signalStep(sig, true)
		}
	}
	<-p.ended
}

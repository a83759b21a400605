package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"markmill/engine/kernel/jupyter"
	"markmill/engine/process"
	"markmill/notebooks"
	"markmill/notebooks/inject"
)

// remote is a kernel that a Jupyter Server runs. Nothing of the worktree is there, and nothing that it writes comes
// here: only what it prints and shows.
type remote struct {
	name      string
	server    jupyter.Server
	spec      string
	languages []string
}

// RemotePrefix begins the names of kernels that a Jupyter Server runs.
const RemotePrefix = "server:"

// NewRemote returns the kernel of a kernelspec of a server, which runs fences of the languages.
func NewRemote(name string, server jupyter.Server, spec string, languages []string) Kernel {
	return remote{RemotePrefix + name, server, spec, languages}
}

func (k remote) Name() string            { return k.name }
func (k remote) Languages() []string     { return k.languages }
func (k remote) Language() string        { return k.languages[0] }
func (k remote) Speaks(lang string) bool { return slices.Contains(k.languages, lang) }
func (k remote) AcceptsStepEnv() bool    { return false }
func (k remote) python() bool            { return notebooks.KernelLanguage(k.languages[0]) == "python" }
func (k remote) assigned() jupyterKernel {
	return jupyterKernel{jupyter.Spec{Language: k.languages[0]}}
}
func (k remote) ValidateParam(b notebooks.Bound) error {
	_, err := k.cell([]notebooks.Bound{b})
	return err
}

// cell is the code that sets parameters, "" where there are none to set.
func (k remote) cell(params []notebooks.Bound) (string, error) {
	params = k.assigned().assigned(params)
	if len(params) == 0 {
		return "", nil
	}
	return inject.Cell(k.languages[0], params, true)
}

// Start starts the kernel on the server.
func (k remote) Start(ctx context.Context, o Options) (Session, error) {
	if err := validateAll(k, o.Params); err != nil {
		return nil, err
	}
	s := &remoteSession{kernel: k, grace: o.Grace, scraps: o.Scraps, cells: map[int]place{}}
	if s.grace <= 0 {
		s.grace = defaultGrace
	}
	failed := func(err error) (Session, error) {
		s.Close()
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, Err: err,
			Msg:  fmt.Sprintf("the kernel %s did not start on %s: %v", k.spec, k.server.URL, err),
			Hint: "see kernels: in markmill.yaml, and the variable that token: names"}
	}
	var err error
	if s.remote, err = k.server.Start(ctx, k.spec); err != nil {
		return failed(err)
	}
	s.started = true
	if s.client, err = s.remote.Connect(ctx); err != nil {
		return failed(err)
	}
	if err := s.Bind(ctx, o.Params); err != nil {
		return failed(err)
	}
	return s, nil
}

// remoteSession is a live kernel on a server.
type remoteSession struct {
	kernel  remote
	remote  jupyter.ServerKernel
	client  *jupyter.Client
	started bool
	gone    bool
	grace   time.Duration
	scraps  string
	cells   map[int]place
	widgets widgets
}

// Info describes the kernel. Its program and its processes are the server's.
func (s *remoteSession) Info() Info {
	i := s.client.Info
	return Info{Program: s.kernel.server.URL, Version: fmt.Sprintf("%s %s, %s %s", i.Language.Name, i.Language.Version,
		i.Implementation, i.Version)}
}

// Run runs one step on the server.
func (s *remoteSession) Run(ctx context.Context, r Request) (Outcome, error) {
	if s.gone {
		return Outcome{Exit: 1, Died: true}, nil
	}
	if ctx.Err() != nil {
		return Outcome{Exit: 130, TerminatedBy: reason(ctx)}, nil
	}
	step := newJupyterStep(r, s.kernel.python(), s.cells)
	step.scraps, step.widgets = s.scraps, &s.widgets
	var reply jupyter.Reply
	var err error
	// The server's own end, or that of the network, ends the request.
	within, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if reply, err = s.client.Execute(within, string(r.Code), false, step.print); err == nil {
			err = s.client.Quiet(within, step.print)
		}
	}()
	var out Outcome
	select {
	case <-done:
	case <-ctx.Done():
		out.TerminatedBy = reason(ctx)
		s.interrupt(done, stop)
	}
	switch {
	case err == nil:
		out.Exit = step.ended(reply)
	default:
		s.gone, out.Died, out.Exit = true, true, 1
		if out.TerminatedBy == "" {
			fmt.Fprintf(&step.stderr, "the kernel on %s: %v\n", s.kernel.server.URL, err)
		}
	}
	out.neverPassed()
	step.finish(&out)
	return out, step.failed
}

// interrupt interrupts the step that runs. One that goes on all the same costs the kernel.
func (s *remoteSession) interrupt(done <-chan struct{}, stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), s.grace)
	defer cancel()
	if s.remote.Interrupt(ctx) == nil {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
	}
	stop()
	<-done
}

// Bind sets parameters by an assignment, for the server has no file of ours.
func (s *remoteSession) Bind(ctx context.Context, params []notebooks.Bound) error {
	code, err := s.kernel.cell(params)
	if err != nil || code == "" {
		return err
	}
	reply, err := s.client.Execute(ctx, code, true, func(jupyter.Output) {})
	if err == nil && reply.Status != "ok" {
		err = fmt.Errorf("it cannot set the parameters: %s: %s", reply.Ename, reply.Evalue)
	}
	return err
}

// EndStarted does nothing: what a step starts is the server's.
func (s *remoteSession) EndStarted() {}

func (s *remoteSession) Running() (own []int, left []process.Info) { return nil, nil }

// Alive reports whether the kernel answers.
func (s *remoteSession) Alive() bool { return !s.gone }

// Close ends the kernel on the server.
func (s *remoteSession) Close() error {
	if s.client != nil {
		s.client.Close()
	}
	if !s.started {
		return nil
	}
	s.started, s.gone = false, true
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.remote.End(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ending the kernel on the server: %w", err)
	}
	return nil
}

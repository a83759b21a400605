package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"markmill/engine/process"
	"markmill/notebooks"
)

const defaultGrace = 2 * time.Second

// session is a live interpreter: its process, its streams, and the driver that talks to it.
type session struct {
	o       Options
	kernel  Kernel
	driver  driver
	program string   // that is started: the interpreter, or the wrapper
	argv    []string // the wrapper's arguments first
	env     []string
	version string

	child       *process.Child
	family      *process.Family
	out, err    *pipe
	answers     chan answer
	closed      chan struct{}
	number      int  // of the last order
	interrupted bool // the last step was interrupted, and the interrupt may still arrive
	shut        bool
}

// newSession prepares everything but the interpreter. On an error it returns the session all the same, to be closed.
func newSession(k Kernel, o Options, d driver) (*session, error) {
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	tag, variable := o.Mark.Tag()
	s := &session{o: o, kernel: k, driver: d, env: append(lastSettings(o.Env), variable),
		family: process.NewFamily(o.Mark, tag), answers: make(chan answer, 16), closed: make(chan struct{})}
	argv, err := d.start(s)
	if err != nil {
		return s, err
	}
	if argv[0], err = o.lookProgram(k.Name(), argv[0], s.env); err != nil {
		return s, err
	}
	s.program, s.argv = argv[0], argv
	if len(o.Wrap) > 0 {
		s.argv = append(append([]string{}, o.Wrap...), argv...)
		if s.program, err = o.lookProgram(k.Name(), o.Wrap[0], s.env); err != nil {
			return s, err
		}
	}
	if s.out, err = newStream(o.Private, fileOut); err != nil {
		return s, err
	}
	s.err, err = newStream(o.Private, fileErr)
	return s, err
}

// start starts the interpreter, also after a step has ended it.
func (s *session) start(ctx context.Context) error {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := s.out.writer()
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := s.err.writer()
	if err != nil {
		return err
	}
	defer stderr.Close()
	s.child, err = s.family.Start(s.program, s.argv, s.env, s.o.Dir, []*os.File{stdin, stdout, stderr},
		s.o.process())
	if err != nil {
		return missing(s.kernel.Name(), s.program, err)
	}
	var noise tail
	finish := s.pump(io.Discard, &noise)
	hello, err := s.driver.greet(ctx)
	finish()
	if err != nil {
		s.kill()
		return &notebooks.Error{Kind: notebooks.KindProvider, Err: err, Msg: strings.TrimSpace(fmt.Sprintf(
			"the kernel %s did not start with %s: %v\n%s", s.kernel.Name(), s.program, err, noise.text()))}
	}
	s.version = hello.version
	s.family.SetInterpreter(hello.pid)
	return nil
}

// howEnded is the error for an interpreter that ended before it was ready.
func (s *session) howEnded() error {
	code, signal := s.child.Exit()
	if signal != "" {
		return errors.New("it was ended by signal " + signal)
	}
	return fmt.Errorf("it ended with exit code %d", code)
}

// pump forwards both streams until the returned function is called.
func (s *session) pump(stdout, stderr io.Writer) (finish func() error) {
	return pumpBoth(s.out, s.err, stdout, stderr)
}

// errNotRun is what driver.prepare returns for a step that cannot be run, once the step's output says why.
var errNotRun = errors.New("the step cannot be run")

// Run runs one step.
func (s *session) Run(ctx context.Context, r Request) (Outcome, error) {
	if s.child.Over() {
		return s.died(), nil
	}
	if ctx.Err() != nil {
		return Outcome{Exit: 130, TerminatedBy: reason(ctx)}, nil
	}
	stdout, stderr, err := s.driver.prepare(r)
	if errors.Is(err, errNotRun) {
		return Outcome{Exit: 1}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	e, err := s.step(ctx, stdout, stderr)
	s.settle()
	out := Outcome{Exit: e.exit, TerminatedBy: e.by, Leftover: e.leftover, Left: e.left}
	err = errors.Join(err, s.driver.reply(e, &out))
	out.neverPassed()
	if !s.child.Over() {
		return out, err
	}
	if !s.driver.saved() {
		out.Died = true
		return out, err
	}
	restart := s.start(context.Background())
	lost := s.driver.revived()
	if restart != nil {
		out.Died = true
		return out, errors.Join(err, fmt.Errorf("restarting the interpreter after a step had ended it: %w", restart))
	}
	out.Restarted, out.Lost = true, lost
	return out, err
}

// died is the outcome of a step whose session has ended before.
func (s *session) died() Outcome {
	code, signal := s.child.Exit()
	out := Outcome{Exit: max(code, 1), Died: true}
	if signal != "" {
		out.TerminatedBy = "signal " + signal
	}
	return out
}

// ending says how a step ended.
type ending struct {
	exit     int
	reply    bool   // there is more to read
	err      error  // see answer
	by       string // TerminatedBy
	gone     bool   // the interpreter has ended
	cut      bool   // the engine has ended the step
	leftover int
	left     []process.Info
}

// step runs the step that is prepared.
func (s *session) step(ctx context.Context, stdout, stderr io.Writer) (ending, error) {
	finish := s.pump(stdout, stderr)
	s.family.BeginStep()
	e := s.converse(ctx)
	if e.gone {
		s.family.ForgetPID()
	}
	switch {
	case s.o.EndWithStep, e.gone && !s.driver.saved():
		e.leftover = s.family.End(s.o.Grace)
	case e.cut:
		e.leftover = s.family.EndStep(s.o.Grace)
	}
	e.left = s.family.Left()
	if err := finish(); err != nil {
		return e, fmt.Errorf("handing on the output of a step: %w", err)
	}
	return e, nil
}

func (s *session) converse(ctx context.Context) ending {
	s.number++
	if err := s.driver.tell(orderStep, s.number); err != nil {
		return ending{exit: 1, gone: s.child.Over()}
	}
	if e, ok := s.wait(ctx.Done(), nil); ok {
		return e
	}
	s.interrupted = true
	e := s.force()
	e.by, e.cut = reason(ctx), true
	return e
}

// reason returns what ended a step whose context is done.
func reason(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "timeout"
	}
	return "interrupt"
}

// force ends a step: an interrupt, a term, then a kill.
func (s *session) force() ending {
	again := s.driver.interrupt()
	first := s.o.Grace
	if again != nil {
		first /= 4
	}
	if e, ok := s.wait(nil, time.After(first)); ok {
		return e
	}
	if again != nil {
		again()
		if e, ok := s.wait(nil, time.After(s.o.Grace-first)); ok {
			return e
		}
	}
	s.family.SignalStep(syscall.SIGTERM, true)
	if e, ok := s.wait(nil, time.After(s.o.Grace)); ok {
		return e
	}
	s.kill()
	return s.ended()
}

// kill kills the interpreter and everything it started, and waits for its end.
func (s *session) kill() {
	if !s.child.Over() {
		s.family.SignalAll(syscall.SIGKILL)
	}
	<-s.child.Ended
}

// wait waits for the answer to the last order, or for the interpreter's end. It returns false when stop is closed or
// patience is over.
func (s *session) wait(stop <-chan struct{}, patience <-chan time.Time) (ending, bool) {
	for {
		select {
		case a := <-s.answers:
			if a.answers(s.number) {
				return ending{exit: a.exit, reply: a.reply, err: a.err}, true
			}
		case <-s.child.Ended:
			return s.lastWord(), true
		case <-stop:
			return ending{}, false
		case <-patience:
			return ending{}, false
		}
	}
}

func (a answer) answers(number int) bool { return a.hello == nil && !a.last && a.number == number }

// lastWord is the ending of a step whose interpreter has ended. It may have answered before.
func (s *session) lastWord() ending {
	s.driver.flush()
	e := s.ended()
	for a := range s.answers {
		if a.last {
			break
		}
		if a.answers(s.number) {
			e.exit, e.reply, e.err, e.by = a.exit, a.reply, a.err, ""
		}
	}
	return e
}

func (s *session) ended() ending {
	code, signal := s.child.Exit()
	e := ending{exit: code, gone: true}
	if signal != "" {
		e.by = "signal " + signal
	}
	return e
}

// settle makes sure, after an interrupted step, that the interpreter listens again: a late interrupt may still have
// ended it.
func (s *session) settle() {
	if !s.interrupted || s.child.Over() {
		return
	}
	s.interrupted = false
	s.number++
	_ = s.driver.tell(orderPing, s.number) // without an answer it is killed
	if _, ok := s.wait(nil, time.After(s.o.Grace)); !ok {
		s.kill()
	}
}

// Bind sets parameters again, over what the author's code has set.
func (s *session) Bind(ctx context.Context, params []notebooks.Bound) error {
	if err := validateAll(s.kernel, params); err != nil {
		return err
	}
	defer s.driver.dropParams()
	if err := s.driver.setParams(params); err != nil {
		return err
	}
	s.number++
	if err := s.driver.tell(orderBind, s.number); err != nil {
		return err
	}
	e, ok := s.wait(ctx.Done(), nil)
	switch {
	case !ok:
		return context.Cause(ctx)
	case e.gone:
		return errors.New("the interpreter ended while its parameters were set")
	case e.err != nil:
		return e.err
	case e.exit != 0:
		return errors.New("the interpreter cannot set the parameters over what the block declares (a constant?)")
	}
	return nil
}

// Close ends the interpreter. It asks first, so that what the author set to run at the end runs.
func (s *session) Close() error {
	if s.shut {
		return nil
	}
	s.shut = true
	if s.child != nil {
		last := &bothStreams{to: cmp.Or[io.Writer](s.o.Ending, io.Discard)}
		finish := s.pump(last, last)
		if !s.child.Over() {
			if err := s.driver.tell(orderQuit, 0); err != nil {
				s.kill()
			} else if !s.waitEnd() {
				s.family.SignalAll(syscall.SIGTERM)
				if !s.waitEnd() {
					s.kill()
				}
			}
		}
		s.family.ForgetPID()
		s.family.End(s.o.Grace)
		finish()
	}
	close(s.closed)
	for _, p := range []*pipe{s.out, s.err} {
		p.close()
	}
	s.driver.close()
	return nil
}

// bothStreams is a writer for both streams.
type bothStreams struct {
	mu sync.Mutex
	to io.Writer
}

func (w *bothStreams) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

func (s *session) waitEnd() bool {
	select {
	case <-s.child.Ended:
		return true
	case <-time.After(s.o.Grace):
		return false
	}
}

// EndStarted ends what the last step started and left running.
func (s *session) EndStarted() {
	s.family.EndStep(s.o.Grace)
	s.family.Left()
}

// Running lists the session's processes.
func (s *session) Running() (own []int, left []process.Info) {
	return s.family.Parts(), s.family.Running()
}

// Alive reports whether the interpreter runs.
func (s *session) Alive() bool { return !s.child.Over() }

// Info describes the interpreter.
func (s *session) Info() Info {
	return Info{Program: s.argv[len(s.o.Wrap)], Version: s.version, PID: s.family.Interpreter()}
}

func (s *session) path(name string) string { return filepath.Join(s.o.Private, name) }

func (s *session) write(name string, content []byte) error {
	return os.WriteFile(s.path(name), content, 0o600)
}

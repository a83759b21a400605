//go:build unix

package kernel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"markmill/notebooks"
)

// Files of the private directory that the drivers know by name.
const (
	fileIn    = "in"    // pipe: what the driver is to do next
	fileCtl   = "ctl"   // pipe: what the driver says
	fileOut   = "out"   // pipe: the interpreter's stdout
	fileErr   = "err"   // pipe: the interpreter's stderr
	fileStep  = "step"  // the step: its file name, line, directory, environment and code
	fileReply = "reply" // the exception and the displays of a step
	fileState = "state" // what a shell kept of itself when it ended

	fileFailed = "failed" // the command at which a step of a shell failed
)

const defaultGrace = 2 * time.Second

// live is a running interpreter with a driver inside, and the conversation with that driver.
//
// The conversation has one line each way for a step: "<number>" (and sizes) on the pipe in starts it, and
// "<number> <exit code> <1 when there is a reply file>" on the pipe ctl ends it. Nothing is ever
// looked for in the author's streams.
type live struct {
	o       Options
	name    string // of the kernel
	program string
	argv    []string
	env     []string
	version string

	proc        *process
	sweep       *sweeper
	in, ctl     *pipe
	out, err    *pipe
	said        chan string // lines from ctl
	number      int         // of the step
	stepFile    *os.File
	words       string // that the order for the step says beyond its number
	interrupted bool   // the last step was signalled: the driver may still get it
	shut        bool
	// tell gives the driver an order, and interrupt interrupts a step. Where the driver is no program
	// in the interpreter but a protocol that the interpreter speaks, they are that protocol's.
	tell      func(order string) error
	interrupt func()
	greet     func(ctx context.Context) (hello string, err error)
	// insist: a shell that is interrupted just before it starts a program waits for that program
	// all the same. The program then gets an interrupt of its own. The shell does not: on a second
	// one, bash ends without running its trap on EXIT, which keeps its state.
	insist bool
	// revives says, when the interpreter has ended, whether the session goes on with another. nil: it does not.
	revives          func() bool
	closed, listener chan struct{}
}

// newLive makes the pipes; start starts an interpreter on them, again after a restart.
func newLive(o Options, name, program string, argv []string) (*live, error) {
	path, err := lookProgram(program, o.Dir, o.Env)
	if err != nil {
		return nil, missing(name, program, err)
	}
	full, exe := append([]string{path}, argv...), path
	if len(o.Wrap) > 0 {
		full = append(append([]string{}, o.Wrap...), full...)
		if exe, err = lookProgram(o.Wrap[0], o.Dir, o.Env); err != nil {
			return nil, missing(name, o.Wrap[0], err)
		}
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	o.Mark = o.Mark.session()
	tag, env := tagged(o.Env, o.Mark)
	l := &live{o: o, name: name, program: exe, argv: full, env: env, sweep: newSweeper(tag, o.Mark), said: make(chan string, 16),
		closed: make(chan struct{}), listener: make(chan struct{})}
	l.tell = func(order string) error {
		_, err := l.in.f.WriteString(order + "\n")
		return err
	}
	l.interrupt = func() { l.sweep.signalStep(syscall.SIGINT, false) }
	l.greet = l.hello
	for _, p := range []struct {
		to   **pipe
		name string
		make func(dir, name string) (*pipe, error)
	}{{&l.in, fileIn, newPipe}, {&l.ctl, fileCtl, newPipe}, {&l.out, fileOut, newStream}, {&l.err, fileErr, newStream}} {
		if *p.to, err = p.make(o.Private, p.name); err != nil {
			l.closePipes()
			return nil, err
		}
	}
	go l.listen()
	return l, nil
}

func (l *live) closePipes() {
	if l.stepFile != nil {
		l.stepFile.Close()
	}
	for _, p := range []*pipe{l.in, l.ctl, l.out, l.err} {
		if p != nil {
			p.close()
			os.Remove(p.path)
		}
	}
}

func (l *live) listen() {
	defer close(l.listener)
	lines := bufio.NewReader(l.ctl.f)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		select {
		case l.said <- strings.TrimSuffix(line, "\n"):
		case <-l.closed:
			return
		}
	}
}

// start starts the interpreter and waits for its driver's "hello <pid> <version>".
func (l *live) start(ctx context.Context) error {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := l.out.writer()
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := l.err.writer()
	if err != nil {
		return err
	}
	defer stderr.Close()
	if l.proc, err = launch(l.program, l.argv, l.env, l.o.Dir, []*os.File{stdin, stdout, stderr}, l.o); err != nil {
		return missing(l.name, l.program, err)
	}
	l.sweep.adopt(l.proc.pid, l.proc.pid)
	var noise tail
	finish := l.pump(io.Discard, &noise)
	hello, err := l.greet(ctx)
	finish()
	if err != nil {
		l.kill()
		return &notebooks.Error{Kind: notebooks.KindProvider, Err: err,
			Msg: strings.TrimSpace(fmt.Sprintf("the kernel %s did not start with %s: %v\n%s", l.name, l.program, err, noise.text()))}
	}
	pid, version, _ := strings.Cut(strings.TrimPrefix(hello, "hello "), " ")
	l.version = version
	if n, err := strconv.Atoi(pid); err == nil && n > 1 && syscall.Kill(n, 0) == nil {
		l.sweep.adopt(l.proc.pid, n)
	}
	return nil
}

func (l *live) hello(ctx context.Context) (string, error) {
	select {
	case line := <-l.said:
		if !strings.HasPrefix(line, "hello ") {
			return "", fmt.Errorf("its driver said %q", line)
		}
		return line, nil
	case <-l.proc.ended:
		code, signal := l.proc.exit()
		if signal != "" {
			return "", errors.New("it was ended by signal " + signal)
		}
		return "", fmt.Errorf("it ended with exit code %d", code)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// pump hands both streams on until the returned function is called.
func (l *live) pump(stdout, stderr io.Writer) (finish func() error) {
	return pumpBoth(l.out, l.err, stdout, stderr)
}

// ending is how a step's conversation ended.
type ending struct {
	exit     int
	reply    bool   // the reply file says more
	by       string // TerminatedBy
	gone     bool   // the interpreter has ended
	cut      bool   // the engine has ended the step
	leftover int
	left     []Process
}

// step runs the code that is in the private directory by now.
func (l *live) step(ctx context.Context, stdout, stderr io.Writer) (ending, error) {
	l.number++
	finish := l.pump(stdout, stderr)
	l.sweep.begin()
	e := l.converse(ctx, strconv.Itoa(l.number))
	if e.gone {
		l.sweep.bereave()
	}
	switch {
	case l.o.EndWithStep, e.gone && (l.revives == nil || !l.revives()):
		e.leftover = l.sweep.sweep(l.o.Grace)
	case e.cut:
		e.leftover = l.sweep.sweepStep(l.o.Grace)
	}
	e.left = l.sweep.left()
	if err := finish(); err != nil {
		return e, fmt.Errorf("handing on the output of a step: %w", err)
	}
	return e, nil
}

func (l *live) converse(ctx context.Context, number string) ending {
	if err := l.tell(number + l.words); err != nil {
		return ending{exit: 1, gone: l.proc.over()}
	}
	if e, ok := l.wait(number, ctx.Done(), nil); ok {
		return e
	}
	l.interrupted = true
	e := l.force(number)
	e.by, e.cut = reason(ctx), true
	if e.exit == 0 {
		e.exit = 128 + int(syscall.SIGINT) // what the engine ended is never a success
	}
	return e
}

// reason names who ended a step whose context is done.
func reason(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "timeout"
	}
	return "interrupt"
}

// force ends a step: an interrupt to the group, a term, then a kill to all.
func (l *live) force(number string) ending {
	l.interrupt()
	first := l.o.Grace
	if l.insist {
		first /= 4
	}
	if e, ok := l.wait(number, nil, time.After(first)); ok {
		return e
	}
	if l.insist {
		l.sweep.signalChildren(syscall.SIGINT)
		if e, ok := l.wait(number, nil, time.After(l.o.Grace-first)); ok {
			return e
		}
	}
	l.sweep.signalStep(syscall.SIGTERM, true)
	l.sweep.signalStep(syscall.SIGCONT, true)
	if e, ok := l.wait(number, nil, time.After(l.o.Grace)); ok {
		return e
	}
	l.kill()
	return l.ended()
}

// kill kills the interpreter and all that it started, and waits for its end.
func (l *live) kill() {
	if !l.proc.over() {
		l.sweep.signalAll(syscall.SIGKILL)
	}
	<-l.proc.ended
}

// wait waits for the driver's word on a step, or for the interpreter's end.
func (l *live) wait(number string, stop <-chan struct{}, patience <-chan time.Time) (ending, bool) {
	for {
		select {
		case line := <-l.said:
			if e, ok := parseEnding(line, number); ok {
				return e, true
			}
		case <-l.proc.ended:
			return l.lastWord(number), true
		case <-stop:
			return ending{}, false
		case <-patience:
			return ending{}, false
		}
	}
}

// lastWord is the ending of a step whose interpreter has ended: it may have ended the step
// before. A line of our own tells that all it said has been read.
func (l *live) lastWord(number string) ending {
	const mark = "over"
	l.ctl.f.WriteString(mark + "\n")
	e := l.ended()
	for line := range l.said {
		if line == mark {
			break
		}
		if said, ok := parseEnding(line, number); ok {
			e.exit, e.reply, e.by = said.exit, said.reply, ""
		}
	}
	return e
}

func (l *live) ended() ending {
	code, signal := l.proc.exit()
	e := ending{exit: code, gone: true}
	if signal != "" {
		e.by = "signal " + signal
	}
	return e
}

func parseEnding(line, number string) (ending, bool) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != number {
		return ending{}, false
	}
	code, err := strconv.Atoi(f[1])
	return ending{exit: code, reply: f[2] == "1"}, err == nil
}

// settle makes sure, after a step that was signalled, that the driver is back and listening: a
// late interrupt may still have ended it.
func (l *live) settle() {
	if !l.interrupted || l.proc.over() {
		return
	}
	l.interrupted = false
	l.number++
	ping := strconv.Itoa(l.number)
	l.tell("p" + ping)
	if _, ok := l.wait(ping, nil, time.After(l.o.Grace)); !ok {
		l.kill()
	}
}

// close ends the interpreter: asked first, so that what the author set to run at its end runs.
func (l *live) close() error {
	if l.shut {
		return nil
	}
	l.shut = true
	if l.proc != nil {
		finish := l.pump(io.Discard, io.Discard)
		if !l.proc.over() {
			l.tell("q")
			if !l.waitEnd() {
				l.sweep.signalAll(syscall.SIGTERM)
				if !l.waitEnd() {
					l.kill()
				}
			}
		}
		l.sweep.bereave()
		l.sweep.sweep(l.o.Grace)
		finish()
	}
	close(l.closed)
	l.closePipes()
	<-l.listener
	return nil
}

func (l *live) waitEnd() bool {
	select {
	case <-l.proc.ended:
		return true
	case <-time.After(l.o.Grace):
		return false
	}
}

// EndStarted ends what the last step started and left running.
func (l *live) EndStarted() {
	l.sweep.sweepStep(l.o.Grace)
	l.sweep.left()
}

// Running lists the session's processes.
func (l *live) Running() (own []int, left []Process) { return l.sweep.parts(), l.sweep.running() }

func (l *live) info() Info {
	return Info{Program: l.argv[len(l.o.Wrap)], Version: l.version, PID: l.sweep.interp}
}

func (l *live) path(name string) string { return filepath.Join(l.o.Private, name) }

func (l *live) write(name string, content []byte) error {
	return os.WriteFile(l.path(name), content, 0o600)
}

// order puts a step where the driver reads it, and what the order for it says beyond its number.
// The file stays open and is written over, because making it anew costs more than a small step;
// what is in it says itself where it ends.
func (l *live) order(step []byte, words string) error {
	if l.stepFile == nil {
		f, err := os.OpenFile(l.path(fileStep), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		l.stepFile = f
	}
	l.words = words
	_, err := l.stepFile.WriteAt(step, 0)
	return err
}

//go:build unix

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
	"markmill/notebooks/inject"
)

// jupyterSession is a Jupyter kernel that runs. The part of the driver is played by the messaging
// protocol: an order is a request, and its answer the driver's word.
type jupyterSession struct {
	*live
	kernel jupyterKernel
	client *jupyter.Client
	now    string // the link to the folder for what the step keeps, where the kernel is none of Python

	working sync.WaitGroup // requests that are under way
	step    *jupyterStep   // the one that runs
	request Request
	cells   map[int]place // of the notebook, by the number that the kernel gave the code
	widgets widgets
}

// tries is how often a kernel is started that found its ports taken.
const tries = 5

// Start starts the kernel.
func (k jupyterKernel) Start(ctx context.Context, o Options) (Session, error) {
	if err := canHoldAll(k, o.Params); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, taken, err := k.start(ctx, o)
		if err == nil {
			return s, nil
		}
		if !taken || try == tries || ctx.Err() != nil {
			return nil, err
		}
	}
}

func (k jupyterKernel) start(ctx context.Context, o Options) (session Session, portTaken bool, err error) {
	connection, err := k.connection(o)
	if err != nil {
		return nil, false, err
	}
	file := filepath.Join(o.Private, "connection.json")
	if err := connection.Write(file); err != nil {
		return nil, false, err
	}
	argv := k.spec.Command(file)
	o.Env = append(append([]string{}, o.Env...), "JUPYTER_RUNTIME_DIR="+o.Private)
	if k.runsOnPython() { // bash_kernel, too, wants a profile of IPython's; in the sandbox it could not make one at home
		ipython, err := configureIPython(o.Private)
		if err != nil {
			return nil, false, err
		}
		o.Env = append(o.Env, "IPYTHONDIR="+ipython, "PYDEVD_DISABLE_FILE_VALIDATION=1")
	}
	if !k.isPython() {
		o.Env = append(o.Env, "MARKMILL_STEP_DIR="+filepath.Join(o.Private, "now"))
	}
	for _, name := range sortedNames(k.spec.Env) {
		o.Env = append(o.Env, name+"="+os.Expand(k.spec.Env[name], func(n string) string { return getenv(o.Env, n) }))
	}
	l, err := newLive(o, k.Name(), argv[0], argv[1:])
	if err != nil {
		return nil, false, err
	}
	s := &jupyterSession{live: l, kernel: k, cells: map[int]place{}, now: filepath.Join(o.Private, "now")}
	l.tell = s.do
	if k.spec.InterruptMode == "message" {
		l.interrupt = func() { s.client.Interrupt() }
	}
	l.greet = func(ctx context.Context) (string, error) { return s.connect(ctx, connection, o.Params) }
	if err := l.start(ctx); err != nil {
		taken := connection.Transport == "tcp" && l.proc != nil && (strings.Contains(err.Error(), "in use") || errors.Is(err, jupyter.ErrLost))
		s.Close()
		return nil, taken, err
	}
	l.sweep.spare()
	return s, false, nil
}

// configureIPython makes a profile of the session's own, which knows nothing of the user's. Its history is in memory: a
// run's is its record, and the data base of an interactive one would be a fifth of what a small step costs.
func configureIPython(private string) (folder string, err error) {
	folder = filepath.Join(private, "ipython")
	profile := filepath.Join(folder, "profile_default")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(profile, "ipython_kernel_config.json"), []byte(`{"HistoryManager": {"hist_file": ":memory:"}}`+"\n"), 0o600)
}

// runsOnPython says whether the kernel stands on Jupyter's own Python code, whatever its language.
func (k jupyterKernel) runsOnPython() bool {
	return k.isPython() || strings.HasPrefix(filepath.Base(k.spec.Command("")[0]), "python")
}

// connection chooses how to talk: over sockets in the private directory where the kernel can. All that stand on
// Jupyter's own Python code can; of others nobody knows.
func (k jupyterKernel) connection(o Options) (jupyter.Connection, error) {
	if k.runsOnPython() {
		seen := o.Private
		if relative, err := filepath.Rel(o.Dir, o.Private); err == nil && len(relative) < len(seen) {
			seen = relative
		}
		if c, ok := jupyter.IPC(o.Private, seen, k.spec.Name); ok {
			return c, nil
		}
	}
	return jupyter.TCP(k.spec.Name)
}

// connect greets the kernel that was started and gives it what a notebook stands on.
func (s *jupyterSession) connect(ctx context.Context, c jupyter.Connection, params []notebooks.Bound) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.proc.ended:
			code, signal := s.proc.exit()
			if signal != "" {
				cancel(errors.New("it was ended by signal " + signal))
			} else {
				cancel(fmt.Errorf("it ended with exit code %d", code))
			}
		case <-stop:
		}
	}()
	client, err := jupyter.Connect(ctx, c)
	if err != nil {
		return "", err
	}
	s.client = client
	if err := s.setUp(ctx, params); err != nil {
		return "", err
	}
	info := client.Info
	return fmt.Sprintf("hello 0 %s %s, %s %s", info.Language.Name, info.Language.Version, info.Implementation, info.Version), nil
}

// setUp gives a kernel the parameters, and one of Python the functions of scraps.
func (s *jupyterSession) setUp(ctx context.Context, params []notebooks.Bound) error {
	if !s.kernel.isPython() {
		return s.assign(ctx, params)
	}
	if err := s.codeParams().writeParams(params); err != nil {
		return err
	}
	defer s.codeParams().removeParams()
	// By files: IPython reads what it is asked to run sign by sign, several times.
	if err := errors.Join(s.write("setup.py", []byte(pythonScraps+jupyterPython)), s.write("more.py", []byte(pythonMore))); err != nil {
		return err
	}
	reply, err := s.silently(ctx, "exec(compile(open("+pythonText(s.path("setup.py"))+", 'rb').read(), '<markmill>', 'exec'), {'get_ipython': get_ipython, 'private': "+
		pythonText(s.o.Private)+", 'scraps': "+pythonText(s.o.Scraps)+"})")
	if err == nil && reply.Status != "ok" {
		err = fmt.Errorf("it cannot be set up: %s: %s", reply.Ename, reply.Evalue)
	}
	return err
}

// assign sets parameters in a kernel of a language that has no side channel.
func (s *jupyterSession) assign(ctx context.Context, params []notebooks.Bound) error {
	if len(params) == 0 {
		return nil
	}
	code, err := inject.Cell(s.kernel.spec.Language, params, true)
	if err != nil {
		return err
	}
	reply, err := s.silently(ctx, code)
	if err == nil && reply.Status != "ok" {
		err = fmt.Errorf("it cannot set the parameters: %s: %s", reply.Ename, reply.Evalue)
	}
	return err
}

// codeParams writes the parameters as the driver of Python finds them.
func (s *jupyterSession) codeParams() codeSession { return codeSession{live: s.live} }

// silently runs code of ours.
func (s *jupyterSession) silently(ctx context.Context, code string) (jupyter.Reply, error) {
	return s.client.Execute(ctx, code, true, func(jupyter.Output) {})
}

// do plays the driver: it takes an order and says later how it went.
func (s *jupyterSession) do(order string) error {
	switch order[0] {
	case 'q':
		return s.client.Shutdown()
	case 'p':
		s.answer(order[1:], func() (int, error) { return 0, s.client.Quiet(context.Background(), s.print) })
	case 'b':
		s.answer(order[1:], func() (int, error) {
			reply, err := s.silently(context.Background(), "get_ipython()._mm_params()")
			return len(reply.Ename), err
		})
	default:
		s.answer(order, s.execute)
	}
	return nil
}

func (s *jupyterSession) answer(number string, work func() (exit int, err error)) {
	s.working.Go(func() {
		exit, err := work()
		if err != nil {
			s.deaf()
			return
		}
		select {
		case s.said <- fmt.Sprintf("%s %d 0", number, exit):
		case <-s.closed:
		}
	})
}

// deaf ends a kernel that lost its sockets: most often it has ended and its process is about to say so.
func (s *jupyterSession) deaf() {
	select {
	case <-s.proc.ended:
	case <-s.closed:
	case <-time.After(s.o.Grace):
		s.proc.signalGroup(syscall.SIGKILL)
	}
}

// execute runs the step; the result is its exit code.
func (s *jupyterSession) execute() (int, error) {
	reply, err := s.client.Execute(context.Background(), string(s.request.Code), false, s.print)
	if err != nil {
		return 0, err
	}
	return s.step.ended(reply), nil
}

func (s *jupyterSession) print(o jupyter.Output) {
	if s.step != nil {
		s.step.print(o)
	}
}

// Run runs one step.
func (s *jupyterSession) Run(ctx context.Context, r Request) (Outcome, error) {
	if out, over := s.before(ctx); over {
		return out, nil
	}
	if info, err := os.Stat(r.Dir); r.Dir != "" && (err != nil || !info.IsDir()) {
		_, err := fmt.Fprintf(r.Stderr, "cannot change to the folder %s\n", r.Dir)
		return Outcome{Exit: 1}, err
	}
	if err := s.hand(r); err != nil {
		return Outcome{}, err
	}
	s.request = r
	s.step = newJupyterStep(r, s.kernel.isPython(), s.cells)
	s.step.scraps, s.step.widgets = s.o.Scraps, &s.widgets
	e, err := s.live.step(ctx, &s.step.stdout, &s.step.stderr)
	if s.proc.over() {
		s.client.Finish(s.o.Grace)
	}
	s.settle()
	s.working.Wait()
	out := e.outcome()
	if !s.proc.over() && s.sweep.replaced() { // what the kernel stands for has died, and everything of earlier steps with it
		s.kill()
		s.sweep.bereave()
		s.sweep.sweep(s.o.Grace)
		out.Left = nil
		if out.Exit == 0 {
			out.Exit = 1
		}
	}
	s.step.finish(&out)
	s.step = nil
	out.Died = s.proc.over()
	return out, errors.Join(err, s.putAway())
}

// hand puts the step's folders and environment where the kernel finds them.
func (s *jupyterSession) hand(r Request) error {
	if !s.kernel.isPython() { // it has no way to be told, but for a link
		if r.DisplayDir == "" {
			return nil
		}
		if err := os.MkdirAll(r.DisplayDir, 0o777); err != nil {
			return err
		}
		return os.Symlink(r.DisplayDir, s.now)
	}
	fields := []string{r.Dir, r.DisplayDir}
	for _, name := range sortedNames(r.Env) {
		fields = append(fields, name, r.Env[name])
	}
	order := strings.Join(fields, "\x00")
	return s.order(fmt.Appendf(nil, "%d\x00%s", len(order), order), "")
}

// putAway takes back what hand has made.
func (s *jupyterSession) putAway() error {
	if s.kernel.isPython() {
		return nil
	}
	return os.RemoveAll(s.now)
}

// Bind sets parameters again.
func (s *jupyterSession) Bind(ctx context.Context, params []notebooks.Bound) error {
	if err := canHoldAll(s.kernel, params); err != nil {
		return err
	}
	if !s.kernel.isPython() {
		return s.assign(ctx, params)
	}
	defer s.codeParams().removeParams()
	if err := s.codeParams().writeParams(params); err != nil {
		return err
	}
	return s.bind(ctx)
}

func (s *jupyterSession) Info() Info  { return s.info() }
func (s *jupyterSession) Alive() bool { return !s.proc.over() }

// Close ends the kernel.
func (s *jupyterSession) Close() error {
	if s.client == nil { // it never answered
		s.tell = func(string) error { return nil }
		if s.proc != nil && !s.proc.over() {
			s.kill()
		}
		return s.close()
	}
	err := s.close()
	s.client.Close()
	s.working.Wait()
	return err
}

// pythonText is text as a literal of Python.
func pythonText(text string) string { return strconv.QuoteToASCII(text) }

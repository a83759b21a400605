package kernel

import (
	"context"
	_ "embed" // the set-up of Python's kernels
	"errors"
	"fmt"
	"io"
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

//go:embed drivers/jupyter.py
var jupyterPython string

// jupyterDriver drives a Jupyter kernel through the messaging protocol: an order is a request.
type jupyterDriver struct {
	s          *session
	kernel     jupyterKernel
	connection jupyter.Connection
	client     *jupyter.Client
	params     []notebooks.Bound
	file       stepFile
	now        string // link to the step's folder for what it keeps, if the kernel is not Python

	working sync.WaitGroup // requests that are under way
	step    *jupyterStep   // the one that runs
	request Request
	cells   map[int]place // of the notebook, by the number that the kernel gave the code
	widgets widgets
}

func (d *jupyterDriver) start(s *session) (argv []string, err error) {
	d.s, d.now = s, s.path("now")
	if d.connection, err = d.kernel.connection(s.o); err != nil {
		return nil, err
	}
	file := s.path("connection.json")
	if err := d.connection.Write(file); err != nil {
		return nil, err
	}
	s.env = append(s.env, "JUPYTER_RUNTIME_DIR="+s.o.Private)
	if d.kernel.runsOnPython() { // bash_kernel wants a profile, too, which the sandbox does not let it make at home
		ipython, err := configureIPython(s.o.Private)
		if err != nil {
			return nil, err
		}
		s.env = append(s.env, "IPYTHONDIR="+ipython, "PYDEVD_DISABLE_FILE_VALIDATION=1")
	}
	if !d.kernel.isPython() {
		s.env = append(s.env, "MARKMILL_STEP_DIR="+d.now)
	}
	for _, name := range sortedNames(d.kernel.spec.Env) {
		value := os.Expand(d.kernel.spec.Env[name], func(n string) string { return getenv(s.env, n) })
		s.env = append(s.env, name+"="+value)
	}
	s.env = lastSettings(s.env)
	return d.kernel.spec.Command(file), nil
}

// configureIPython creates a profile for the session, without the user's settings. Its history is in memory: the record
// has everything, and the history database would cost a fifth of a small step's time.
func configureIPython(private string) (folder string, err error) {
	folder = filepath.Join(private, "ipython")
	profile := filepath.Join(folder, "profile_default")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		return "", err
	}
	config := []byte(`{"HistoryManager": {"hist_file": ":memory:"}}` + "\n")
	return folder, os.WriteFile(filepath.Join(profile, "ipython_kernel_config.json"), config, 0o600)
}

// runsOnPython reports whether the kernel is built on Jupyter's own Python code, whatever its language.
func (k jupyterKernel) runsOnPython() bool {
	return k.isPython() || strings.HasPrefix(filepath.Base(k.spec.Command("")[0]), "python")
}

// connection chooses the transport: sockets in the private folder for kernels that are known to support them, which
// are all those built on Jupyter's own Python code.
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

// greet connects to the started kernel and passes it the parameters and, in Python, the scrap functions.
func (d *jupyterDriver) greet(ctx context.Context) (greeting, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-d.s.child.Ended:
			cancel(d.s.howEnded())
		case <-stop:
		}
	}()
	client, err := jupyter.Connect(ctx, d.connection)
	if err == nil {
		d.client = client
		err = d.setUp(ctx)
	}
	if errors.Is(err, jupyter.ErrLost) { // usually because it ends, and then its exit code and last words say why
		select {
		case <-d.s.child.Ended:
			err = d.s.howEnded()
		case <-time.After(d.s.o.Grace):
		}
	}
	if err != nil {
		return greeting{}, err
	}
	i := client.Info
	version := fmt.Sprintf("%s %s, %s %s", i.Language.Name, i.Language.Version, i.Implementation, i.Version)
	return greeting{version: version}, nil
}

func (d *jupyterDriver) setUp(ctx context.Context) error {
	if !d.kernel.isPython() {
		return d.assign(ctx)
	}
	// In files: IPython scans the code it runs character by character, several times.
	err := errors.Join(d.s.write("setup.py", []byte(pythonScraps+jupyterPython)),
		d.s.write("more.py", []byte(pythonMore)))
	if err != nil {
		return err
	}
	waits := "False"
	if d.s.o.Waits {
		waits = "True"
	}
	code := fmt.Sprintf("exec(compile(open(%s, 'rb').read(), '<markmill>', 'exec'), {'get_ipython': get_ipython, "+
		"'private': %s, 'scraps': %s, 'waits': %s})",
		pythonText(d.s.path("setup.py")), pythonText(d.s.o.Private), pythonText(d.s.o.Scraps), waits)
	return d.silently(ctx, code, "it cannot be set up")
}

// setParams writes the parameters where the code in drivers/jupyter.py reads them. Other languages get an assignment.
func (d *jupyterDriver) setParams(params []notebooks.Bound) error {
	d.params = params
	if !d.kernel.isPython() {
		return nil
	}
	files, err := wireParams(params)
	if err != nil {
		return err
	}
	return d.s.write(fileParams, files[fileParams])
}

func (d *jupyterDriver) dropParams() {
	d.params = nil
	os.Remove(d.s.path(fileParams))
}

// assign sets the parameters in a language that cannot read them from a file.
func (d *jupyterDriver) assign(ctx context.Context) error {
	params := d.kernel.assigned(d.params)
	if len(params) == 0 {
		return nil
	}
	code, err := inject.Cell(d.kernel.spec.Language, params, true)
	if err != nil {
		return err
	}
	return d.silently(ctx, code, "it cannot set the parameters")
}

// silently runs our own code. It returns an *execError that begins with failed if the code raises.
func (d *jupyterDriver) silently(ctx context.Context, code, failed string) error {
	reply, err := d.client.Execute(ctx, code, true, func(jupyter.Output) {})
	if err == nil && reply.Status != "ok" {
		err = &execError{fmt.Sprintf("%s: %s: %s", failed, reply.Ename, reply.Evalue)}
	}
	return err
}

// execError is an exception raised by our own code. Any other error means that the connection is lost.
type execError struct{ text string }

func (e *execError) Error() string { return e.text }

func (d *jupyterDriver) tell(what order, number int) error {
	ctx := context.Background()
	switch what {
	case orderQuit:
		if d.client == nil {
			return errors.New("the kernel never answered")
		}
		_ = d.client.Shutdown() // if the connection is lost, the kernel gets a signal
	case orderPing:
		d.work(number, func() (int, error) { return 0, d.client.Quiet(ctx, d.print) })
	case orderBind:
		d.work(number, func() (int, error) {
			if d.kernel.isPython() {
				return 0, d.silently(ctx, "get_ipython()._mm_params()", "the interpreter cannot set the parameters")
			}
			return 0, d.assign(ctx)
		})
	case orderStep:
		d.work(number, func() (int, error) {
			reply, err := d.client.Execute(ctx, string(d.request.Code), false, d.print)
			if err == nil && !d.kernel.runsOnPython() {
				// Some kernels, as Deno, publish a result only after they were idle: what comes before the answer to
				// another request is of this one.
				err = d.client.Quiet(ctx, d.print)
			}
			if err != nil {
				return 0, err
			}
			return d.step.ended(reply), nil
		})
	}
	return nil
}

// work carries out an order and answers it.
func (d *jupyterDriver) work(number int, request func() (exit int, err error)) {
	d.working.Go(func() {
		exit, err := request()
		if err != nil && !errors.As(err, new(*execError)) {
			d.killUnresponsive()
			return
		}
		d.answer(answer{number: number, exit: exit, err: err})
	})
}

func (d *jupyterDriver) answer(a answer) {
	select {
	case d.s.answers <- a:
	case <-d.s.closed:
	}
}

func (d *jupyterDriver) flush() { d.answer(answer{last: true}) }

// killUnresponsive ends a kernel that lost its sockets. Usually it has exited and is about to be reaped.
func (d *jupyterDriver) killUnresponsive() {
	select {
	case <-d.s.child.Ended:
	case <-d.s.closed:
	case <-time.After(d.s.o.Grace):
		d.s.child.KillGroup()
	}
}

func (d *jupyterDriver) interrupt() (again func()) {
	if d.kernel.spec.InterruptMode == "message" {
		_ = d.client.Interrupt() // if the connection is lost, a term follows
	} else {
		d.s.family.SignalStep(syscall.SIGINT, false)
	}
	return nil
}

func (d *jupyterDriver) print(o jupyter.Output) {
	if d.step != nil {
		d.step.print(o)
	}
}

// prepare puts the step's folders and environment where the kernel finds them.
func (d *jupyterDriver) prepare(r Request) (stdout, stderr io.Writer, err error) {
	if info, err := os.Stat(d.s.o.Place.Outside(r.Dir)); r.Dir != "" && (err != nil || !info.IsDir()) {
		if _, err := fmt.Fprintf(r.Stderr, "cannot change to the folder %s\n", r.Dir); err != nil {
			return nil, nil, err
		}
		return nil, nil, errNotRun
	}
	if d.kernel.isPython() {
		b := stepMeta(r, encodeNUL, r.Dir, r.DisplayDir)
		b = b[:len(b)-1]
		err = d.file.write(d.s, fmt.Appendf(nil, "%d\x00%s", len(b), b))
	} else if r.DisplayDir != "" { // the protocol cannot pass a folder, so a link points to it
		if err = os.MkdirAll(r.DisplayDir, 0o777); err == nil {
			err = os.Symlink(r.DisplayDir, d.now)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	d.request = r
	d.step = newJupyterStep(r, d.kernel.isPython(), d.cells)
	d.step.scraps, d.step.widgets = d.s.o.Scraps, &d.widgets
	return &d.step.stdout, &d.step.stderr, nil
}

func (d *jupyterDriver) reply(_ ending, out *Outcome) error {
	s := d.s
	if s.child.Over() {
		d.client.Finish(s.o.Grace)
	}
	d.working.Wait()
	if !s.child.Over() && s.family.Replaced() { // its interpreter died, and all state with it
		s.kill()
		s.family.ForgetPID()
		s.family.End(s.o.Grace)
		out.Left = nil
		out.Exit = max(out.Exit, 1)
	}
	d.step.finish(out)
	d.step = nil
	if d.kernel.isPython() {
		return nil
	}
	return os.RemoveAll(d.now)
}

func (d *jupyterDriver) saved() bool            { return false }
func (d *jupyterDriver) revived() (lost string) { return "" }

func (d *jupyterDriver) close() {
	if d.client != nil {
		d.client.Close()
	}
	d.working.Wait()
	d.file.close()
}

// pythonText returns text as a Python literal.
func pythonText(text string) string { return strconv.QuoteToASCII(text) }

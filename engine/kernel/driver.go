package kernel

import (
	"context"
	"io"
	"runtime"

	"markmill/engine/process"
	"markmill/notebooks"
)

// driver is what differs between live interpreters: how to start one, to order a step, to read its reply, to interrupt
// it, to bind parameters and to ask for its end. A session owns one driver and calls one method at a time.
//
// Most interpreters run a script of ours and share a conversation over pipes; see conversation and script.
type driver interface {
	// start prepares a new session and returns the interpreter's command line. It may write files under the private
	// folder and add to s.env.
	start(s *session) (argv []string, err error)
	// greet waits until an interpreter that was just started is ready for steps and has read the parameters.
	greet(ctx context.Context) (greeting, error)
	// setParams puts parameters where the interpreter reads them, when it starts or at orderBind; dropParams removes
	// what may hold secrets.
	setParams(params []notebooks.Bound) error
	dropParams()
	// prepare puts a step where the interpreter finds it at orderStep, and returns the writers that the interpreter's
	// own streams go to. It returns errNotRun if the step cannot be run and r.Stderr says why.
	prepare(r Request) (stdout, stderr io.Writer, err error)
	// tell returns an order. Unless it is orderQuit, the answer with its number comes on s.answers later.
	tell(what order, number int) error
	// interrupt interrupts the step that runs. If the step may need a second, different push a little later, it returns
	// that as again.
	interrupt() (again func())
	// reply adds to out what the interpreter left behind for the step that ended as e says.
	reply(e ending, out *Outcome) error
	// flush makes an answer with last set the last one on s.answers. The interpreter has ended.
	flush()
	// saved reports whether an interpreter that has ended has saved its state for the next one. After that one has been
	// started, revived cleans up and says what is lost all the same, "" if nothing is.
	saved() bool
	revived() (lost string)
	// close frees what the driver holds. The interpreter has ended.
	close()
}

// order is what a driver is asked to have the interpreter do.
type order byte

const (
	orderStep order = iota // run the prepared step
	orderPing              // answer: are you there?
	orderBind              // read the parameters again
	orderQuit              // end
)

// answer is what an interpreter says about an order, or about itself.
type answer struct {
	number int // of the order
	exit   int
	reply  bool      // the driver's reply method has more to read
	err    error     // why the order failed, if exit does not say enough
	hello  *greeting // it has started; no other field counts
	last   bool      // nothing comes after this; no other field counts
}

// greeting is what an interpreter says about itself when it is ready.
type greeting struct {
	pid     int // of the interpreter, if it is not the process that was started; else 0
	version string
}

// open starts a session that is driven by d.
func open(ctx context.Context, k Kernel, o Options, d driver) (Session, error) {
	if err := canStart(k, o); err != nil {
		return nil, err
	}
	s, err := newSession(k, o, d)
	if err == nil {
		if err = d.setParams(o.Params); err == nil {
			err = s.start(ctx)
		}
		d.dropParams()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// canStart checks what can be checked before anything is started.
func canStart(k Kernel, o Options) error {
	if !process.Supported {
		return &notebooks.Error{
			Kind: notebooks.KindProvider,
			Msg: "the kernel " + k.Name() + " needs a Unix system (Linux, or macOS with less); this is " +
				runtime.GOOS,
			Hint: "run Markmill in WSL or in a container",
		}
	}
	if err := o.Place.Stand(); err != nil {
		return &notebooks.Error{Kind: notebooks.KindProvider, Err: err,
			Msg:  "the kernel " + k.Name() + " cannot be started at the checkout's path: " + err.Error(),
			Hint: "let no step end it, or run with --tree separate"}
	}
	return validateAll(k, o.Params)
}

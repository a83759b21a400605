package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"markmill/engine"
	"markmill/engine/process"
	"markmill/notebooks"
	"markmill/render/plain"
)

// ErrUntestable is what errors wrap that say that the good or the bad end cannot be tested.
var ErrUntestable = errors.New("cannot be tested")

// Exit codes. 128+n stands for an end by signal n.
const (
	ExitPass    = 0
	ExitFail    = 1
	ExitUsage   = 2 // unreadable notebook, bad parameter, unknown option: nothing ran
	ExitBlocked = 3
	ExitDecide  = 4 // no objection, and a person must decide
)

// Exit is an error that is only an exit code: its message has been printed.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// PassIf is the result of a command whose exit code 1 is an answer.
func PassIf(ok bool) error {
	if ok {
		return nil
	}
	return Exit(ExitFail)
}

// EndWith is the result of a command that ends with an exit code.
func EndWith(code int) error {
	if code == ExitPass {
		return nil
	}
	return Exit(code)
}

// ExitOf is the exit code of an error.
func ExitOf(err error) int {
	var list notebooks.ErrorList
	var one *notebooks.Error
	switch {
	case errors.Is(err, ErrUntestable):
		return ExitBlocked
	case errors.As(err, &list), errors.As(err, new(Trouble)):
		return ExitUsage
	case errors.As(err, &one):
		switch one.Kind {
		case notebooks.KindArtifact, notebooks.KindRecord, notebooks.KindInternal:
			return ExitFail
		case notebooks.KindProvider:
			return ExitBlocked
		}
		return ExitUsage
	case errors.As(err, new(Usage)):
		return ExitUsage
	}
	return ExitFail
}

// Usage is a mistake in the command line itself.
type Usage struct{ error }

// AsUsage makes an error a mistake in the command line.
func AsUsage(err error) error { return Usage{err} }

// AsTrouble makes an error one because of which nothing could be compared.
func AsTrouble(err error) error { return Trouble{err} }

func Usagef(format string, args ...any) error {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = plain.Escape(text)
		}
	}
	return Usage{fmt.Errorf(format, args...)}
}

// Trouble is an error of a command whose exit code 1 means that two things differ.
type Trouble struct{ error }

func (t Trouble) Unwrap() error { return t.error }

// Troubled is an error of such a command, unless it is an answer.
func Troubled(err error) error {
	if err == nil || errors.As(err, new(Exit)) {
		return err
	}
	return Trouble{err}
}

// Interruptible is a context that the first SIGINT, SIGTERM or SIGHUP cancels. The second ends the program, and the
// run's warden then ends what the steps have started. No step inherits a descriptor that is open now.
func (a *App) Interruptible(ctx context.Context) (context.Context, func()) {
	return a.InterruptibleSaying(ctx,
		func() string { return "interrupted; finishing the record (once more ends at once)" })
}

// InterruptibleSaying is interruptible with other words; "" says that no run is in progress, and prints nothing.
func (a *App) InterruptibleSaying(ctx context.Context, words func() string) (context.Context, func()) {
	process.SealDescriptors()
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1) has it ignored: the run is to outlive its terminal
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				number := int(syscall.SIGINT)
				if got, ok := s.(syscall.Signal); ok {
					number = int(got)
				}
				text := words()
				if n > 0 {
					if text != "" {
						fmt.Fprintln(a.Stderr, "markmill: ended at once; markmill runs maintain reconcile completes "+
							"the record")
					}
					os.Exit(128 + number)
				}
				if text != "" {
					fmt.Fprintln(a.Stderr, "\nmarkmill: "+text)
				}
				cancel(engine.Interrupt{Signal: number})
			case <-done:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}

// InterruptedBy is the number of the signal that ended a context.
func InterruptedBy(ctx context.Context) int {
	var by engine.Interrupt
	if errors.As(context.Cause(ctx), &by) && by.Signal > 0 {
		return by.Signal
	}
	return 2
}

// UntilInterrupted is a context that Ctrl-C ends.
func UntilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

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
)

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

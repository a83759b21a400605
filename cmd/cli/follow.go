package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/terminal"
	"markmill/runs"
)

// interruptible is a context that the first SIGINT, SIGTERM or SIGHUP cancels. The second ends the program, and the
// run's warden then ends what the steps have started.
func (a *app) interruptible(ctx context.Context) (context.Context, func()) {
	return a.interruptibleSaying(ctx,
		func() string { return "interrupted; finishing the record (once more ends at once)" })
}

// interruptibleSaying is interruptible with other words; "" says that no run is in progress, and prints nothing.
func (a *app) interruptibleSaying(ctx context.Context, words func() string) (context.Context, func()) {
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
						fmt.Fprintln(a.stderr, "markmill: ended at once; markmill runs maintain reconcile completes "+
							"the record")
					}
					os.Exit(128 + number)
				}
				if text != "" {
					fmt.Fprintln(a.stderr, "\nmarkmill: "+text)
				}
				cancel(engine.Interrupt{Signal: number})
			case <-done:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}

// follower follows a run: the progress view and the files that were asked for.
type follower struct {
	progress       *terminal.Progress
	events         io.Writer
	stdout, stderr io.Writer
	files          []*os.File
	stop           func() // ends the redrawing of progress
	failed         error
}

// record is a run directory as terminals show it.
func record(dir string) terminal.Record {
	sums, err := runs.At(dir).Sums()
	if err != nil {
		sums = "" // the run is alive, or was cut
	}
	return terminal.Record{Files: runs.At(dir), Path: files.Short(dir), Sums: sums}
}

// follower opens the files and starts the progress view of a run whose record is in dir.
func (a *app) follower(o *runOptions, dir string) (*follower, error) {
	w := &follower{}
	open := func(what, path string) (io.Writer, error) {
		switch path {
		case "":
			return nil, nil
		case "-":
			return a.stdout, nil
		}
		to, err := a.openOutput(what, path)
		if err != nil {
			return nil, err
		}
		f, err := to.Stream()
		if err != nil {
			return nil, usagef("%s %w", what, errors.Join(err, to.Close()))
		}
		w.files = append(w.files, f)
		return f, nil
	}
	var err error
	for _, target := range []struct {
		to         *io.Writer
		what, path string
	}{{&w.events, "--events", o.events}, {&w.stdout, "--stdout-file", o.stdoutFile},
		{&w.stderr, "--stderr-file", o.stderrFile}} {
		if *target.to, err = open(target.what, target.path); err != nil {
			return nil, err
		}
	}
	view := a.detect(a.stderr)
	view.Quiet, view.Log, view.Shown, view.Now = !o.progress || o.level() > slog.LevelInfo, o.logOutput,
		o.stderrFile == "-", a.now
	if o.logLevel != "CRITICAL" {
		view.Record = record(dir)
	}
	w.progress = terminal.New(a.stderr, view)
	w.stop = ticking(w.progress)
	return w, nil
}

func (w *follower) event(e runs.Event) {
	w.progress.Event(e)
	if w.events == nil {
		return
	}
	b, err := codec.Marshal(e)
	if err == nil {
		_, err = w.events.Write(append(b, '\n'))
	}
	if err != nil && w.failed == nil {
		w.failed = err
	}
}

func (w *follower) output(step notebooks.StepID, stream string, chunk []byte) {
	w.progress.Output(step, stream, chunk)
	to := w.stdout
	if stream == "stderr" {
		to = w.stderr
	}
	if to == nil {
		return
	}
	if _, err := to.Write(chunk); err != nil && w.failed == nil {
		w.failed = err
	}
}

func (w *follower) close() error {
	w.stop()
	for _, f := range w.files {
		if err := f.Close(); err != nil && w.failed == nil {
			w.failed = err
		}
	}
	return w.failed
}

// written are the regular files that the program itself writes during the run: a log in the checkout is no change of
// the run.
func (a *app) written(w *follower) []os.FileInfo {
	var own []os.FileInfo
	for _, f := range append([]*os.File{a.stdout, a.stderr}, w.files...) {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			own = append(own, info)
		}
	}
	return own
}

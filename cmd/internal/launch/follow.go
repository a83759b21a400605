package launch

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/terminal"
	"markmill/runs"
)

// Follower follows a run: the progress view and the files that were asked for.
type Follower struct {
	Progress       *terminal.Progress
	events         io.Writer
	stdout, stderr io.Writer
	files          []*os.File
	stop           func() // ends the redrawing of progress
	failed         error
}

// Follow opens the files and starts the progress view of a run whose record is in dir.
func Follow(a *program.App, o *Options, dir string) (*Follower, error) {
	w := &Follower{}
	open := func(what, path string) (io.Writer, error) {
		switch path {
		case "":
			return nil, nil
		case "-":
			return a.Stdout, nil
		}
		to, err := a.OpenOutput(what, path)
		if err != nil {
			return nil, err
		}
		f, err := to.Stream()
		if err != nil {
			return nil, program.Usagef("%s %w", what, errors.Join(err, to.Close()))
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
	view := a.Detect(a.Stderr)
	view.Quiet, view.Log, view.Shown, view.Now = !o.Progress || o.Level() > slog.LevelInfo, o.LogOutput,
		o.stderrFile == "-", a.Now
	if o.LogLevel != "CRITICAL" {
		view.Record = runview.Record(dir)
	}
	w.Progress = terminal.New(a.Stderr, view)
	w.stop = Ticking(w.Progress)
	return w, nil
}

func (w *Follower) Event(e runs.Event) {
	w.Progress.Event(e)
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

func (w *Follower) Output(step notebooks.StepID, stream string, chunk []byte) {
	w.Progress.Output(step, stream, chunk)
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

func (w *Follower) Close() error {
	w.stop()
	for _, f := range w.files {
		if err := f.Close(); err != nil && w.failed == nil {
			w.failed = err
		}
	}
	return w.failed
}

// Written are the regular files that the program itself writes during the run: a log in the checkout is no change of
// the run.
func Written(a *program.App, w *Follower) []os.FileInfo {
	var own []os.FileInfo
	for _, f := range append([]*os.File{a.Stdout, a.Stderr}, w.files...) {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			own = append(own, info)
		}
	}
	return own
}

// Ticking redraws a progress view until stop is called.
func Ticking(progress *terminal.Progress) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	ticker := time.NewTicker(100 * time.Millisecond)
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				progress.Tick()
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done); <-ended }
}

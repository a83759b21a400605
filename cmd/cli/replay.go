package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"markmill/cmd/api/files"
	"markmill/render/terminal"
	"markmill/runs"
)

// replayed is what show --events --json and show --at --json print.
type replayed struct {
	Events []runs.Event `json:"events"` // up to the one that was asked for
	Run    *runs.Report `json:"run"`    // what was known after the last of them
}

// showEvents lists the events of a run, up to the one that was asked for.
func (a *app) showEvents(dir string, o showOptions) error {
	run, events, err := runs.At(dir).Replay(o.at)
	if err != nil {
		return err
	}
	if !o.json {
		return terminal.Events(a.stdout, events, a.colour(a.stdout))
	}
	report, err := runs.At(dir).Report(run, nil)
	if err != nil {
		return err
	}
	return a.printJSON("runs-replay", replayed{events[:run.Events], report})
}

// follow shows a run from its first event until it ends.
func (a *app) follow(ctx context.Context, dir string) error {
	view := a.detect(a.stdout)
	view.Now, view.Record = a.now, record(dir)
	progress := terminal.New(a.stdout, view)
	stop := ticking(progress)
	err := each(ctx, runs.At(dir), progress.Event)
	stop()
	if err != nil {
		return err
	}
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return err
	}
	if run.Completed == nil {
		a.tell("markmill: the run was cut; markmill runs maintain reconcile completes its record\n")
	}
	for _, cause := range run.Causes() {
		a.line(run.Located(cause.Blocker).Line())
	}
	progress.Done(terminal.Summary(run, files.Short(dir), view.Color))
	return endWith(run.ExitCode())
}

// each calls do with every event of a run, until the run has ended.
func each(ctx context.Context, record *runs.Record, do func(runs.Event)) error {
	f := record.Follow(0)
	defer f.Close()
	for {
		e, err := f.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(e)
	}
}

// ticking redraws a progress view until stop is called.
func ticking(progress *terminal.Progress) (stop func()) {
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

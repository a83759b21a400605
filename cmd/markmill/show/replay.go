package show

import (
	"context"
	"errors"
	"io"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/render/terminal"
	"markmill/runs"
)

// Replayed is what show --events --json and show --at --json print.
type Replayed struct {
	Events []runs.Event `json:"events"` // up to the one that was asked for
	Run    *runs.Report `json:"run"`    // what was known after the last of them
}

// showEvents lists the events of a run, up to the one that was asked for.
func showEvents(a *program.App, dir string, o showOptions) error {
	run, events, err := runs.At(dir).Replay(o.at)
	if err != nil {
		return err
	}
	if !o.json {
		return terminal.Events(a.Stdout, events, a.Colour(a.Stdout))
	}
	report, err := runs.At(dir).Report(run, nil)
	if err != nil {
		return err
	}
	return a.PrintJSON("runs-replay", Replayed{events[:run.Events], report})
}

// follow shows a run from its first event until it ends.
func follow(ctx context.Context, a *program.App, dir string) error {
	view := a.Detect(a.Stdout)
	view.Now, view.Record = a.Now, runview.Record(dir)
	progress := terminal.New(a.Stdout, view)
	stop := launch.Ticking(progress)
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
		a.Tell("markmill: the run was cut; markmill runs maintain reconcile completes its record\n")
	}
	runview.TellCauses(a, run)
	progress.Done(terminal.Summary(run, files.Short(dir), view.Color))
	return program.EndWith(run.ExitCode())
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

package show

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/render/terminal"
	"markmill/runs"
)

// logOptions are the options of show --log.
type logOptions struct {
	step string // its id, or allSteps
	Streams
}

// allSteps is the value of --log without one.
const allSteps = " "

// Streams are which texts of steps Log names.
type Streams struct{ Stderr, Patch bool }

// Log names the files of a record with what the steps of a run wrote, or one of them; "" is all of them.
func Log(run *runs.Run, step string, of Streams) (files []string, err error) {
	var ids []string
	for _, s := range run.Steps {
		ids = append(ids, string(s.Planned.ID))
	}
	if step != "" && !slices.Contains(ids, step) {
		return nil, program.Usagef("run %s has no step %q; steps: %v", run.ID, step, ids)
	}
	for _, s := range run.Steps {
		switch {
		case s.Finished == nil || step != "" && step != string(s.Planned.ID):
		case of.Patch && s.Patch == nil:
		case of.Patch:
			files = append(files, s.Patch.Patch)
		case of.Stderr:
			files = append(files, s.Finished.Stderr.File)
		default: // with what its interpreter printed as it was closed
			files = append(append(files, s.Finished.Stdout.File), run.Endings(s.Planned.ID)...)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" }), nil
}

// printLog prints the files of Log in full: the bytes of the record, except on a terminal, where only colours control
// anything.
func printLog(a *program.App, run *runs.Run, dir string, o logOptions) error {
	list, err := Log(run, strings.TrimSpace(o.step), o.Streams)
	for _, file := range list {
		if err == nil {
			err = print(a, dir, file)
		}
	}
	return err
}

// print copies a file of a run directory to standard output.
func print(a *program.App, dir, file string) error {
	f, err := runs.At(dir).Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.Shown(func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

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

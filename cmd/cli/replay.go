package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/render/terminal"
	"markmill/runs"
)

// replayed is what runs replay --json prints.
type replayed struct {
	Events []runs.Event `json:"events"` // up to the one that was asked for
	Run    *runs.Report `json:"run"`    // what was known after the last of them
}

func (a *app) runsReplay() *cobra.Command {
	var at int
	var follow, asJSON bool
	c := &cobra.Command{
		Use: "replay RUN", Short: "Show the events of a run, what was known after one, or a run in progress",
		Long: `Without options it lists the events of RUN. With --at SEQ it shows what was known after that event, as runs
show shows a whole run. With --follow it shows the progress of RUN from its first event on until it ends; any process of
any user who can read the record can do that, and Ctrl-C ends the watching only.

Exit codes: 0; 2 there is no such run or event; with --follow as of run.`,
		Example: "  markmill runs replay last\n  markmill runs replay last --at 7\n" +
			"  markmill runs replay last --follow",
		Args: args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			chosen := c.Flags().Changed("at")
			switch {
			case follow && (chosen || asJSON):
				return usagef("--follow shows a run as it goes; leave --at and --json out")
			case chosen && at < 0:
				return usagef("--at %d is no event; events are counted from 0", at)
			}
			dir, err := a.recordOf(words[0])
			if err != nil {
				return err
			}
			if follow {
				return a.follow(c.Context(), dir)
			}
			if !chosen {
				at = -1
			}
			run, events, err := runs.At(dir).Replay(at)
			switch {
			case err != nil:
				return err
			case asJSON:
				report, err := runs.At(dir).Report(run, nil)
				if err != nil {
					return err
				}
				return a.printJSON("runs-replay", replayed{events[:run.Events], report})
			case !chosen:
				return terminal.Events(a.stdout, events, a.colour(a.stdout))
			}
			return terminal.Show(a.stdout, run, terminal.Record{Files: runs.At(dir), Path: files.Short(dir)},
				a.colour(a.stdout))
		},
	}
	c.Flags().IntVar(&at, "at", 0, "show what was known after the event `SEQ`")
	c.Flags().BoolVar(&follow, "follow", false, "show the progress of the run until it ends")
	jsonFlag(c, &asJSON, "runs-replay")
	return c
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
		a.tell("markmill: the run was cut; markmill runs reconcile completes its record\n")
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

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// untilInterrupted is a context that Ctrl-C ends.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// indexOptions show notes, and on a terminal how far reading is.
func (a *app) indexOptions() index.Options {
	o := index.Options{Note: func(words string) { a.tell("markmill: %s\n", plain.OneLine(words)) }}
	if a.terminal(a.stderr) {
		o.Progress = func(done, total int) { a.tell("\rreading records: %d of %d\x1b[K", done, total) }
	}
	return o
}

// withIndex opens the index of the store here, brought up to date, for ask. An interrupt ends ctx.
func (a *app) withIndex(c *cobra.Command, ask func(ctx context.Context, store runs.Store, x *index.Index) error) error {
	store, _, err := a.indexed()
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(c.Context())
	defer stop()
	o := a.indexOptions()
	x, err := index.Open(ctx, store, o)
	if err = a.indexRead(ctx, o, err); err != nil {
		return err
	}
	defer x.Close()
	return a.indexRead(ctx, index.Options{}, ask(ctx, store, x))
}

// indexRead ends the line that shows how far reading is. What an interrupt cut is no error of the records.
func (a *app) indexRead(ctx context.Context, o index.Options, err error) error {
	if o.Progress != nil {
		a.tell("\r\x1b[K")
	}
	if err == nil || ctx.Err() == nil {
		return err
	}
	a.tell("markmill: interrupted\n")
	return exit(130)
}

// reindexed is what runs maintain reindex --json prints.
type reindexed struct {
	Index   string  `json:"index"`   // path of the database
	Runs    int     `json:"runs"`    // how many runs it has
	Seconds float64 `json:"seconds"` // that it took
}

func (a *app) runsReindex() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "reindex", Short: "Rebuild the index of the runs from their records", Args: args(0, 0),
		Long: `Reads every journal and makes .markmill/index.db again. Nothing needs this in daily use: the commands that
read the index bring it up to date, and make a damaged one again by themselves. It is for a journal that was
changed after its run, and for a machine that lost its power. The records are only read.

Exit codes: 0 made, 1 it cannot be written, 2 usage, 130 interrupted.`,
		Example: "  markmill runs maintain reindex\n  markmill runs maintain reindex --json",
		RunE: func(c *cobra.Command, _ []string) error {
			store, _, err := a.here()
			if err != nil {
				return err
			}
			ctx, stop := untilInterrupted(c.Context())
			defer stop()
			o, began := a.indexOptions(), time.Now()
			count, err := index.Rebuild(ctx, store, o)
			if err = a.indexRead(ctx, o, err); err != nil {
				return err
			}
			a.tell("indexed %s\n", plain.Counted(count, "run"))
			if !asJSON {
				return nil
			}
			return a.printJSON("runs-reindex", reindexed{store.IndexFile(), count, time.Since(began).Seconds()})
		},
	}
	jsonFlag(c, &asJSON, "runs-reindex")
	return c
}

// reindex tells the index of runs that changed. What it misses, the next question finds.
func (p *places) reindex(store runs.Store, changed ...runs.RunID) {
	_ = index.Update(context.Background(), store, changed...)
}

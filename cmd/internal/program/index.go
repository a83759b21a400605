package program

import (
	"context"

	"github.com/spf13/cobra"

	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// IndexOptions show notes, and on a terminal how far reading is.
func (a *App) IndexOptions() index.Options {
	o := index.Options{Note: func(words string) { a.Tell("markmill: %s\n", plain.OneLine(words)) }}
	if a.Terminal(a.Stderr) {
		o.Progress = func(done, total int) { a.Tell("\rreading records: %d of %d\x1b[K", done, total) }
	}
	return o
}

// WithIndex opens the index of the store here, brought up to date, for ask. An interrupt ends ctx.
func (a *App) WithIndex(c *cobra.Command, ask func(ctx context.Context, store runs.Store, x *index.Index) error) error {
	store, _, err := a.Indexed()
	if err != nil {
		return err
	}
	ctx, stop := UntilInterrupted(c.Context())
	defer stop()
	o := a.IndexOptions()
	x, err := index.Open(ctx, store, o)
	if err = a.IndexRead(ctx, o, err); err != nil {
		return err
	}
	defer x.Close()
	return a.IndexRead(ctx, index.Options{}, ask(ctx, store, x))
}

// IndexRead ends the line that shows how far reading is. What an interrupt cut is no error of the records.
func (a *App) IndexRead(ctx context.Context, o index.Options, err error) error {
	if o.Progress != nil {
		a.Tell("\r\x1b[K")
	}
	if err == nil || ctx.Err() == nil {
		return err
	}
	a.Tell("markmill: interrupted\n")
	return Exit(130)
}

// Reindex tells the index of runs that changed. What it misses, the next question finds.
func (p *Places) Reindex(store runs.Store, changed ...runs.RunID) {
	_ = index.Update(context.Background(), store, changed...)
}

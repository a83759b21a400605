package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/sheet"
	"markmill/runs"
	"markmill/runs/index"
)

// runStats is what list --stats --json prints.
type runStats struct {
	Notebooks []*index.Stats `json:"notebooks"` // those with the most runs first
	DiskUse   int64          `json:"disk_use"`  // bytes of the records
}

func (a *app) listStats(c *cobra.Command, opt listOptions) error {
	from, err := timeOption("--since", opt.since, a.now())
	if err != nil {
		return err
	}
	return a.stats(c, index.Filter{Notebook: opt.notebook, Since: from}, opt.json)
}

func (a *app) stats(c *cobra.Command, filter index.Filter, asJSON bool) error {
	var found []*index.Stats
	var used int64
	err := a.withIndex(c, func(ctx context.Context, store runs.Store, x *index.Index) (err error) {
		found, err = x.Stats(filter)
		for _, s := range found {
			for _, id := range s.IDs {
				if err := ctx.Err(); err != nil {
					return err
				}
				s.Bytes += store.DiskUse(id)
			}
			used += s.Bytes
		}
		return err
	})
	if err != nil {
		return err
	}
	doc := runStats{Notebooks: append([]*index.Stats{}, found...), DiskUse: used}
	if asJSON {
		return a.printJSON("runs-stats", doc)
	}
	if len(found) == 0 {
		return say(a.stdout, "No run matches.\n")
	}
	return a.printStats(found, filter.Notebook != "")
}

// printStats prints a line for each notebook, and with whole what there is to say of each.
func (a *app) printStats(found []*index.Stats, whole bool) error {
	t := newGrid("notebook", "runs", "pass", "p50", "p95", "disk", "flaky", "last green")
	for _, s := range found {
		rate, green := "", "never"
		if s.PassRate != nil {
			rate = fmt.Sprintf("%.1f%%", 100**s.PassRate)
		}
		if s.LastGreen != nil {
			green = s.LastGreen.Started.UTC().Format(time.DateTime) + "Z"
		}
		t.add(s.Notebook, s.Runs, rate, took(s.P50), took(s.P95), plain.Size(s.Bytes), len(s.Flaky), green)
	}
	if err := t.Write(a.stdout, "table"); err != nil || !whole {
		return err
	}
	for _, s := range found {
		steps := newGrid("step", "runs", "failed", "p50", "p95", "max")
		for _, one := range s.Steps {
			steps.add(one.Step, one.Runs, one.Failed, took(one.P50), took(one.P95), took(one.Most))
		}
		slow := newGrid("slowest", "took")
		for _, one := range s.Slowest {
			slow.add(string(one.Run), took(one.Seconds))
		}
		flaky := newGrid("flaky: newest failed", "passed", "failed")
		for _, one := range s.Flaky {
			flaky.add(string(one.Newest), one.Passed, one.Failed)
		}
		if err := say(a.stdout, "\n%s\n", s.Notebook); err != nil {
			return err
		}
		for _, part := range []*grid{steps, slow, flaky} {
			if len(part.Rows) == 0 {
				continue
			}
			if err := say(a.stdout, "\n"); err != nil {
				return err
			}
			if err := part.Write(a.stdout, "table"); err != nil {
				return err
			}
		}
	}
	return nil
}

// grid is a table for a terminal.
type grid struct{ sheet.Sheet }

func newGrid(columns ...string) *grid { return &grid{sheet.Sheet{Columns: columns}} }

// add adds a row of texts and numbers.
func (l *grid) add(cells ...any) {
	row := make([]codec.Raw, len(cells))
	for i, cell := range cells {
		text, err := codec.Marshal(cell)
		if err != nil {
			text = []byte(`"?"`) // a name that is not UTF-8
		}
		row[i] = text
	}
	l.Rows = append(l.Rows, row)
}

func took(seconds float64) string {
	return render.Duration(time.Duration(seconds * float64(time.Second)))
}

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

// runStats is what runs stats --json prints.
type runStats struct {
	Notebooks []*index.Stats `json:"notebooks"` // those with the most runs first
	DiskUse   int64          `json:"disk_use"`  // bytes of the records
}

func (a *app) runsStats() *cobra.Command {
	var asJSON bool
	var since string
	c := &cobra.Command{
		Use:   "stats [NOTEBOOK]",
		Short: "Show how often runs pass, how long they and their steps take, and which are flaky",
		Args:  args(0, 1),
		Long: `Counts the runs that are kept, by notebook: how many passed of those that passed or failed, the median and
the 95th percentile of their time, when one passed last, and how much disk their records use. With NOTEBOOK
(its path, the end of it, or a pattern), it also shows each step, the slowest runs, and what is flaky: runs
with the same source, base commit and parameters, some of which passed and some failed.

Exit codes: 0 counted, 1 the records cannot be read, 2 usage.`,
		Example: "  markmill runs stats\n  markmill runs stats report.md --since 30d\n" +
			"  markmill runs stats --json | jq '.notebooks[] | select(.pass_rate < 0.9) | .notebook'",
		RunE: func(c *cobra.Command, words []string) error {
			from, err := timeOption("--since", since, a.now())
			if err != nil {
				return err
			}
			return a.stats(c, index.Filter{Notebook: wordOr(words, ""), Since: from}, asJSON)
		},
	}
	jsonFlag(c, &asJSON, "runs-stats")
	c.Flags().StringVar(&since, "since", "", "only runs that started at this time or later: 2026-01-31, 12h, 7d")
	return c
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

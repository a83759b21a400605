package list

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// RunStats is what list --stats --json prints.
type RunStats struct {
	Notebooks []*index.Stats `json:"notebooks"` // those with the most runs first
	DiskUse   int64          `json:"disk_use"`  // bytes of the records
}

func listStats(a *program.App, c *cobra.Command, opt listOptions) error {
	from, err := program.TimeOption("--since", opt.since, a.Now())
	if err != nil {
		return err
	}
	return stats(a, c, index.Filter{Notebook: opt.notebook, Since: from}, opt.json)
}

func stats(a *program.App, c *cobra.Command, filter index.Filter, asJSON bool) error {
	var found []*index.Stats
	var used int64
	err := a.WithIndex(c, func(ctx context.Context, store runs.Store, x *index.Index) (err error) {
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
	doc := RunStats{Notebooks: append([]*index.Stats{}, found...), DiskUse: used}
	if asJSON {
		return a.PrintJSON("runs-stats", doc)
	}
	if len(found) == 0 {
		return program.Say(a.Stdout, "No run matches.\n")
	}
	return printStats(a, found, filter.Notebook != "")
}

// printStats prints a line for each notebook, and with whole what there is to say of each.
func printStats(a *program.App, found []*index.Stats, whole bool) error {
	t := program.NewGrid("notebook", "runs", "pass", "p50", "p95", "disk", "flaky", "last green")
	for _, s := range found {
		rate, green := "", "never"
		if s.PassRate != nil {
			rate = fmt.Sprintf("%.1f%%", 100**s.PassRate)
		}
		if s.LastGreen != nil {
			green = s.LastGreen.Started.UTC().Format(time.DateTime) + "Z"
		}
		t.Add(s.Notebook, s.Runs, rate, program.Took(s.P50), program.Took(s.P95), plain.Size(s.Bytes), len(s.Flaky),
			green)
	}
	if err := t.Write(a.Stdout, "table"); err != nil || !whole {
		return err
	}
	for _, s := range found {
		steps := program.NewGrid("step", "runs", "failed", "p50", "p95", "max")
		for _, one := range s.Steps {
			steps.Add(one.Step, one.Runs, one.Failed, program.Took(one.P50), program.Took(one.P95),
				program.Took(one.Most))
		}
		slow := program.NewGrid("slowest", "took")
		for _, one := range s.Slowest {
			slow.Add(string(one.Run), program.Took(one.Seconds))
		}
		flaky := program.NewGrid("flaky: newest failed", "passed", "failed")
		for _, one := range s.Flaky {
			flaky.Add(string(one.Newest), one.Passed, one.Failed)
		}
		if err := program.Say(a.Stdout, "\n%s\n", s.Notebook); err != nil {
			return err
		}
		for _, part := range []*program.Grid{steps, slow, flaky} {
			if len(part.Rows) == 0 {
				continue
			}
			if err := program.Say(a.Stdout, "\n"); err != nil {
				return err
			}
			if err := part.Write(a.Stdout, "table"); err != nil {
				return err
			}
		}
	}
	return nil
}

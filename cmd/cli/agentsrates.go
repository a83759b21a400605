package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"markmill/runs"
	"markmill/runs/index"
)

// agentRates is what agent rates --json prints.
type agentRates struct {
	Rates []*index.BackendRate `json:"rates"` // by the names of backend and model
}

func (a *app) agentsRates() *cobra.Command {
	var asJSON bool
	var since string
	c := &cobra.Command{
		Use: "rates [NOTEBOOK]", Short: "Show how often the runs of each coding agent pass, and their time and cost",
		Args: args(0, 1),
		Long: `Counts the recorded runs with an agent's step, by backend and model: the share that passed of those that passed or
failed, how many were blocked, the median and the 95th percentile of the duration, the mean number of tokens and the
total cost, if the agent reports them. NOTEBOOK (a path, the end of one, or a pattern) selects runs. Runs that carried
the agent's step over from another run, such as the second judgement of an attempt, do not count.

Exit codes: 0 counted, 1 the records cannot be read, 2 usage.`,
		Example: "  markmill agent rates\n  markmill agent rates task.md --since 30d",
		RunE: func(c *cobra.Command, words []string) error {
			from, err := timeOption("--since", since, a.now())
			if err != nil {
				return err
			}
			return a.showRates(c, index.Filter{Notebook: wordOr(words, ""), Since: from}, asJSON)
		},
	}
	jsonFlag(c, &asJSON, "agents-rates")
	c.Flags().StringVar(&since, "since", "", "only runs that started at this time or later: 2026-01-31, 12h, 7d")
	return c
}

func (a *app) showRates(c *cobra.Command, filter index.Filter, asJSON bool) error {
	var rates []*index.BackendRate
	err := a.withIndex(c, func(_ context.Context, _ runs.Store, x *index.Index) (err error) {
		rates, err = x.BackendRates(filter)
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.printJSON("agents-rates", agentRates{rates})
	case len(rates) == 0:
		return say(a.stdout, "No run with an agent's step matches.\n")
	}
	t := newGrid("backend", "model", "runs", "passed", "failed", "blocked", "pass", "p50", "p95", "tokens", "USD")
	for _, r := range rates {
		var pass, p50, p95 string
		var tokens, cost any
		if r.PassRate != nil {
			pass, p50, p95 = fmt.Sprintf("%.1f%%", 100**r.PassRate), took(r.P50), took(r.P95)
		}
		if r.Tokens > 0 {
			tokens = int64(r.Tokens)
		}
		if r.CostUSD > 0 {
			cost = r.CostUSD
		}
		t.add(r.Backend, r.Model, r.Runs, r.Passed, r.Failed, r.Blocked, pass, p50, p95, tokens, cost)
	}
	return t.Write(a.stdout, "table")
}

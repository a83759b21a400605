package agent

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/runs"
	"markmill/runs/index"
)

// AgentRates is what agent rates --json prints.
type AgentRates struct {
	Rates []*index.BackendRate `json:"rates"` // by the names of backend and model
}

func agentsRates(a *program.App) *cobra.Command {
	var asJSON bool
	var since string
	c := &cobra.Command{
		Use: "rates [NOTEBOOK]", Short: "Show how often the runs of each coding agent pass, and their time and cost",
		Args: program.Args(0, 1),
		Long: `Counts the recorded runs with an agent's step, by backend and model: the share that passed of those that passed or
failed, how many were blocked, the median and the 95th percentile of the duration, the mean number of tokens and the
total cost, if the agent reports them. NOTEBOOK (a path, the end of one, or a pattern) selects runs. Runs that carried
the agent's step over from another run, such as the second judgement of an attempt, do not count.

Exit codes: 0 counted, 1 the records cannot be read, 2 usage.`,
		Example: "  markmill agent rates\n  markmill agent rates task.md --since 30d",
		RunE: func(c *cobra.Command, words []string) error {
			from, err := program.TimeOption("--since", since, a.Now())
			if err != nil {
				return err
			}
			return showRates(a, c, index.Filter{Notebook: program.WordOr(words, ""), Since: from}, asJSON)
		},
	}
	program.JSONFlag(c, &asJSON, "agents-rates")
	c.Flags().StringVar(&since, "since", "", "only runs that started at this time or later: 2026-01-31, 12h, 7d")
	return c
}

func showRates(a *program.App, c *cobra.Command, filter index.Filter, asJSON bool) error {
	var rates []*index.BackendRate
	err := a.WithIndex(c, func(_ context.Context, _ runs.Store, x *index.Index) (err error) {
		rates, err = x.BackendRates(filter)
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.PrintJSON("agents-rates", AgentRates{rates})
	case len(rates) == 0:
		return program.Say(a.Stdout, "No run with an agent's step matches.\n")
	}
	t := program.NewGrid("backend", "model", "runs", "passed", "failed", "blocked", "pass", "p50", "p95", "tokens",
		"USD")
	for _, r := range rates {
		var pass, p50, p95 string
		var tokens, cost any
		if r.PassRate != nil {
			pass, p50, p95 = fmt.Sprintf("%.1f%%", 100**r.PassRate), program.Took(r.P50), program.Took(r.P95)
		}
		if r.Tokens > 0 {
			tokens = int64(r.Tokens)
		}
		if r.CostUSD > 0 {
			cost = r.CostUSD
		}
		t.Add(r.Backend, r.Model, r.Runs, r.Passed, r.Failed, r.Blocked, pass, p50, p95, tokens, cost)
	}
	return t.Write(a.Stdout, "table")
}

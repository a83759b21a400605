package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/runs/exchange"
	"markmill/runs"
)

func runsPush(a *program.App) *cobra.Command {
	return exchangeCommand(a, &cobra.Command{
		Use: "push [REMOTE [RUN…]]", Short: "Send records of runs to a Git remote, for others to verify",
		Long: `Sends the records of runs to a remote: as commits on the refs refs/markmill/records/RUN, which no clone fetches
by default. REMOTE is a remote of the repository (default: its only one), an address or a folder. Without RUN, all
runs go that have ended. Each record is verified first. A record on the remote is never replaced. The repository of the working
directory is not changed.

For SSH, the keys of the agent and those of ~/.ssh without a passphrase are offered, to hosts in known_hosts alone;
for HTTP a password stands in the address. Credential helpers are not asked.

Exit codes: 0 the remote has the runs; 1 a record does not hold, the remote has another one, or it cannot be
written; 2 there is no such run or remote; 130 interrupted.`,
		Example: "  markmill runs push origin last\n  markmill runs push ../shared.git",
		Args:    program.Args(0, -1),
	}, "pushed", exchange.Exchange.Push, func(store runs.Store, word string) (runs.RunID, error) {
		id, _, err := store.Find(word)
		return id, err
	})
}

func runsPull(a *program.App) *cobra.Command {
	return exchangeCommand(a, &cobra.Command{
		Use: "pull [REMOTE [RUN…]]", Short: "Take records of runs from a Git remote, and verify them",
		Long: `Takes records that runs push sent to a remote (default: the only one of the repository). RUN is a whole id; without it, all come. Each record is verified
before it is among the runs here: one that does not hold, or that is none, is refused, and a run that is here is
never replaced. The repository of the working directory is not changed. markmill verify RUN then says
who signed a run.

Exit codes: 0 the runs are here; 1 a record was refused, or the remote cannot be read; 2 there is no such run
or remote; 130 interrupted.`,
		Example: "  markmill runs pull origin\n  markmill verify last",
		Args:    program.Args(0, -1),
	}, "pulled", exchange.Exchange.Pull, func(_ runs.Store, word string) (runs.RunID, error) {
		if id := runs.RunID(word); id.Valid() {
			return id, nil
		}
		return "", program.Usagef("%q is not the id of a run; runs pull takes whole ids, such as "+
			"20260131T120000Z-report-1a2b",
			word)
	})
}

// exchangeCommand makes a command of an exchange with a remote.
func exchangeCommand(a *program.App,
	c *cobra.Command, done string,
	do func(exchange.Exchange, context.Context, []runs.RunID) (*exchange.Result, error),
	find func(runs.Store, string) (runs.RunID, error),
) *cobra.Command {
	var asJSON bool
	var max int64
	c.RunE = func(c *cobra.Command, words []string) error {
		if max < 1 || max > 1<<20 {
			return program.Usagef("--max-mb %d is not between 1 and 1048576", max)
		}
		store, src, err := a.Here()
		if err != nil {
			return err
		}
		signers, err := a.Signers("", engines.RootOf(src))
		if err != nil {
			return err
		}
		var ids []runs.RunID
		for _, word := range words[min(1, len(words)):] {
			id, err := find(store, word)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		ctx, stop := program.UntilInterrupted(c.Context())
		defer stop()
		e := exchange.Exchange{Store: store, Source: src, Remote: program.WordOr(words, ""), Max: max << 20,
			Signers: signers, Tell: a.Tell}
		result, err := do(e, ctx, ids)
		if errors.Is(err, context.Canceled) {
			a.Tell("markmill: interrupted\n")
			return program.Exit(130)
		}
		if err != nil && (result == nil || asJSON) {
			return err
		}
		a.Reindex(store, result.Runs...)
		if asJSON {
			return a.PrintJSON("runs-exchange", result)
		}
		for _, id := range result.Runs {
			if err := program.Say(a.Stdout, "%s %s\n", done, id); err != nil {
				return err
			}
		}
		a.Tell("%s %d runs; %d were there\n", done, len(result.Runs), len(result.There))
		return err
	}
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "runs-exchange")
	c.Flags().Int64Var(&max, "max-mb", 1024, "how much the remote may send, packed and unpacked, in megabytes")
	return c
}

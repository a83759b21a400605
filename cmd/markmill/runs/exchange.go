package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/engine/worktree"
	"markmill/engine/worktree/exchange"
	"markmill/engine/worktree/object"
	"markmill/notebooks"
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
	}, "pushed", exchanged.push, func(store runs.Store, word string) (runs.RunID, error) {
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
	}, "pulled", exchanged.pull, func(_ runs.Store, word string) (runs.RunID, error) {
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
	do func(exchanged, context.Context, []runs.RunID) (*Exchanged, error),
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
		e := exchanged{Store: store, Source: src, Remote: program.WordOr(words, ""), Max: max << 20,
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

// exchanged is a store and what it exchanges records with. Nothing unverified passes: a record is verified before it is
// sent, and again before one that was fetched gets its name in the store.
type exchanged struct {
	Store   runs.Store
	Source  *worktree.Source // whose remotes have names, and which has the base commits; nil is none
	Remote  string           // a name of a remote, an address or a folder
	Max     int64            // bytes that the remote may send, packed and unpacked
	Signers runs.Signers
	// Tell gets a line for each part of the work that takes time.
	Tell func(format string, args ...any)
}

// Exchanged is what runs push and runs pull print with --json.
type Exchanged struct {
	Remote string       `json:"remote"` // without a password
	Runs   []runs.RunID `json:"runs"`   // that were sent or taken
	There  []runs.RunID `json:"there"`  // that the other side had already
}

// open opens the remote over a scratch repository in the store.
func (e exchanged) open() (*exchange.Remote, func() error, error) {
	scratch, remove, err := e.Store.Scratch()
	if err != nil {
		return nil, nil, err
	}
	root, sha256 := "", false
	if e.Source != nil {
		root, sha256 = e.Source.Root(), e.Source.Format == object.SHA256
	}
	remote, err := exchange.Open(root, e.Remote, scratch, sha256, e.Max)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return remote, remove, nil
}

// push sends runs to the remote: those of ids or, without any, all that have ended. A run whose record does not hold is
// an error, and then nothing is sent.
func (e exchanged) push(ctx context.Context, ids []runs.RunID) (result *Exchanged, err error) {
	if len(ids) == 0 {
		entries, err := e.Store.List()
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !entry.FinishedAt.IsZero() {
				ids = append(ids, entry.ID)
			}
		}
	}
	records := map[runs.RunID]*runs.Record{}
	e.Tell("verifying %d runs\n", len(ids))
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		record := e.Store.Record(id)
		if err := e.verify(id, record); err != nil {
			return nil, err
		}
		records[id] = record
	}
	remote, remove, err := e.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	e.Tell("pushing to %s\n", remote.Name)
	sent, err := remote.Push(ctx, records)
	if err != nil {
		return nil, err
	}
	result = &Exchanged{Remote: remote.Name, Runs: append([]runs.RunID{}, sent...), There: []runs.RunID{}}
	for id := range records {
		if !slices.Contains(sent, id) {
			result.There = append(result.There, id)
		}
	}
	slices.Sort(result.There)
	return result, nil
}

// pull takes runs from the remote: those of ids or, without any, all. A record that does not hold is refused, and so is
// one of a run that is in the store with other bytes; the others are taken all the same, and the error says which were
// refused.
func (e exchanged) pull(ctx context.Context, ids []runs.RunID) (result *Exchanged, err error) {
	remote, remove, err := e.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	offered, err := remote.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.Contains(offered, id) {
			return nil, &notebooks.Error{Kind: notebooks.KindOption, Hint: "name a whole id, or none to pull all runs",
				Msg: fmt.Sprintf("%s has no run %q; it has %d", remote.Name, id, len(offered))}
		}
	}
	if len(ids) == 0 {
		ids = offered
	}
	e.Tell("fetching %d runs from %s\n", len(ids), remote.Name)
	if err := remote.Fetch(ctx, ids); err != nil {
		return nil, err
	}
	result = &Exchanged{Remote: remote.Name, Runs: []runs.RunID{}, There: []runs.RunID{}}
	var refused error
	for _, id := range ids {
		there, err := e.take(ctx, remote, id)
		switch {
		case errors.Is(err, context.Canceled):
			return result, err
		case err != nil:
			refused = errors.Join(refused, err)
		case there:
			result.There = append(result.There, id)
		default:
			result.Runs = append(result.Runs, id)
		}
	}
	return result, refused
}

// errThere ends the admission of a run that the store has, and errMore that of one which had more decisions on it.
var (
	errThere = errors.New("it is there")
	errMore  = errors.New("it is there, with fewer decisions")
)

// take puts one fetched run into the store; there is true if the store has the same.
func (e exchanged) take(ctx context.Context, remote *exchange.Remote, id runs.RunID) (there bool, err error) {
	err = e.Store.Admit(id, func(to string) error {
		if err := remote.Unpack(ctx, id, to); err != nil {
			return err
		}
		fetched := runs.At(to)
		if own := e.Store.Record(id); own.Has("") {
			return e.compare(id, own, fetched)
		}
		return e.verify(id, fetched)
	})
	switch {
	case errors.Is(err, errThere):
		return true, nil
	case errors.Is(err, errMore):
		return false, nil
	case err != nil:
		return false, err
	}
	record := e.Store.Record(id)
	list, err := record.Decisions()
	if err == nil {
		err = record.LogDecisions(list)
	}
	return false, err
}

// compare returns errThere if a fetched record is that of the store, else an error.
func (e exchanged) compare(id runs.RunID, own, fetched *runs.Record) error {
	mine, err := own.ReadFile(runs.SumsFile)
	if err == nil {
		var theirs []byte
		theirs, err = fetched.ReadFile(runs.SumsFile)
		if err == nil && bytes.Equal(mine, theirs) {
			if err = e.verify(id, fetched); err != nil {
				return err
			}
			more, err := own.TakeDecisions(fetched)
			switch {
			case err != nil:
				return &notebooks.Error{Kind: notebooks.KindRecord, File: own.Path(), Err: err,
					Msg:  fmt.Sprintf("run %s is here with other decisions than %s has: %s", id, e.Remote, err),
					Hint: "markmill verify shows whether those here hold"}
			case more > 0:
				return errMore
			}
			return errThere
		}
	}
	return &notebooks.Error{Kind: notebooks.KindRecord, File: own.Path(), Err: err,
		Msg:  fmt.Sprintf("run %s is here with other bytes than %s has, and is not replaced", id, e.Remote),
		Hint: "markmill verify shows whether the one here holds"}
}

// verify returns an error unless a record is complete, of the run id, and holds.
func (e exchanged) verify(id runs.RunID, record *runs.Record) error {
	refuse := func(format string, args ...any) error {
		return &notebooks.Error{Kind: notebooks.KindRecord, File: filepath.Base(record.Path()),
			Msg: "the record of run " + string(id) + " is refused: " + fmt.Sprintf(format, args...)}
	}
	if record.Alive() && record.Path() == e.Store.Path(id) {
		return refuse("the run has not ended")
	}
	v, err := records.VerifyRecord(record, e.Source, e.Signers)
	switch {
	case err != nil:
		return refuse("%s", err)
	case len(v.Findings) > 0:
		return refuse("%s (%d findings)", v.Findings[0], len(v.Findings))
	case v.Run == nil || v.Run.ID != id:
		return refuse("it is of another run")
	case v.Run.Completed == nil:
		return refuse("the run has not ended")
	case !record.Has(runs.SumsFile):
		return refuse("it has no %s", runs.SumsFile)
	}
	return nil
}

func runsFetch(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "fetch RUN", Short: "Write the commits of a run to the repository, to look at them with Git",
		Args: program.Args(1, 1),
		Long: `Writes the commits of a run, which its record keeps in commits.bundle, to the repository of the working
directory: one pack, and the ref refs/markmill/runs/RUN. Besides run --branch, no other command adds anything
to .git. The branches, the index and the checkout stay as they are. git fetch FILE does the same with the
bundle itself.

Exit codes: 0 the ref is there, 1 the bundle cannot be read, 2 there is no such run, or it has no commits.`,
		Example: "  markmill runs fetch last\n  git log --stat refs/markmill/runs/RUN",
		RunE: func(c *cobra.Command, words []string) error {
			_, src, err := a.Here()
			if err != nil {
				return err
			}
			if src == nil {
				return program.Usagef("fetch needs a Git repository, and the working directory is in none")
			}
			run, dir, err := a.Find(words[0])
			if err != nil {
				return err
			}
			switch done := run.Completed; {
			case done == nil:
				return program.Usagef("run %s has not ended; its commits are written at its end", run.ID)
			case done.Bundle == nil:
				return program.Usagef("run %s has no commits: it %s", run.ID, withoutCommits(run))
			}
			release, err := runs.LockOwn(dir) // what a killed fetch leaves is removed with the run
			if err != nil {
				return err
			}
			defer release()
			bundle, err := worktree.OpenBundle(runs.At(dir).File(runs.BundleFile))
			if err != nil {
				return err
			}
			defer bundle.Close()
			ref, err := src.Fetch(c.Context(), bundle, string(run.ID))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, ref)
			return err
		},
	}
}

// withoutCommits says why a run that has ended has no bundle.
func withoutCommits(run *runs.Run) string {
	switch {
	case run.Started.Repository == "":
		return "worked in no repository"
	case run.Diff == nil:
		return fmt.Sprintf("ended, %s, before its change was looked at", run.Status())
	case len(run.Diff.Files) == 0:
		return "changed nothing"
	}
	return "was cut, or showed a secret"
}

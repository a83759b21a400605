// Package exchange sends records of runs to a Git remote and takes them from one, as markmill runs push and runs pull
// do.
//
// It owns which runs go, and that nothing unverified passes: a record is verified before it is sent, and again before
// one that was fetched gets its name in the store. A run that is in the store is never replaced.
package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"markmill/cmd/internal/records"
	"markmill/engine/worktree"
	"markmill/engine/worktree/exchange"
	"markmill/engine/worktree/object"
	"markmill/notebooks"
	"markmill/runs"
)

// Exchange is a store and what it exchanges records with.
type Exchange struct {
	Store   runs.Store
	Source  *worktree.Source // whose remotes have names, and which has the base commits; nil is none
	Remote  string           // a name of a remote, an address or a folder
	Max     int64            // bytes that the remote may send, packed and unpacked
	Signers runs.Signers
	// Tell, which may be nil, gets a line for each part of the work that takes time.
	Tell func(format string, args ...any)
}

// Result is what an exchange did.
type Result struct {
	Remote string       `json:"remote"` // without a password
	Runs   []runs.RunID `json:"runs"`   // that were sent or taken
	There  []runs.RunID `json:"there"`  // that the other side had already
}

func (e Exchange) tell(format string, args ...any) {
	if e.Tell != nil {
		e.Tell(format, args...)
	}
}

// open opens the remote over a scratch repository in the store.
func (e Exchange) open() (*exchange.Remote, func() error, error) {
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

// Push sends runs to the remote: those of ids or, without any, all that have ended. A run whose record does not hold is
// an error, and then nothing is sent.
func (e Exchange) Push(ctx context.Context, ids []runs.RunID) (result *Result, err error) {
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
	e.tell("verifying %d runs\n", len(ids))
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
	e.tell("pushing to %s\n", remote.Name)
	sent, err := remote.Push(ctx, records)
	if err != nil {
		return nil, err
	}
	result = &Result{Remote: remote.Name, Runs: append([]runs.RunID{}, sent...), There: []runs.RunID{}}
	for id := range records {
		if !slices.Contains(sent, id) {
			result.There = append(result.There, id)
		}
	}
	slices.Sort(result.There)
	return result, nil
}

// Pull takes runs from the remote: those of ids or, without any, all. A record that does not hold is refused, and so is
// one of a run that is in the store with other bytes; the others are taken all the same, and the error says which were
// refused.
func (e Exchange) Pull(ctx context.Context, ids []runs.RunID) (result *Result, err error) {
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
	e.tell("fetching %d runs from %s\n", len(ids), remote.Name)
	if err := remote.Fetch(ctx, ids); err != nil {
		return nil, err
	}
	result = &Result{Remote: remote.Name, Runs: []runs.RunID{}, There: []runs.RunID{}}
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
func (e Exchange) take(ctx context.Context, remote *exchange.Remote, id runs.RunID) (there bool, err error) {
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
func (e Exchange) compare(id runs.RunID, own, fetched *runs.Record) error {
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
func (e Exchange) verify(id runs.RunID, record *runs.Record) error {
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

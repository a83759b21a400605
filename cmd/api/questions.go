package api

import (
	"context"
	"time"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/lookup"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/status"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks/diff"
	"markmill/render/documents"
	"markmill/render/review"
	"markmill/runs"
)

// Status is which outputs still hold.
type Status = status.Status

// NewEngine returns an engine with the settings of the repository around a folder, and that repository (nil outside of
// one). If the program markmill is on the PATH, steps have the commands glue and scrap, and the sandbox is complete.
func NewEngine(folder string) (*engine.Engine, *worktree.Source, error) { return engines.New(folder) }

// Rebuild writes the files again that follow from a journal, for runs.Record.Reconcile.
func Rebuild(record *runs.Record, run *runs.Run) error { return records.Rebuild(record, run) }

// Diff compares two notebooks, output notebooks, run directories or paths of a revision (REV:PATH), as `markmill diff`
// does.
func Diff(a, b string, how diff.Options) (*diff.Diff, error) {
	before, err := lookup.Reader{}.Side(a)
	if err != nil {
		return nil, err
	}
	after, err := lookup.Reader{}.Side(b)
	if err != nil {
		return nil, err
	}
	return diff.Compare(before.Doc, after.Doc, how), nil
}

// Scraps reads what runs recorded: of run directories, output notebooks, and folders of them. What cannot be read is in
// the errors, by its name.
func Scraps(places ...string) (list []*documents.Recorded, unread map[string]error, err error) {
	found, err := lookup.Reader{}.Places(places)
	if err != nil {
		return nil, nil, err
	}
	unread = map[string]error{}
	lookup.Reader{}.Scraps(found, func(r *documents.Recorded) { list = append(list, r) },
		func(place string, err error) { unread[place] = err })
	return list, unread, nil
}

// StatusOf says which outputs of the repository around a folder still hold, as `markmill status` does. at is a
// revision; "" is the checkout.
func StatusOf(ctx context.Context, folder, at string) (*Status, error) {
	eng, repo, err := repository(folder)
	if err != nil {
		return nil, err
	}
	return status.Of(ctx, repo, status.Options{At: at, Store: eng.Store(repo.Root())})
}

// Review compares the notebooks of two revisions of the repository around a folder, as `markmill review` does without
// its judges: BASE..HEAD, BASE...HEAD, or "" for the checkout and where it left the default branch.
func Review(ctx context.Context, folder, revisions string) (*review.Review, error) {
	eng, repo, err := repository(folder)
	if err != nil {
		return nil, err
	}
	return branchreview.Review(ctx, repo, revisions, branchreview.Options{FailOn: review.DefaultFailOn,
		Store: eng.Store(repo.Root()), Now: time.Now()})
}

// repository is that around a folder, with its engine. Outside of one it returns worktree.ErrNoRepository.
func repository(folder string) (*engine.Engine, *worktree.Source, error) {
	eng, repo, err := engines.New(folder)
	if err == nil && repo == nil {
		err = worktree.ErrNoRepository
	}
	return eng, repo, err
}

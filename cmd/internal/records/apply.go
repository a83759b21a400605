package records

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/engine/worktree/apply"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// AppliedFile is the file of a store with a line for every change of a run that was applied to a checkout.
const AppliedFile = "applied.jsonl"

// Applied is a line of AppliedFile.
type Applied struct {
	Time       time.Time      `json:"time"`
	RunID      runs.RunID     `json:"run_id"`
	Status     runs.Status    `json:"status"`
	Patch      runs.Digest    `json:"patch_digest"`
	Data       []string       `json:"data,omitempty"`  // files that Git ignores; the patch was not applied
	Checkout   string         `json:"checkout"`        // root of the repository
	Branch     string         `json:"branch,omitzero"` // that was made, with the checkout left as it is
	User       string         `json:"user"`
	Forced     bool           `json:"forced"`
	Overridden []runs.Blocker `json:"overridden,omitempty"` // why the run did not pass
	Rejected   string         `json:"rejected,omitzero"`    // the operator's decision that was overridden
	Reverted   bool           `json:"reverted,omitzero"`    // the change was taken back
}

// Apply applies the change of the run in a directory to the checkout of src: all of it, or nothing when it does not
// fit. The apply is recorded in the store before the first file changes. Whether a run that did not pass may be applied
// is for the caller to decide. A run that the policy requires an acceptance of, and that has none, is an
// engine.NotAcceptedError; so is one that an operator rejected, unless force is set.
func Apply(ctx context.Context, eng *engine.Engine, src *worktree.Source, run *runs.Run, dir string, force bool) (
	apply.Applied, error) {
	record := runs.At(dir)
	line, err := applied(eng, src, run, record, force)
	if err != nil {
		return apply.Applied{}, err
	}
	patch, err := patchOf(run, record)
	if err != nil {
		return apply.Applied{}, err
	}
	return apply.Apply(ctx, src.Repo, string(run.ID), run.Diff.Files, patch, func() error {
		return line.append(eng.Store(src.Root()))
	})
}

// Revert takes the change of the run in a directory back from the checkout of src: all of it, or nothing where files
// changed since. It is recorded in the store before the first file changes.
func Revert(ctx context.Context, eng *engine.Engine, src *worktree.Source, run *runs.Run, dir string) (
	apply.Applied, error) {
	patch, err := patchOf(run, runs.At(dir))
	if err != nil {
		return apply.Applied{}, err
	}
	line := Applied{Time: eng.Now().UTC(), RunID: run.ID, Status: run.Status(), Patch: run.Diff.PatchDigest,
		Checkout: src.Root(), User: eng.User, Reverted: true}
	return apply.Revert(ctx, src.Repo, string(run.ID), run.Diff.Files, patch, func() error {
		return line.append(eng.Store(src.Root()))
	})
}

// patchOf is the patch of a run, as its journal records it.
func patchOf(run *runs.Run, record *runs.Record) ([]byte, error) {
	patch, err := record.ReadFile(runs.PatchFile)
	if err == nil && runs.DigestOf(patch) != run.Diff.PatchDigest {
		err = &notebooks.Error{Kind: notebooks.KindArtifact, File: record.File(runs.PatchFile),
			Msg: "is not the patch that the journal records", Hint: "see markmill verify"}
	}
	return patch, err
}

// Branch makes a branch of the change of the run in a directory, as run --branch does, and returns its commit. It asks
// for an acceptance as Apply does.
func Branch(ctx context.Context, eng *engine.Engine, src *worktree.Source, run *runs.Run, dir, name string,
	force bool) (string, error) {
	record := runs.At(dir)
	line, err := applied(eng, src, run, record, force)
	if err != nil {
		return "", err
	}
	if base := run.Contract.BaseCommit; base != "" {
		if _, err := src.Resolve(base); err != nil {
			return "", &notebooks.Error{Kind: notebooks.KindInput, File: src.Root(), Err: err,
				Msg:  fmt.Sprintf("does not have the base commit of run %s, %s", run.ID, base),
				Hint: "fetch a branch that has it"}
		}
	}
	line.Branch = name
	if err := line.append(eng.Store(src.Root())); err != nil {
		return "", err
	}
	return eng.Branch(ctx, src, run, record, name)
}

// ApplyData moves what a run wrote and Git ignores, and is kept beside its record, into the checkout of src: all of it
// that may be there, or nothing where files changed since the run began, unless force is set. It asks for an acceptance
// as Apply does.
func ApplyData(eng *engine.Engine, src *worktree.Source, run *runs.Run, dir string, force bool) (engine.AppliedData,
	error) {
	record := runs.At(dir)
	line := Applied{Time: eng.Now().UTC(), RunID: run.ID, Status: run.Status(), Checkout: src.Root(), User: eng.User,
		Forced: force}
	if err := eng.CheckAcceptance(src, run, record); err != nil {
		return engine.AppliedData{}, err
	}
	return eng.ApplyData(src, run, record, force, func(names []string) error {
		line.Data = names
		return line.append(eng.Store(src.Root()))
	})
}

// applied is the line about an apply. The error says why the change of the run may not be used; force overrides a
// rejection that no policy insists on, and the line has it.
func applied(eng *engine.Engine, src *worktree.Source, run *runs.Run, record *runs.Record, force bool) (
	Applied, error) {
	line := Applied{Time: eng.Now().UTC(), RunID: run.ID, Status: run.Status(), Patch: run.Diff.PatchDigest,
		Checkout: src.Root(), User: eng.User}
	if line.Forced = line.Status != runs.Pass; line.Forced {
		line.Overridden = run.Blockers()
	}
	var no *engine.NotAcceptedError
	err := eng.CheckAcceptance(src, run, record)
	if errors.As(err, &no) && !no.Required && force {
		line.Forced, line.Rejected, err = true, no.Why, nil
	}
	return line, err
}

// append adds the line to AppliedFile, before anything is applied.
func (a Applied) append(store runs.Store) error {
	text, err := codec.Marshal(a)
	if err == nil {
		err = store.Writer.Append(filepath.Join(store.Dir, AppliedFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("the apply cannot be recorded, so nothing was changed: %w", err)
	}
	return nil
}

// PruneData removes data that is kept beside records until it is no more than the retention says. Its words name the
// runs of which data was removed; "" if that is none.
func PruneData(store runs.Store, r engine.Retention) (words string, err error) {
	gone, err := store.PruneData(r.DataBytes())
	if len(gone) > 0 {
		words = fmt.Sprintf("what %s wrote and Git ignores is not kept any more: more than %s were (retention: data:)",
			plain.Some(gone, 3), plain.Size(r.DataBytes()))
	}
	return words, err
}

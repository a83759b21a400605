package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"markmill/engine/worktree"
	"markmill/engine/worktree/apply"
	"markmill/notebooks"
	"markmill/notebooks/codec"
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
	Checkout   string         `json:"checkout"`
	User       string         `json:"user"`
	Forced     bool           `json:"forced"`
	Overridden []runs.Blocker `json:"overridden,omitempty"` // why the run did not pass
}

// Apply applies the change of the run in a directory to the checkout of src: all of it, or nothing when it does not
// fit. The apply is recorded in store before the first file changes. Whether a run that did not pass may be applied is
// for the caller to decide.
func Apply(ctx context.Context, src *worktree.Source, store runs.Store, run *runs.Run, dir string, now time.Time,
	user string) (apply.Applied, error) {
	patch, err := runs.At(dir).ReadFile(runs.PatchFile)
	if err != nil {
		return apply.Applied{}, err
	}
	if runs.DigestOf(patch) != run.Diff.PatchDigest {
		return apply.Applied{}, &notebooks.Error{Kind: notebooks.KindArtifact, File: runs.At(dir).File(runs.PatchFile),
			Msg: "is not the patch that the journal records", Hint: "see markmill runs verify"}
	}
	line := Applied{Time: now.UTC(), RunID: run.ID, Status: run.Status(), Patch: run.Diff.PatchDigest,
		Checkout: src.Root(), User: user}
	if line.Forced = line.Status != runs.Pass; line.Forced {
		line.Overridden = run.Blockers()
	}
	return apply.Apply(ctx, src.Repo, string(run.ID), run.Diff.Files, patch, func() error {
		if err := line.append(filepath.Join(store.Dir, AppliedFile)); err != nil {
			return fmt.Errorf("the apply cannot be recorded, so nothing was changed: %w", err)
		}
		return nil
	})
}

func (a Applied) append(file string) error {
	text, err := codec.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

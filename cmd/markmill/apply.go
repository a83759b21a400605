package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
)

func (a *app) runsApply() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "apply RUN", Short: "Put what a run changed onto the checkout",
		Long: `Applies the patch of a run to the files of the checkout: all of it, or, when it does not fit,
nothing. The index and the commits are left alone. A run that did not pass is refused, with its reasons; --force applies it
all the same. Every apply is recorded in applied.jsonl beside the runs, with what --force has overridden.

The new files are made beside the checkout first and then take their places. A kill in the middle leaves each file old or new; the same
command again finishes it.

Exit codes: 0 applied, or there is nothing to apply; 1 it does not fit, or the run did not pass; 2 there is no such run; 3 the run was
blocked; 130 interrupted, and nothing was changed.`,
		Example: "  markmill runs apply last\n  markmill runs apply last --force", Args: args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			return a.apply(c.Context(), words[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "apply the change of a run that did not pass, too; this is recorded")
	return c
}

func (a *app) apply(ctx context.Context, word string, force bool) error {
	store, src, err := a.here()
	if err != nil {
		return err
	}
	if src == nil {
		return usagef("apply needs a Git repository, and the working directory is in none")
	}
	run, dir, err := a.find(word)
	if err != nil {
		return err
	}
	if refused := a.refuseApply(run, force); refused != nil {
		return refused
	}
	if run.Diff == nil || run.Diff.Skipped != "" || len(run.Diff.Files) == 0 {
		fmt.Fprintf(a.stderr, "run %s changed nothing: there is nothing to apply\n", run.ID)
		return nil
	}
	patch, err := os.ReadFile(filepath.Join(dir, runs.PatchFile))
	if err != nil {
		return err
	}
	if runs.DigestOf(patch) != run.Diff.PatchDigest {
		return &notebooks.Error{Kind: notebooks.KindArtifact, File: filepath.Join(dir, runs.PatchFile),
			Msg: "is not the patch that the journal records", Hint: "see markmill runs verify"}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // from the first rename on they wait for its end
	defer stop()
	done, err := worktree.Apply(ctx, src, string(run.ID), run.Diff.Files, patch, func() error { return a.recordApply(store, src, run, force) })
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "markmill: interrupted; nothing was changed")
		return exit(130)
	case err != nil:
		fmt.Fprintln(a.stderr, "markmill: "+plain.Escape(err.Error()))
		return exit(exitFail)
	case done.There:
		fmt.Fprintf(a.stderr, "the checkout has the change of %s already\n", run.ID)
		return nil
	}
	what := "applied the change of"
	if done.Resumed {
		what = "finished applying the change of"
	}
	fmt.Fprintf(a.stderr, "%s %s: %s\n", what, run.ID, render.ChangeWords(run.Diff.Files))
	return nil
}

// refuseApply says why a run's change may not be applied, or with force what that overrides; nil when it may.
func (a *app) refuseApply(run *runs.Run, force bool) error {
	status := run.Status()
	if status == runs.Pass {
		return nil
	}
	nothing := run.Diff == nil || run.Diff.Skipped != "" || len(run.Diff.Files) == 0
	head := fmt.Sprintf("run %s is %s", run.ID, verdictWords(status))
	if nothing {
		head += " and changed nothing"
	}
	fmt.Fprintln(a.stderr, "markmill: "+head)
	for _, b := range run.Blockers() {
		fmt.Fprintln(a.stderr, "  "+plain.Escape(blockerLine(b)))
	}
	switch {
	case nothing:
		fmt.Fprintln(a.stderr, "there is nothing to apply")
	case force:
		fmt.Fprintln(a.stderr, "--force overrides this, and is recorded")
		return nil
	case status == runs.Running:
		fmt.Fprintln(a.stderr, "wait for its end, or complete it with markmill runs reconcile")
	default:
		fmt.Fprintln(a.stderr, "its change is not applied; --force applies it all the same, and that is recorded")
	}
	if status == runs.Blocked {
		return exit(exitBlocked)
	}
	return exit(exitFail)
}

func verdictWords(status runs.Status) string {
	switch status {
	case runs.Fail:
		return "failed"
	case runs.Running:
		return "not complete"
	}
	return string(status)
}

// appliedFile is beside the runs: a line for every time that a change was applied to the checkout.
const appliedFile = "applied.jsonl"

// applied is a line of applied.jsonl.
type applied struct {
	Time       time.Time      `json:"time"`
	RunID      runs.RunID     `json:"run_id"`
	Status     runs.Status    `json:"status"`
	Patch      runs.Digest    `json:"patch_digest"`
	Checkout   string         `json:"checkout"`
	User       string         `json:"user"`
	Forced     bool           `json:"forced"`
	Overridden []runs.Blocker `json:"overridden,omitempty"` // why the run did not pass
}

// recordApply writes the line before the first file is changed: a change that cannot be recorded is not made.
func (a *app) recordApply(store runs.Store, src *worktree.Source, run *runs.Run, force bool) error {
	line := applied{Time: a.now().UTC(), RunID: run.ID, Status: run.Status(), Patch: run.Diff.PatchDigest, Checkout: src.Root(), User: userName()}
	if line.Forced = force && line.Status != runs.Pass; line.Forced {
		line.Overridden = run.Blockers()
	}
	text, err := codec.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(store.Dir, appliedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the apply cannot be recorded, and so nothing was changed: %w", err)
	}
	_, err = f.WriteString(strings.TrimSuffix(string(text), "\n") + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the apply cannot be recorded, and so nothing was changed: %w", err)
	}
	return nil
}

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
	"markmill/runs"
)

func (a *app) runsApply() *cobra.Command {
	var force, asJSON bool
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
			return a.apply(c.Context(), words[0], force, asJSON)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "apply the change of a run that did not pass, too; this is recorded")
	jsonFlag(c, &asJSON, "apply")
	return c
}

// appliedRun is what runs apply --json prints.
type appliedRun struct {
	RunID   runs.RunID         `json:"run_id"`
	Applied bool               `json:"applied"`
	Files   []runs.ChangedFile `json:"files"`
	Message string             `json:"message,omitzero"` // why it was not applied, or what was found
}

func (a *app) apply(ctx context.Context, word string, force, asJSON bool) error {
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
	// end says what came of it, to people and to programs.
	end := func(applied bool, code int, format string, args ...any) error {
		a.tell(format+"\n", args...)
		if asJSON {
			out := appliedRun{RunID: run.ID, Applied: applied, Files: []runs.ChangedFile{}, Message: strings.TrimPrefix(fmt.Sprintf(format, args...), "markmill: ")}
			if run.Diff != nil {
				out.Files = append(out.Files, run.Diff.Files...)
			}
			if err := a.printJSON("apply", out); err != nil {
				return err
			}
		}
		if code == exitPass {
			return nil
		}
		return exit(code)
	}
	if words, code := a.refuseApply(run, force); code != exitPass {
		return end(false, code, "%s", words)
	}
	if run.Started.Folder != "" {
		return end(false, exitPass, "run %s worked in the folder itself: its change is there", run.ID)
	}
	if run.Diff == nil || run.Diff.Skipped != "" || len(run.Diff.Files) == 0 {
		return end(false, exitPass, "run %s changed nothing: there is nothing to apply", run.ID)
	}
	patch, err := runs.At(dir).ReadFile(runs.PatchFile)
	if err != nil {
		return err
	}
	if runs.DigestOf(patch) != run.Diff.PatchDigest {
		return &notebooks.Error{Kind: notebooks.KindArtifact, File: runs.At(dir).File(runs.PatchFile),
			Msg: "is not the patch that the journal records", Hint: "see markmill runs verify"}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // from the first rename on they wait for its end
	defer stop()
	done, err := worktree.Apply(ctx, src, string(run.ID), run.Diff.Files, patch, func() error { return a.recordApply(store, src, run, force) })
	what := "applied the change of"
	switch {
	case errors.Is(err, context.Canceled):
		return end(false, 130, "markmill: interrupted; nothing was changed")
	case err != nil:
		return end(false, exitFail, "markmill: %s", err)
	case done.There:
		return end(true, exitPass, "the checkout has the change of %s already", run.ID)
	case done.Resumed:
		what = "finished applying the change of"
	}
	return end(true, exitPass, "%s %s: %s", what, run.ID, render.ChangeWords(run.Diff.Files))
}

// refuseApply says why a run's change may not be applied, with the exit code of that, or with force what that
// overrides; the code is exitPass when it may.
func (a *app) refuseApply(run *runs.Run, force bool) (words string, code int) {
	status := run.Status()
	if status == runs.Pass {
		return "", exitPass
	}
	nothing := run.Diff == nil || run.Diff.Skipped != "" || len(run.Diff.Files) == 0
	head := fmt.Sprintf("run %s is %s", run.ID, verdictWords(status))
	if nothing {
		head += " and changed nothing"
	}
	a.tell("markmill: %s\n", head)
	for _, b := range run.Blockers() {
		a.tell("  %s\n", blockerLine(b))
	}
	switch {
	case nothing:
		words = "there is nothing to apply"
	case force:
		a.tell("--force overrides this, and is recorded\n")
		return "", exitPass
	case status == runs.Running:
		words = "wait for its end, or complete it with markmill runs reconcile"
	default:
		words = "its change is not applied; --force applies it all the same, and that is recorded"
	}
	if status == runs.Blocked {
		return words, exitBlocked
	}
	return words, exitFail
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

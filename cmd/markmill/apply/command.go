package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/engine"
	"markmill/engine/worktree/apply"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
)

func Command(a *program.App) *cobra.Command {
	var force, data, noOutput, asJSON bool
	var branch string
	c := &cobra.Command{
		Use: "apply RUN", Short: "Apply the change of a run to the checkout, or to a new branch",
		Long: `Applies the patch of a run to the files of the checkout: all of it or, when it does not fit, nothing. The
index and the commits stay as they are. A run that did not pass is refused, with its reasons; --force applies
it anyway. So is a run that was rejected (runs reject). Where the policy says acceptance: required, a run that
nobody has accepted (runs accept) is refused, also with --force. Every apply is recorded in applied.jsonl beside the
runs, with what --force has overridden.

With --branch NAME the change becomes a branch on the run's base, with the output notebook in a commit of its own unless
--no-output is given, as with run --branch, and the checkout stays as it is.

With --data the files that the run wrote and Git ignores, which are kept beside its record, are moved into the checkout
instead: by one rename each, and all of them or none. A file that changed in the checkout since the run began is named,
and stays as it is unless --force is given. Left where they are, and named, are files that Git tracks in the checkout and
files that a tool or a shell may obey, such as .env.

The new files are written beside the checkout first and then renamed into place. A kill in between leaves
each file old or new, and the same command again finishes the apply.

Exit codes: 0 applied, or there is nothing to apply; 1 it does not fit, or the run did not pass; 2 there is
no such run; 3 the run was blocked, or is not accepted; 130 interrupted, and nothing was changed.`,
		Example: "  markmill apply last\n  markmill apply last --branch fix\n" +
			"  markmill apply last --force",
		Args: program.Args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			if c.Flags().Changed("branch") && branch == "" {
				return program.Usagef("--branch names no branch; give a name, or leave the option out")
			}
			if noOutput && branch == "" {
				return program.Usagef("--no-output is of --branch, which puts the output notebook on a branch")
			}
			if data && branch != "" {
				return program.Usagef(
					"--data and --branch exclude each other: a branch holds no files that Git ignores")
			}
			if data {
				return applyData(a, words[0], force, asJSON)
			}
			return run(c.Context(), a, words[0], applyOptions{force: force, json: asJSON, branch: branch,
				noOutput: noOutput})
		},
	}
	c.Flags().BoolVar(&force, "force", false,
		"also apply the change of a run that did not pass, or was rejected; this is recorded")
	c.Flags().BoolVar(&data, "data", false, "move what the run wrote and Git ignores into the checkout")
	c.Flags().StringVar(&branch, "branch", "", "make the branch `NAME` of the change, and leave the checkout as it is")
	c.Flags().BoolVar(&noOutput, "no-output", false, "with --branch: leave the output notebook out of the branch")
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "apply")
	return c
}

func RevertCommand(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "revert RUN", Short: "Take the change of a run back from the checkout",
		Long: `Takes the patch of a run back from the files of the checkout, as markmill apply put it there: all of it or, when
files changed since, nothing. The index and the commits stay as they are. It is recorded in applied.jsonl, as every
apply is. A run that was applied and then rejected (runs reject) is taken back so. It needs Git.

Exit codes: 0 taken back, or there is nothing to take back; 1 files changed since; 2 there is no such run; 130
interrupted, and nothing was changed.`,
		Example: "  markmill revert last",
		Args:    program.Args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			return run(c.Context(), a, words[0], applyOptions{reverse: true, json: asJSON})
		},
	}
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "apply")
	return c
}

// applyOptions are the options of apply and revert.
type applyOptions struct {
	force, json, reverse, noOutput bool
	branch                         string
}

// AppliedRun is what apply and revert print with --json.
type AppliedRun struct {
	RunID    runs.RunID         `json:"run_id"`
	Applied  bool               `json:"applied"`
	Reverted bool               `json:"reverted,omitzero"` // taken back
	Branch   string             `json:"branch,omitzero"`   // that was made
	Commit   string             `json:"commit,omitzero"`   // of the branch
	Files    []runs.ChangedFile `json:"files"`
	Data     []string           `json:"data,omitempty"`   // files that Git ignores and that were put into the checkout
	Message  string             `json:"message,omitzero"` // why it was not applied, or what was found
}

func run(ctx context.Context, a *program.App, word string, o applyOptions) error {
	eng, err := a.EngineHere("apply needs a Git repository")
	if err != nil {
		return err
	}
	src := eng.Source
	run, dir, err := a.Find(word)
	if err != nil {
		return err
	}
	commit := ""
	// end prints the result, for people and for programs.
	end := func(applied bool, code int, format string, args ...any) error {
		a.Tell(format+"\n", args...)
		if o.json {
			message := strings.TrimPrefix(fmt.Sprintf(format, args...), "markmill: ")
			out := AppliedRun{RunID: run.ID, Applied: applied && !o.reverse, Reverted: applied && o.reverse,
				Files: []runs.ChangedFile{}, Message: message}
			if commit != "" {
				out.Branch, out.Commit = o.branch, commit
			}
			if run.Diff != nil {
				out.Files = append(out.Files, run.Diff.Files...)
			}
			if err := a.PrintJSON("apply", out); err != nil {
				return err
			}
		}
		return program.EndWith(code)
	}
	if !o.reverse {
		if words, code := refuseApply(a, run, o.force); code != program.ExitPass {
			return end(false, code, "%s", words)
		}
	}
	if run.Started.Folder != "" {
		return end(false, program.ExitPass, "run %s worked in the folder itself: its change is there", run.ID)
	}
	if run.Diff == nil || run.Diff.Skipped != "" || len(run.Diff.Files) == 0 {
		return end(false, program.ExitPass, "run %s changed nothing: there is nothing to apply or take back", run.ID)
	}
	ctx, stop := program.UntilInterrupted(ctx) // ignored after the first rename
	defer stop()
	var done apply.Applied
	switch {
	case o.reverse:
		done, err = records.Revert(ctx, eng, src, run, dir)
	case o.branch == "":
		done, err = records.Apply(ctx, eng, src, run, dir, o.force)
	default:
		if commit, err = records.Branch(ctx, eng, src, run, dir, o.branch, o.force); err == nil && !o.noOutput {
			err = launch.BranchOutput(a, src, o.branch, dir, run)
		}
	}
	var damaged *notebooks.Error
	var no *engine.NotAcceptedError
	what := "applied the change of"
	switch {
	case errors.As(err, &no) && !no.Required:
		return end(false, program.ExitFail, "markmill: %s; --force applies its change anyway, and that is recorded",
			err)
	case errors.As(err, &no):
		return end(false, program.ExitBlocked, "markmill: %s", err)
	case errors.Is(err, context.Canceled):
		return end(false, 130, "markmill: interrupted; nothing was changed")
	case errors.As(err, &damaged) && damaged.Kind == notebooks.KindArtifact:
		return err
	case err != nil:
		return end(false, program.ExitFail, "markmill: %s", err)
	case o.branch != "":
		return end(true, program.ExitPass, "the branch %s has the change of %s, as commit %.12s: %s", o.branch, run.ID,
			commit,
			render.ChangeWords(run.Diff.Files))
	case o.reverse && done.There:
		return end(true, program.ExitPass, "the checkout does not have the change of %s", run.ID)
	case o.reverse:
		return end(true, program.ExitPass, "took the change of %s back: %s", run.ID, render.ChangeWords(run.Diff.Files))
	case done.There:
		return end(true, program.ExitPass, "the checkout has the change of %s already", run.ID)
	case done.Resumed:
		what = "finished applying the change of"
	}
	return end(true, program.ExitPass, "%s %s: %s", what, run.ID, render.ChangeWords(run.Diff.Files))
}

// applyData moves what a run wrote and Git ignores into the checkout.
func applyData(a *program.App, word string, force, asJSON bool) error {
	eng, err := a.EngineHere("apply needs a Git repository")
	if err != nil {
		return err
	}
	run, dir, err := a.Find(word)
	if err != nil {
		return err
	}
	out := AppliedRun{RunID: run.ID, Files: []runs.ChangedFile{}}
	got, err := records.ApplyData(eng, eng.Source, run, dir, force)
	if err != nil {
		return err
	}
	code := program.ExitPass
	switch {
	case len(got.Differ) > 0:
		code, out.Message = program.ExitFail, strings.Join(got.Differ, "; ")+
			": nothing was changed; --force puts the run's there"
	case len(got.Done) > 0:
		out.Applied, out.Data = true, got.Done
		out.Message = fmt.Sprintf("put into the checkout: %s, %s", plain.Some(got.Done, 5), plain.Size(got.Bytes))
	case len(got.Gone) > 0:
		code = program.ExitFail
	case run.Data == nil:
		out.Message = fmt.Sprintf("run %s wrote nothing that Git ignores", run.ID)
	case len(got.Left) == 0:
		out.Applied, out.Message = true, fmt.Sprintf("the checkout has the data of %s already", run.ID)
	}
	if len(got.Gone) > 0 {
		out.Message = strings.TrimPrefix(out.Message+"; not kept here: "+plain.Some(got.Gone, 5)+
			": removed (retention: in markmill.yaml), or the run was made on another machine", "; ")
	}
	if len(got.Left) > 0 {
		if len(got.Done) == 0 {
			code = program.ExitFail
		}
		left := fmt.Sprintf("left in %s: %s", files.Short(runs.At(dir).DataDir()), plain.Some(got.Left, 5))
		out.Message = strings.TrimPrefix(out.Message+"; "+left, "; ")
	}
	a.Line(out.Message)
	if asJSON {
		if err := a.PrintJSON("apply", out); err != nil {
			return err
		}
	}
	return program.EndWith(code)
}

// refuseApply says why a run's change may not be applied, with an exit code; exitPass when it may. With force it says
// what is overridden.
func refuseApply(a *program.App, run *runs.Run, force bool) (words string, code int) {
	status := run.Status()
	if status == runs.Pass {
		return "", program.ExitPass
	}
	nothing := run.Diff == nil || run.Diff.Skipped != "" || len(run.Diff.Files) == 0
	words = cmp.Or(map[runs.Status]string{runs.Fail: "failed", runs.Running: "not complete"}[status], string(status))
	head := fmt.Sprintf("run %s is %s", run.ID, words)
	if nothing {
		head += " and changed nothing"
	}
	a.Tell("markmill: %s\n", head)
	for _, b := range run.Blockers() {
		a.Tell("  %s\n", b.Line())
	}
	switch {
	case nothing:
		words = "there is nothing to apply"
	case force:
		a.Tell("--force overrides this, and is recorded\n")
		return "", program.ExitPass
	case status == runs.Running:
		words = "wait for its end, or complete it with markmill runs maintain reconcile"
	default:
		words = "its change is not applied; --force applies it anyway, and that is recorded"
	}
	if status == runs.Blocked {
		return words, program.ExitBlocked
	}
	return words, program.ExitFail
}

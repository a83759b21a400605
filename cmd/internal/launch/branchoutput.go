package launch

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// BranchOutput commits the output notebook of a run to the branch that holds its change, on top of that: where OUTPUT
// is, or else as NAME.out.md beside the notebook. What stands outside of the repository is not committed, what Git
// ignores neither, which is told, and nothing where an earlier run made the branch.
func BranchOutput(a *program.App, src *worktree.Source, branch, dir string, run *runs.Run) error {
	if by, _ := src.RunOfBranch(branch); by != string(run.ID) {
		return nil
	}
	at, inside := run.Started.SourcePath, filepath.IsLocal(filepath.FromSlash(run.Started.SourcePath))
	if inside {
		at = (&review.Output{Source: at}).Target()
	}
	if run.Started.Output != "" {
		at, inside = src.Relative(run.Started.Output)
	}
	if !inside {
		return nil
	}
	made, err := runview.RunOutput(a, dir, at, "")
	if err != nil {
		return err
	}
	list := map[string][]byte{at: made.Text}
	for _, in := range made.Pictures() {
		err := views.WritePictures(in, func(_ runs.RunID, name string, data []byte) error {
			list[path.Join(path.Dir(at), name)] = data
			return nil
		})
		if err != nil {
			return err
		}
	}
	visible, ignored := src.Visible(), []string{}
	for name := range list {
		if tracked, err := src.Tracked(name); err != nil {
			return err
		} else if !tracked && !visible.Has(name, false) {
			ignored = append(ignored, name)
			delete(list, name)
		}
	}
	if slices.Sort(ignored); len(ignored) > 0 {
		a.Tell("markmill: not on the branch %s, because Git ignores it: %s\n", plain.Escape(branch),
			plain.Some(ignored, 3))
	}
	if list[at] == nil {
		return nil
	}
	release, err := runs.LockOwn(dir) // with its mark, by which what a crash leaves in .git is found and removed
	if err != nil {
		return err
	}
	defer release()
	_, err = src.CommitTo(worktree.NewFiles{Branch: branch, RunID: string(run.ID), Files: list,
		Message: fmt.Sprintf("Output of %s\n\n%s: %s\n%s: %s\n", run.Started.Notebook, worktree.RunTrailer, run.ID,
			worktree.OutputTrailer, at),
		Program: engine.Author, Now: run.FinishedAt, Noted: func(worktree.OID) error { return nil }})
	return err
}

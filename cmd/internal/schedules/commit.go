package schedules

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// OutputOf is the path of the output of a due time in the repository, "" without one. req is the request of its run.
func OutputOf(n *Notebook, r *schedule.Run, eng *engine.Engine, req engine.Request) (string, error) {
	if n.Output == "" {
		return "", nil
	}
	output, err := views.OutputPath(schedule.Output(n.Schedule, r.Due.In(n.Times.Zone)), eng, req)
	if err == nil && !filepath.IsLocal(filepath.FromSlash(output)) {
		at := n.At["output"]
		err = &notebooks.Error{Kind: notebooks.KindOption, File: n.Path, Line: at.Line, Col: at.Col,
			Msg: fmt.Sprintf("schedule: output: is %s with these values, which leads out of the repository", output)}
	}
	return path.Clean(output), err
}

// Commit commits the output of a run that passed, with its pictures, to the branch that the schedule names. It returns
// the commit, "" if the branch has the same. noted gets it before the branch has it: a run that goes on meanwhile must
// know why a branch of its repository moves. program is markmill.
func Commit(ctx context.Context, program string, repo *worktree.Source, store runs.Store, n *Notebook, r *schedule.Run,
	noted func(string) error) (string, error) {
	run, _, err := store.Record(runs.RunID(r.ID)).Load()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "markmill-commit-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, program, "convert", store.Path(run.ID), filepath.Join(dir, path.Base(r.Output)))
	cmd.Dir = repo.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the output cannot be made: %w: %s", err, strings.TrimSpace(string(out)))
	}
	made := map[string][]byte{}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err == nil {
			made[path.Join(path.Dir(r.Output), filepath.ToSlash(rel))], err = os.ReadFile(name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	due := r.Due.In(n.Times.Zone).Format("2006-01-02 15:04 -07:00")
	commit, err := repo.CommitTo(worktree.NewFiles{Branch: n.Commit, RunID: string(run.ID), Files: made,
		Message: fmt.Sprintf("%s, due %s\n\n%s: %s\n", n.Path, due, worktree.RunTrailer, run.ID),
		Program: engine.Author, Now: run.FinishedAt.In(n.Times.Zone),
		Noted: func(oid worktree.OID) error { return noted(string(oid)) }})
	return string(commit), err
}

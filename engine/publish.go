package engine

import (
	"context"
	"fmt"
	"markmill/engine/worktree"
	"markmill/runs"
	"os"
	"path/filepath"
)

// publish puts the run's commits into its record, and on a branch of the source repository if one was asked for and the
// run passed. It is the last step that can fail.
func (r *run) publish(ctx context.Context) (err error) {
	if r.ws.tree == nil || r.verdict.leaks() {
		return nil
	}
	if r.bundle, err = r.ws.tree.Bundle(r.rec.dir); err != nil {
		return fmt.Errorf("the run's commits cannot be written: %w", err)
	}
	name := r.plan.request.Branch
	var commits *worktree.Bundle
	if r.bundle != nil && (name != "" || r.plan.mask != nil) {
		if commits, err = worktree.OpenBundle(filepath.Join(r.rec.dir, runs.BundleFile)); err != nil {
			return err
		}
		defer commits.Close()
		if err := r.searchCommits(commits); err != nil {
			return err
		}
	}
	if name == "" || len(r.verdict.blockers) > 0 || r.whole.Err() != nil {
		return nil
	}
	total, err := r.ws.tree.Total(ctx)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s\n\n%s: %s\n", r.title(), worktree.RunTrailer, r.id)
	_, err = worktree.Branch(r.plan.source, commits, string(r.id), name, r.ws.tree.Base(), total.Tree, message, author,
		r.eng.Now())
	return err
}

// searchCommits removes a bundle that shows a secret: the uncommitted changes that a run began with were not searched
// before.
func (r *run) searchCommits(commits *worktree.Bundle) error {
	if r.plan.mask == nil {
		return nil
	}
	found, err := commits.Any(r.plan.mask.In)
	if err != nil || !found {
		return err
	}
	r.rec.leak("", "the commits of the run, with the uncommitted changes that it began with")
	r.bundle = nil
	return os.Remove(filepath.Join(r.rec.dir, runs.BundleFile))
}

func (r *run) title() string {
	if t := r.plan.notebook.Front.Title; t != "" {
		return t
	}
	return r.plan.TaskID()
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/runs"
)

// Clone is a clean clone of a repository: the commit that is checked out there, in a folder and with a Git directory of
// its own, over the same objects. Uncommitted changes and files that Git ignores are not in it.
type Clone struct {
	*worktree.Source
	work *workdir
	tree *worktree.Tree
}

// Clone makes a clean clone for the run id. Close removes it; what a crash leaves of it, the next run removes.
func (e *Engine) Clone(ctx context.Context, src *worktree.Source, id runs.RunID) (_ *Clone, err error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	c := &Clone{}
	if c.work, err = e.makeApart(src.Root(), ""); err != nil {
		return nil, artifact(err)
	}
	c.tree, err = worktree.Create(ctx, src, worktree.Options{RunID: string(id), Dir: c.work.Tree, Base: head,
		Author: Author, Now: e.Now})
	if err == nil {
		c.Source, err = worktree.Open(c.tree.Dir())
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close removes the clone.
func (c *Clone) Close() (err error) {
	if c.tree != nil {
		err = c.tree.Close(false)
	}
	return errors.Join(err, c.work.close(false))
}

// Repeat makes the request of a run that repeats one that has ended, in a clone of its repository: the same notebook,
// values and options, on the commit that it began with, which may hold uncommitted changes of that time. It brings the
// commits of the run's record into the clone. base is another commit to begin with; "" is none. origin is the root of
// the repository that c is a clone of, and given are the values of the run's secrets. The error says why the run cannot
// be repeated.
func (e *Engine) Repeat(ctx context.Context, record *runs.Record, c *Clone, origin, base string, given []params.Given) (
	Request, error) {
	run, source, err := record.Load()
	if err != nil {
		return Request{}, err
	}
	no := func(why, hint string) error {
		return refused(fmt.Sprintf("run %s cannot be repeated: %s", run.ID, why), hint)
	}
	if why := cannotRepeat(run); why != "" {
		return Request{}, no(why, "run the notebook again")
	}
	req, err := RequestOf(run.Started.Options)
	if err != nil {
		return req, no(err.Error(), "run the notebook again")
	}
	start := base
	if start == "" {
		start, err = c.start(ctx, record, run)
	}
	if err != nil {
		return req, err
	}
	sums, err := record.Sums()
	if err != nil {
		return req, err
	}
	s := run.Started
	req.Path, req.Source, req.MadeOf, req.Assets = s.Notebook, source, s.SourcePath, s.Assets
	req.Repository, req.Origin, req.Base, req.Dirty = c.Root(), origin, start, DirtyIgnore
	req.Given = append(req.Given, given...)
	req.Rerun = &runs.RerunData{Run: run.ID, Sums: sums, Base: base}
	return req, nil
}

// cannotRepeat says why no record has what a run began with; "" if its record may have it.
func cannotRepeat(run *runs.Run) string {
	switch {
	case run.Completed == nil:
		return "it has not ended"
	case len(run.Steps) == 0:
		return "it was cut before its plan stood, and nothing of it ran"
	case run.Started.Repository == "":
		return "it worked outside a Git repository, and nobody has kept the folder as it was then"
	case run.Started.Options == nil:
		return "it was made by a version that does not record the options of a run"
	case len(run.Contract.Reversed) > 0:
		return "it is a run of markmill test, on a tree from which its change was taken back"
	}
	return ""
}

// start is the commit that a run began with: its base, or a child of it that has the uncommitted changes and that only
// the run's bundle has.
func (c *Clone) start(ctx context.Context, record *runs.Record, run *runs.Run) (string, error) {
	base := run.Contract.BaseCommit
	if _, err := c.Resolve(base); base == "" || err != nil {
		return "", &notebooks.Error{Kind: notebooks.KindInput, Err: err,
			Msg: fmt.Sprintf("run %s cannot be repeated: its base commit %s is not in this repository", run.ID, base),
			Hint: "fetch a branch that has it (git fetch, git fetch --unshallow), or repeat the run on another " +
				"commit with --base REV"}
	}
	dirty := run.Contract.Dirty == string(DirtyInclude) || run.Contract.MutationMode == runs.MutationInPlace
	if !dirty || run.Contract.DirtyFiles == 0 || run.Diff != nil && run.Diff.BaseCommit == base {
		return base, nil
	}
	if run.Completed.Bundle == nil {
		return "", refused(fmt.Sprintf("run %s cannot be repeated: its record does not have the uncommitted changes "+
			"that it began with", run.ID), "--base REV repeats it on a commit")
	}
	bundle, err := worktree.OpenBundle(record.File(run.Completed.Bundle.File))
	if err != nil {
		return "", err
	}
	defer bundle.Close()
	first, err := bundle.First()
	if err != nil {
		return "", err
	}
	ofStep := func(s runs.StepRecord) bool { return s.Finished != nil && s.Finished.Commit == string(first) }
	if slices.ContainsFunc(run.Steps, ofStep) {
		return base, nil // the changes came to nothing
	}
	_, err = c.Fetch(ctx, bundle, string(run.ID))
	return string(first), err
}

// RanAlready reports whether a recorded run did what the plan says: the same notebook, steps, kernels, parameters, base
// commit, options and rules, in a worktree without uncommitted changes. Secrets cannot be compared, because no record
// holds them.
func (p *Plan) RanAlready(r *runs.Run) bool {
	c := r.Contract
	if p.source == nil || r.Source != runs.DigestOf(p.request.Source) || r.Started.Options == nil ||
		c.Dirty == string(DirtyInclude) && c.DirtyFiles > 0 || c.MutationMode == runs.MutationInPlace ||
		!sameParameters(p.Parameters(), c.Parameters) {
		return false
	}
	return codec.Same(p.data(), r.Plan) && codec.Same(options(*p.Options()), options(*r.Started.Options)) &&
		codec.Same(terms(p.Contract()), terms(c))
}

// options are those that decide what the steps do: without given values, which are among the parameters.
func options(o runs.OptionsData) runs.OptionsData {
	o.Given, o.Branch, o.Aside, o.ReportMode, o.Timings = nil, "", false, false, false
	return o
}

// terms are what a contract allows and expects, on which commit.
func terms(c runs.ContractData) runs.ContractData {
	c.TaskID, c.Job, c.TargetRepository, c.Parameters, c.Environment = "", "", "", nil, nil
	c.Dirty, c.DirtyFiles = "", 0
	return c
}

// sameParameters compares values, but those of secrets.
func sameParameters(a, b []runs.ParamData) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		secret := a[i].Type == string(notebooks.TypeSecret)
		if a[i].Name != b[i].Name || a[i].Type != b[i].Type || !secret && !codec.Same(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}

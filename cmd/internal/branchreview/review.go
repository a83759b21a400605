// Package branchreview reviews the notebooks of a branch: it reads two commits, or a commit and the checkout, and gives
// render/review what it judges.
//
// It owns which revisions are compared, which changed files are rules (the settings and what they name, workflows of
// CI), and how far an output notebook can be trusted. What always holds: the settings of the base decide whose
// signatures count and which files are protected, so that a branch does not choose who judges it. Nothing is written.
//
// It may import everything but cmd/cmdtest.
package branchreview

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/engine/worktree/repo"
	"markmill/notebooks/diff"
	"markmill/notebooks/markdown"
	"markmill/notebooks/params"
	"markmill/render/review"
	"markmill/runs"
)

// Options say how a branch is reviewed.
type Options struct {
	Compare diff.Options
	FailOn  []review.Condition
	Require review.Level // the proof that every output must have; "" asks for none
	Current bool         // every output must be current
	Store   runs.Store   // the records that are kept here
	Now     time.Time    // decides which keys are valid
	Judged  *review.Judged
}

// Review compares the notebooks of two revisions. BASE..HEAD are two commits, BASE...HEAD is HEAD and where it left
// BASE; one commit is compared with the checkout; "" compares the checkout with where it left the default branch.
func Review(ctx context.Context, source *worktree.Source, revisions string, o Options) (*review.Review, error) {
	in := review.Input{Compare: o.Compare, FailOn: o.FailOn, Require: o.Require, Current: o.Current, Judged: o.Judged}
	if o.Judged == nil { // nobody asked
		in.FailOn = slices.DeleteFunc(slices.Clone(o.FailOn), func(c review.Condition) bool {
			return c == review.OnJudged || c == review.OnDecide
		})
	}
	var err error
	if in.BaseName, in.HeadName, err = Revisions(source, revisions); err != nil {
		return nil, err
	}
	old, err := source.CommitFiles(worktree.OID(in.BaseName.Commit))
	if err != nil {
		return nil, err
	}
	var now *worktree.Files
	if in.HeadName.Commit == "" {
		now, err = source.CheckoutFiles(ctx)
	} else {
		now, err = source.CommitFiles(worktree.OID(in.HeadName.Commit))
	}
	if err != nil {
		return nil, err
	}
	var named []repo.RunCommit
	if in.HeadName.Commit != "" {
		left, err := source.MergeBase(worktree.OID(in.BaseName.Commit), worktree.OID(in.HeadName.Commit))
		if err == nil { // histories that share nothing have no branch
			named = source.RunCommits(left, worktree.OID(in.HeadName.Commit))
		}
	}
	r, err := o.review(in, old, now, named)
	return r, errors.Join(err, now.Close())
}

func (o Options) review(in review.Input, old, now *worktree.Files, named []repo.RunCommit) (*review.Review, error) {
	changes, err := worktree.Changes(old, now, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		in.Files = append(in.Files, review.File(c))
	}
	was, unread := Settings(old) // the base is what it is: rules reports what cannot be read
	is, err := Settings(now)
	if err != nil {
		return nil, err
	}
	in.Output, in.Rules = ConfiguredOutput(is), rules(was, is, unread, changes)
	if unread != nil {
		was.Policy = nil
	}
	if was.Policy != nil {
		in.Protect = was.Policy.Rules.Protect
	}
	in.Base, in.Head, in.Matches = Tree(old, nil), Tree(now, nil), engine.MatchesAny
	in.Judges = was.JudgeFiles(nil).Is
	if in.Proof, err = Prover(old, was, o.Store, o.Now); err != nil {
		return nil, err
	}
	if in.Runs, err = runCommits(named, old, was, o); err != nil {
		return nil, err
	}
	return review.Make(in)
}

// runCommits says what is known of the runs that commits name.
func runCommits(named []repo.RunCommit, base *worktree.Files, settings engine.Config, o Options) (
	list []review.RunCommit, err error) {
	if len(named) == 0 {
		return nil, nil
	}
	prove, _, err := RecordProver(base, settings, o.Store, o.Now)
	if err != nil {
		return nil, err
	}
	for _, c := range named {
		id := runs.RunID(c.Run)
		if !id.Valid() { // whoever commits writes what he likes
			continue
		}
		words := "its record is not kept here"
		if run, _, err := o.Store.Record(id).Load(); err == nil {
			words = string(run.Status()) + ", " + string(prove(o.Store.Path(id)).Level)
			if run.Diff == nil || run.Diff.ResultTree != string(c.Tree) {
				words += ", and the commit is not what it left"
			}
		}
		list = append(list, review.RunCommit{Commit: string(c.ID), Run: c.Run, Words: words})
	}
	return list, nil
}

// Revisions resolves what is compared: see Review. A revision without a commit is the checkout.
func Revisions(repo *worktree.Source, word string) (base, head review.Revision, err error) {
	checkout := review.Revision{Name: "working tree"}
	if word == "" {
		name, at, err := repo.DefaultBase()
		return review.Revision{Name: name, Commit: string(at)}, checkout, err
	}
	from, to, range3 := strings.Cut(word, "...")
	range2 := false
	if !range3 {
		from, to, range2 = strings.Cut(word, "..")
	}
	resolve := func(rev string) (review.Revision, error) {
		rev = cmp.Or(rev, "HEAD")
		commit, err := repo.Resolve(rev)
		return review.Revision{Name: short(rev), Commit: string(commit)}, err
	}
	if base, err = resolve(from); err != nil {
		return base, head, err
	}
	if !range2 && !range3 {
		return base, checkout, nil
	}
	if head, err = resolve(to); err != nil || !range3 {
		return base, head, err
	}
	at, err := repo.MergeBase(worktree.OID(base.Commit), worktree.OID(head.Commit))
	base.Commit = string(at)
	return base, head, err
}

// short abbreviates the whole name of a commit, as CI passes it.
func short(rev string) string {
	if len(rev) >= 40 && strings.Trim(rev, "0123456789abcdef") == "" {
		return rev[:12]
	}
	return rev
}

// ConfiguredOutput returns a function that says where the setting output: puts the output of a notebook; nil without
// the setting. The function returns false for a path that only a run knows.
func ConfiguredOutput(cfg engine.Config) func(name string, source []byte) (string, bool) {
	if cfg.Output == "" {
		return nil
	}
	noEnv := func(string) (string, bool) { return "", false }
	return func(name string, source []byte) (string, bool) {
		nb, err := markdown.Parse(name, source)
		if err != nil {
			return "", false
		}
		bound, err := params.Bind(name, nb.Params, nil, params.Options{AllowUnknown: true, Getenv: noEnv})
		if err != nil { // a parameter without a default
			return "", false
		}
		out, err := params.ExpandPath(cfg.Output, bound, nil)
		if err != nil || path.IsAbs(out) || path.Ext(out) == "" || strings.HasPrefix(path.Clean(out), "../") {
			return "", false
		}
		return out, true
	}
}

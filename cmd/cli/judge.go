package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"markmill/cmd/api/branchreview"
	"markmill/cmd/api/judging"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/notebooks/params"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// judgeOptions are the options of review and gate about the judges of the base.
type judgeOptions struct {
	judge bool
	limit time.Duration
	given []params.Given
}

func (o *judgeOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.judge, "judge", false, "run BASE's tests on the code of HEAD")
	f.DurationVar(&o.limit, "judge-limit", 0, "with --judge: the limit of each run; 0 is that of the notebook")
}

// judged runs the base's judges on the branch.
func (a *app) judged(ctx context.Context, repo *worktree.Source, base, head review.Revision, o judgeOptions) (
	*review.Judged, error) {
	eng, err := a.engine(repo.Root())
	if err != nil {
		return nil, err
	}
	key, err := a.signKey(eng.Config)
	if err != nil {
		return nil, err
	}
	accepted, err := a.accepted(repo, base)
	if err != nil {
		return nil, err
	}
	process.SealDescriptors()
	ctx, stop := a.interruptible(ctx)
	defer stop()
	j, err := judging.Make(ctx, eng, repo, base, head, judging.Options{Given: o.given, Limit: o.limit,
		Accepted: accepted,
		Running:  func(notebook, on string) { a.tell("judging %s: %s\n", plain.Escape(notebook), on) },
		Sealed:   func(dir string) error { return a.signRecord(dir, key) },
		Sinks: func(*engine.Plan) (engine.Sinks, error) {
			return engine.Sinks{Views: a.views("", nil), Sign: a.signWith(key),
				Observers: []engine.Observer{{Files: a.written(&follower{})}}}, nil
		}})
	if ctx.Err() != nil {
		a.tell("markmill: interrupted: %s\n", errors.Join(err, context.Cause(ctx)))
		return nil, exit(128 + interruptedBy(ctx))
	}
	return j, err
}

// accepted are the findings that count as accepted: in the policy of BASE as it is now, which may be ahead of where the
// branch left it, and in the store, where the policy's keys must have signed them if it names any.
func (a *app) accepted(repo *worktree.Source, base review.Revision) (list []engine.Accepted, err error) {
	signers := runs.Signers{Now: a.now()}
	for _, rev := range []string{base.Name, base.Commit} {
		commit, err := repo.Resolve(rev)
		if err != nil {
			continue // a name that was shortened
		}
		files, err := repo.CommitFiles(commit)
		if err != nil {
			return nil, err
		}
		cfg, err := branchreview.Settings(files)
		if err != nil {
			return nil, err
		}
		if cfg.Policy != nil {
			list = append(list, cfg.Policy.Accepted...)
		}
		if _, signers, err = branchreview.ProverAt(repo, commit, runs.Store{}, a.now()); err != nil {
			return nil, err
		}
	}
	store, err := a.store(repo)
	if err != nil {
		return nil, err
	}
	kept, err := store.AcceptedFindings(signers)
	for _, f := range kept {
		list = append(list, engine.Accepted{ID: f.ID, By: f.By, Reason: f.Reason})
	}
	return list, err
}

// acceptFinding is review --accept.
func (a *app) acceptFinding(id, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usagef("--accept needs --reason TEXT, which reviewers read")
	}
	store, repo, err := a.repository("")
	if err != nil {
		return err
	}
	eng, err := a.engine(repo.Root())
	if err != nil {
		return err
	}
	if err := eng.OutsideRuns("accept a finding"); err != nil {
		return err
	}
	key, err := a.signKey(eng.Config)
	if err != nil {
		return err
	}
	var sign func([]byte) ([]byte, error)
	if key != "" {
		sign = func(text []byte) ([]byte, error) { return a.sign(key, runs.DecisionNamespace, text) }
	}
	f := runs.AcceptedFinding{ID: id, By: eng.User, Reason: plain.OneLine(reason), Time: a.now().UTC()}
	if err := store.AcceptFinding(f, sign); err != nil {
		return err
	}
	a.tell("accepted %s, for these two trees and this test alone\n", id)
	return nil
}

// showJudges prints the table of judge files, as the settings of the base have it.
func (a *app) showJudges(revisions string) error {
	_, repo, err := a.repository("")
	if err != nil {
		return err
	}
	base, _, err := branchreview.Revisions(repo, revisions)
	if err != nil {
		return err
	}
	old, err := repo.CommitFiles(worktree.OID(base.Commit))
	if err != nil {
		return err
	}
	cfg, err := branchreview.Settings(old)
	if err != nil {
		return err
	}
	table := cfg.JudgeFiles(nil)
	for _, line := range table.Table() {
		fmt.Fprintf(a.stdout, "%s\n", line)
	}
	names, err := old.All(table.Is)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nof %s:\n", plain.Escape(base.Name))
	for _, name := range names {
		fmt.Fprintf(a.stdout, "  %s\n", plain.Escape(name))
	}
	return nil
}

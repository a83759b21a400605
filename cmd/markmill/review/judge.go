package review

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/review/judging"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks/params"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// JudgeOptions are the options of review and gate about the judges of the base.
type JudgeOptions struct {
	Judge bool
	limit time.Duration
	Given []params.Given
}

func (o *JudgeOptions) Flags(f *pflag.FlagSet) {
	f.BoolVar(&o.Judge, "judge", false, "run BASE's tests on the code of HEAD")
	f.DurationVar(&o.limit, "judge-limit", 0, "with --judge: the limit of each run; 0 is that of the notebook")
}

// Judged runs the base's judges on the branch.
func Judged(ctx context.Context, a *program.App, repo *worktree.Source, base, head review.Revision, o JudgeOptions) (
	*review.Judged, error) {
	eng, err := a.Engine(repo.Root())
	if err != nil {
		return nil, err
	}
	sinks, err := launch.Aside(a, eng)
	if err != nil {
		return nil, err
	}
	accepted, err := accepted(a, repo, base)
	if err != nil {
		return nil, err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	j, err := judging.Make(ctx, eng, repo, base, head, judging.Options{Given: o.Given, Limit: o.limit,
		Accepted: accepted, Sinks: sinks,
		Running: func(notebook, on string) { a.Tell("judging %s: %s\n", plain.Escape(notebook), on) }})
	if ctx.Err() != nil {
		a.Tell("markmill: interrupted: %s\n", errors.Join(err, context.Cause(ctx)))
		return nil, program.Exit(128 + program.InterruptedBy(ctx))
	}
	return j, err
}

// accepted are the findings that count as accepted: in the policy of BASE as it is now, which may be ahead of where the
// branch left it, and in the store, where the policy's keys must have signed them if it names any.
func accepted(a *program.App, repo *worktree.Source, base review.Revision) (list []engine.Accepted, err error) {
	signers := runs.Signers{Now: a.Now()}
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
		if _, signers, err = branchreview.ProverAt(repo, commit, runs.Store{}, a.Now()); err != nil {
			return nil, err
		}
	}
	store, err := a.Store(repo)
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
func acceptFinding(a *program.App, id, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return program.Usagef("--accept needs --reason TEXT, which reviewers read")
	}
	store, repo, err := a.Repository("")
	if err != nil {
		return err
	}
	eng, err := a.Engine(repo.Root())
	if err != nil {
		return err
	}
	if err := eng.OutsideRuns("accept a finding"); err != nil {
		return err
	}
	key, err := a.SignKey(eng.Config)
	if err != nil {
		return err
	}
	var sign func([]byte) ([]byte, error)
	if key != "" {
		sign = func(text []byte) ([]byte, error) { return a.Sign(key, runs.DecisionNamespace, text) }
	}
	f := runs.AcceptedFinding{ID: id, By: eng.User, Reason: plain.OneLine(reason), Time: a.Now().UTC()}
	if err := store.AcceptFinding(f, sign); err != nil {
		return err
	}
	a.Tell("accepted %s, for these two trees and this test alone\n", id)
	return nil
}

// showJudges prints the table of judge files, as the settings of the base have it.
func showJudges(a *program.App, revisions string) error {
	_, repo, err := a.Repository("")
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
		fmt.Fprintf(a.Stdout, "%s\n", line)
	}
	names, err := old.All(table.Is)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\nof %s:\n", plain.Escape(base.Name))
	for _, name := range names {
		fmt.Fprintf(a.Stdout, "  %s\n", plain.Escape(name))
	}
	return nil
}

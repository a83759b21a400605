package engine

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/runs"
)

// Words of protect-mode.
const (
	protectEnforce = "enforce" // the default: a run that passes only with its own judges fails
	protectReport  = "report"  // what the judges say is recorded, and decides nothing
)

// judgeAgain runs the judging steps a second time where the run changed protected files: with the base's versions of
// these files over the result, in new interpreters, so that nothing which a step left in one has a say. Setup and
// parameter steps run before them. The worktree is then as the last step left it.
func (r *run) judgeAgain(ctx context.Context) error {
	f := r.plan.Notebook.Front
	if len(f.Protect) == 0 || r.failed != "" || len(r.blockers) > 0 || ctx.Err() != nil {
		return nil
	}
	protects := func(path string) bool { return matchAny(f.Protect, path) }
	changed := r.tree.ChangedSinceBase(protects)
	if len(changed) == 0 {
		return nil
	}
	r.judged = &runs.JudgesData{Changed: changed}
	judges := r.again()
	switch {
	case !slices.ContainsFunc(judges, isJudge):
		return nil // nobody judges the run: the change is listed
	case r.plan.mode() == runs.MutationInPlace:
		r.judged.Skipped = "the run works in place, where the base's version of a file would overwrite the user's"
		return nil
	}
	if err := r.tree.RestoreBase(ctx, protects); err != nil {
		r.judged.Skipped = "the base's version of the protected files cannot be restored: " + err.Error()
		return r.backToResult(ctx)
	}
	kept := r.sessions
	r.sessions = map[string]kernel.Session{}
	err := r.runJudges(ctx, judges)
	if cerr := r.closeSessions(); err == nil {
		err = cerr
	}
	r.sessions = kept
	if err == nil {
		err = r.dropScraps()
	}
	if err != nil {
		return err
	}
	return r.backToResult(ctx)
}

// again lists the steps that run a second time: the judges that passed, and what prepares their interpreters.
func (r *run) again() []*PlannedStep {
	used := map[string]bool{}
	for i := range r.plan.Steps {
		if s := &r.plan.Steps[i]; isJudge(s) && r.passed(s) {
			used[s.sessionKey()] = true
		}
	}
	var list []*PlannedStep
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		if s.Kernel == nil || !r.passed(s) {
			continue
		}
		prepares := s.Parameters || s.Has(notebooks.TagSetup) || s.Has(notebooks.TagInjected)
		if isJudge(s) || prepares && used[s.sessionKey()] {
			list = append(list, s)
		}
	}
	return list
}

func isJudge(s *PlannedStep) bool { return s.Has(notebooks.TagTest) || s.Has(notebooks.TagReview) }

func (r *run) passed(s *PlannedStep) bool {
	status := r.records[s.ID].Status
	return status == runs.StepPassed || status == runs.StepAllowed
}

func (r *run) runJudges(ctx context.Context, judges []*PlannedStep) error {
	for _, s := range judges {
		dir := filepath.FromSlash(path.Join(stepDir(s), runs.JudgedDir))
		if err := os.MkdirAll(r.record.File(dir), 0o755); err != nil {
			return artifact(err)
		}
		session, err := r.session(ctx, s)
		if err != nil {
			return err
		}
		done, err := r.execute(ctx, s, session, runs.StepFinishedData{Index: s.Index}, dir, r.judgedDisplays(s), nil)
		if err != nil {
			return err
		}
		r.judged.Steps = append(r.judged.Steps, runs.JudgedStep{
			VerificationStep: runs.VerificationStep{Step: s.ID, Status: done.Status, Exit: done.Exit, DurationNS: done.DurationNS, Tests: done.Tests},
			Judge:            isJudge(s), Reason: done.Reason, Stdout: done.Stdout, Stderr: done.Stderr, Displays: done.Displays, Outputs: done.Outputs})
		if !isJudge(s) && bad(done.Status) {
			return nil // nothing can be judged without what it sets up, and that is no pass
		}
	}
	return nil
}

// judgedDisplays is a folder for rich results that nobody keeps.
func (r *run) judgedDisplays(s *PlannedStep) string {
	return filepath.Join(r.work.Display, fmt.Sprintf("judged-%02d", s.Index+1))
}

// dropScraps passes over what the judges glued: the scraps of the run are those of its first pass.
func (r *run) dropScraps() error {
	info, err := os.Stat(r.work.Scraps)
	if err != nil {
		return artifact(err)
	}
	r.scrapsRead = info.Size()
	return nil
}

// backToResult makes the worktree what the last step left.
func (r *run) backToResult(ctx context.Context) error {
	_, err := r.tree.Restore(context.WithoutCancel(ctx), nil, r.tree.Last())
	return err
}

// judgeBlockers says which judges pass only with the run's own version of protected files.
func (r *run) judgeBlockers() {
	j := r.judged
	if j == nil || r.plan.Notebook.Front.ProtectMode == protectReport {
		return
	}
	rule := "protect: " + strings.Join(r.plan.Notebook.Front.Protect, ", ")
	add := func(step notebooks.StepID, words string) {
		r.blockers = append(r.blockers, runs.Blocker{Code: runs.CodeJudgeChanged, Step: step, Rule: rule, Paths: j.Changed, Message: words})
	}
	if j.Skipped != "" {
		add("", "protected files changed ("+firstOf(j.Changed)+") and nothing was judged without the change: "+j.Skipped)
	}
	for _, s := range j.Steps {
		if s.Status == runs.StepPassed || s.Status == runs.StepAllowed {
			continue
		}
		words := fmt.Sprintf("it passes only with the run's own version of %s: with the base's it ends with %s", firstOf(j.Changed), reasonOr(s.Reason, s.Exit))
		if !s.Judge {
			words = fmt.Sprintf("with the base's version of %s this setup step ends with %s, so that nothing was judged", firstOf(j.Changed), reasonOr(s.Reason, s.Exit))
		}
		add(s.Step, words)
	}
}

func reasonOr(reason string, exit int) string {
	if reason != "" {
		return reason
	}
	return fmt.Sprintf("exit %d", exit)
}

package engine

import (
	"cmp"
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

// judgeAgain runs the judging steps a second time if the run changed protected files: with the base's versions of these
// files over the result, and in new interpreters, so that nothing that a step left in an interpreter can influence
// them. Setup and parameter steps run before them. The worktree is then restored to what the last step left.
func (r *run) judgeAgain(ctx context.Context) error {
	f := r.plan.notebook.Front
	if len(f.Protect) == 0 || r.verdict.failed != "" || len(r.verdict.blockers) > 0 || ctx.Err() != nil {
		return nil
	}
	changed := JudgeFiles{Also: f.Protect, Alone: true}.Touched(r.ws.tree.ChangedSinceBase()).Judges
	if len(changed) == 0 {
		return nil
	}
	r.judged = &runs.JudgesData{Changed: changed}
	judges := r.again()
	switch {
	case !slices.ContainsFunc(judges, func(s *PlannedStep) bool { return s.Judges() }):
		return nil // nobody judges the run: the change is listed
	case r.plan.mode() == runs.MutationInPlace:
		r.judged.Skipped = "the run works in place, where the base's version of a file would overwrite the user's"
		return nil
	}
	if err := r.ws.tree.RestoreBase(ctx, changed); err != nil {
		r.judged.Skipped = "the base's version of the protected files cannot be restored: " + err.Error()
		return r.backToResult(ctx)
	}
	err := r.sessions.apart(func() error { return r.runJudges(ctx, judges) })
	if err == nil {
		err = r.dropScraps()
	}
	if err != nil {
		return err
	}
	return r.backToResult(ctx)
}

// again lists the steps that run a second time: of those that passed, the judges and what prepares for them. Every
// other step may have made the change.
func (r *run) again() (list []*PlannedStep) {
	var passed []*notebooks.Step
	var changing []notebooks.StepID
	for i := range r.plan.steps {
		if s := &r.plan.steps[i]; s.Kernel != nil && r.passed(s) {
			list, passed, changing = append(list, s), append(passed, s.Step), append(changing, s.ID)
		}
	}
	wanted := toJudge(passed, changing)
	return slices.DeleteFunc(list, func(s *PlannedStep) bool { return !wanted[s.ID] })
}

// prepares reports whether a step runs before the judges of its session, whatever else runs.
func prepares(s *notebooks.Step) bool {
	return s.Parameters || s.Has(notebooks.TagSetup) || s.Has(notebooks.TagInjected)
}

// JudgeRequest asks for a run of the judges of a notebook alone, on a tree that a caller has put together.
type JudgeRequest struct {
	// Changing are steps that make the change which is judged: the tree has it, and they do not run. An agent's step
	// is always one.
	Changing []notebooks.StepID `json:"changing,omitempty"`
	// Env are variables for the test runners. One that the notebook sets, too, has both values.
	Env map[string]string `json:"env,omitempty"`
}

// IsJudging reports whether a notebook has a step that judges, and that no agent does.
func IsJudging(nb *notebooks.Notebook) bool {
	return slices.ContainsFunc(nb.Steps, func(s *notebooks.Step) bool { return s.Judges() && !agentStep(s) })
}

func agentStep(s *notebooks.Step) bool { return s.Lang == kernel.AgentLanguage }

// toJudge are the judges among the steps and what they need: what their needs= names, what prepares an interpreter, and
// the steps before them in their language. None of them makes the change that is judged, as an agent's step does, and
// one of changing that neither judges nor prepares.
func toJudge(steps []*notebooks.Step, changing []notebooks.StepID) map[notebooks.StepID]bool {
	makes := func(s *notebooks.Step) bool {
		return agentStep(s) || !s.Judges() && !prepares(s) && slices.Contains(changing, s.ID)
	}
	wanted := map[notebooks.StepID]bool{}
	judged, used := map[string]bool{}, map[string]bool{} // languages
	for _, s := range slices.Backward(steps) {
		judged[s.Lang] = judged[s.Lang] || s.Judges() && !makes(s)
		needed := wanted[s.ID] || judged[s.Lang] || used[s.Lang] && prepares(s)
		if wanted[s.ID] = needed && !makes(s); wanted[s.ID] {
			used[s.Lang] = true
			for _, need := range s.Needs {
				wanted[need] = true
			}
		}
	}
	return wanted
}

// skipOthers leaves out every step but the judges and what they need.
func (j *JudgeRequest) skipOthers(nb *notebooks.Notebook) {
	wanted := toJudge(nb.Steps, j.Changing)
	for _, s := range nb.Steps {
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(id notebooks.StepID) bool { return !wanted[id] })
		if !wanted[s.ID] && !s.Has(notebooks.TagSkip) {
			s.Tags = append(s.Tags, notebooks.TagSkip)
		}
	}
}

func (r *run) passed(s *PlannedStep) bool {
	status := r.results[s.ID].Status
	return status == runs.StepPassed || status == runs.StepAllowed
}

func (r *run) runJudges(ctx context.Context, judges []*PlannedStep) error {
	for _, s := range judges {
		dir := filepath.FromSlash(path.Join(stepDir(s), runs.JudgedDir))
		if err := os.MkdirAll(r.rec.record.File(dir), 0o755); err != nil {
			return artifact(err)
		}
		session, err := r.sessions.of(ctx, s)
		if err != nil {
			return err
		}
		done, err := r.execute(ctx, s, session, r.ws.stepDir(s), runs.StepFinishedData{Index: s.Index}, dir,
			r.judgedDisplays(s), liveOutput{})
		if err != nil {
			return err
		}
		r.judged.Steps = append(r.judged.Steps, runs.JudgedStep{
			VerificationStep: runs.VerificationStep{Step: s.ID, Status: done.Status, Exit: done.Exit,
				DurationNS: done.DurationNS, Tests: done.Tests},
			Judge: s.Judges(), Reason: done.Reason, Stdout: done.Stdout, Stderr: done.Stderr,
			Displays: done.Displays, Outputs: done.Outputs})
		if !s.Judges() && bad(done.Status) {
			return nil // nothing can be judged without what it sets up, and that is no pass
		}
	}
	return nil
}

// judgedDisplays is a folder for rich results that are not kept.
func (r *run) judgedDisplays(s *PlannedStep) string {
	return filepath.Join(r.ws.work.Display, fmt.Sprintf("judged-%02d", s.Index+1))
}

// dropScraps skips what the judges glued: the scraps of the run are those of the first pass.
func (r *run) dropScraps() error {
	info, err := os.Stat(r.ws.work.Scraps)
	if err != nil {
		return artifact(err)
	}
	r.scrapsRead = info.Size()
	return nil
}

// backToResult restores the worktree to what the last step left.
func (r *run) backToResult(ctx context.Context) error {
	_, err := r.ws.tree.Restore(context.WithoutCancel(ctx), nil, r.ws.tree.Last())
	return err
}

// judgeBlockers adds the judges that pass only with the run's own version of protected files.
func (r *run) judgeBlockers() {
	j := r.judged
	if j == nil || r.plan.notebook.Front.ProtectMode == protectReport {
		return
	}
	rule := "protect: " + strings.Join(r.plan.notebook.Front.Protect, ", ")
	add := func(step notebooks.StepID, words string) {
		r.verdict.block(runs.Blocker{Code: runs.CodeJudgeChanged, Step: step, Rule: rule, Paths: j.Changed,
			Message: words})
	}
	if j.Skipped != "" {
		add("", "protected files changed ("+firstOf(j.Changed)+") and nothing was judged without the change: "+
			j.Skipped)
	}
	for _, s := range j.Steps {
		if s.Status == runs.StepPassed || s.Status == runs.StepAllowed {
			continue
		}
		ended := cmp.Or(s.Reason, fmt.Sprintf("exit %d", s.Exit))
		words := fmt.Sprintf("it passes only with the run's own version of %s: with the base's it ends with %s",
			firstOf(j.Changed), ended)
		if !s.Judge {
			words = fmt.Sprintf(
				"with the base's version of %s this setup step ends with %s, so that nothing was judged",
				firstOf(j.Changed), ended)
		}
		add(s.Step, words)
	}
}

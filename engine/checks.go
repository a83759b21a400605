package engine

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// check decides after the last step whether the run did what it may and what it must.
func (r *run) check(ctx context.Context) error {
	if err := r.checkDiff(ctx); err != nil {
		return err
	}
	if err := r.checkTests(); err != nil {
		return err
	}
	if err := r.checkHealth(); err != nil {
		return err
	}
	return r.checkSource(ctx)
}

// checkDiff checks the whole change, from base to final worktree, against what the notebook allows.
func (r *run) checkDiff(ctx context.Context) error {
	total, err := r.ws.tree.Total(ctx)
	if err != nil {
		return err
	}
	if err := r.withholdChange("", total); err != nil {
		return err
	}
	patch, err := r.rec.keep(runs.PatchFile, total.Patch)
	if err != nil {
		return err
	}
	r.lastCommit = string(total.Commit)
	if r.plan.inFolder() || r.plan.mode() == runs.MutationInPlace {
		r.verdict.mutated = len(total.Files) > 0 || total.IgnoredWritten > 0
	}
	f := r.plan.notebook.Front
	data := runs.DiffCheckedData{BaseCommit: string(r.ws.tree.Base()), ResultCommit: string(total.Commit),
		ResultTree: string(total.Tree),
		Files:      total.Files, Patch: patch.File, PatchDigest: patch.Digest, Unseen: r.ws.missed}
	block := func(b runs.Blocker) { data.Blockers = append(data.Blockers, b) }
	data.Unread = r.ws.tree.Unread()
	if total.PatchErr != nil && r.plan.inFolder() {
		data.PatchOmits = total.PatchErr.Error()
	} else if total.PatchErr != nil {
		block(runs.Blocker{Code: runs.CodeChangeTooLarge, Message: "the patch does not hold the whole change: " +
			total.PatchErr.Error()})
	}
	record, err := runs.Fold(r.rec.events)
	if err != nil {
		return err
	}
	if err := r.checkPaths(ctx, total.Files, &data, record); err != nil {
		return err
	}
	if err := r.keepArtifacts(&data); err != nil {
		return err
	}
	lines, bytes := 0, int64(0)
	for _, c := range total.Files {
		lines += c.Added + c.Deleted
		bytes += c.Size
	}
	changed := changedNames(total.Files)
	for _, large := range r.ws.tree.TooLarge() {
		bytes += large.Size
		changed = append(changed, large.Path)
	}
	for _, l := range []struct {
		what      string
		is, limit int64
	}{{"files", int64(len(changed)), int64(f.Limits.Files)}, {"lines", int64(lines), int64(f.Limits.Lines)},
		{"bytes", bytes, f.Limits.Bytes}} {
		if l.limit > 0 && l.is > l.limit {
			b := runs.Blocker{Code: runs.CodeChangeTooLarge, Rule: fmt.Sprintf("limits: %s: %d", l.what, l.limit),
				Paths:   firstPaths(changed),
				Message: fmt.Sprintf("%d %s changed, and %d is the limit", l.is, l.what, l.limit)}
			b.Step = record.ChangedBy(changed[0])
			if slices.ContainsFunc(changed, func(path string) bool { return record.ChangedBy(path) != b.Step }) {
				b.Step = "" // more than one step made it too large
			}
			block(b)
		}
	}
	switch {
	case len(total.Files) > 0:
	case slices.Contains(f.Require, "diff"):
		block(runs.Blocker{Code: runs.CodeNoDiff, Rule: "require: diff",
			Message: "a change is required, and nothing changed"})
	case r.plan.request.Branch != "":
		block(runs.Blocker{Code: runs.CodeNoDiff, Rule: "--branch", Message: "--branch " + r.plan.request.Branch +
			": nothing changed, so there is nothing to commit"})
	}
	r.verdict.blockers = append(r.verdict.blockers, data.Blockers...)
	return r.rec.emit(runs.GitDiffChecked, "", data)
}

// keepArtifacts copies the results that belong to no change into the record.
func (r *run) keepArtifacts(data *runs.DiffCheckedData) error {
	for _, a := range r.ws.tree.Artifacts() {
		name := path.Join(runs.ArtifactsDir, worktree.RawPath(a.Path))
		if err := makeFolder(r.rec.record.File(filepath.FromSlash(path.Dir(name)))); err != nil {
			return artifact(err)
		}
		size, digest, err := r.rec.keepFile("", a.File, name)
		if err != nil {
			return artifact(err)
		}
		data.Artifacts = append(data.Artifacts, runs.ArtifactData{Path: a.Path,
			StreamData: runs.StreamData{File: name, Bytes: size, Digest: digest}})
	}
	return nil
}

// checkTests sums up the test steps.
func (r *run) checkTests() error {
	var data runs.VerificationData
	passed, failed, empty := false, false, false
	for _, s := range r.plan.steps {
		if !s.Has(notebooks.TagTest) {
			continue
		}
		got := r.results[s.ID]
		data.Steps = append(data.Steps, runs.VerificationStep{Step: s.ID, Status: got.Status, Exit: got.Exit,
			DurationNS: got.DurationNS, Tests: got.Tests})
		none := got.Tests != nil && got.Tests.Passed+got.Tests.Failed+got.Tests.Skipped == 0
		empty = empty || none
		// one that fails as expected proves something else
		passed = passed || got.Status == runs.StepPassed && got.Exit == 0 && !none
		failed = failed || bad(got.Status) || got.Status == runs.StepPending
	}
	data.Passed, data.Judges = passed && !failed, r.judged
	_, data.WrittenAfter = r.verdict.tested.untested()
	r.judgeBlockers()
	switch {
	case len(data.Steps) == 0:
		data.Skipped = "no step is tagged test"
	case !passed && !failed && empty:
		data.Skipped = "no test ran: the test runner counted none"
	case !passed && !failed:
		data.Skipped = "no test step passed, and none failed: they were skipped, or allowed or expected to fail"
	}
	if slices.Contains(r.plan.notebook.Front.Require, "tests") {
		r.testsRequired(&data)
	}
	for _, b := range r.verdict.blockers {
		switch b.Code {
		case runs.CodeVerificationFailed, runs.CodeTestsFailed, runs.CodeReviewerRejected, runs.CodeJudgeChanged:
			data.Blockers = append(data.Blockers, b)
		}
	}
	return r.rec.emit(runs.VerificationCompleted, "", data)
}

// testsRequired adds the blockers of a run that requires tests: no test passed, or the command line left some out.
func (r *run) testsRequired(data *runs.VerificationData) {
	block := func(step notebooks.StepID, words string) {
		r.verdict.block(runs.Blocker{Code: runs.CodeVerificationFailed, Step: step, Rule: "require: tests",
			Message: words})
	}
	for _, s := range r.plan.steps {
		if s.Has(notebooks.TagTest) && s.LeftOut != "" {
			data.Passed = false
			block(s.ID, fmt.Sprintf("tests are required, and %s left this one out", s.LeftOut))
		}
	}
	if data.Skipped != "" && r.verdict.failed == "" {
		block("", "tests are required: "+data.Skipped)
	}
}

// checkSource compares the end with the beginning: the result is what was tested, and the user's checkout is unchanged.
// Steps did not change a checkout that they cannot write, or that is not there because the worktree is mounted over it.
func (r *run) checkSource(ctx context.Context) error {
	r.testedIsLeft()
	if r.plan.source == nil || r.plan.holdsSource() || r.ws.place != nil && r.plan.sandbox.Writes != "" {
		return nil
	}
	after, err := r.plan.source.Fingerprint(ctx, r.ws.ownPath)
	if err != nil {
		return err
	}
	if r.ws.before.Equal(after) {
		return nil
	}
	touched := slices.DeleteFunc(r.withoutOtherRuns(r.ws.before.Diff(after)), func(path string) bool {
		return r.ws.ownPath(path) || r.ws.ownFile(path) || r.ws.leadsToOwn(path) || r.othersData(path)
	})
	if len(touched) == 0 {
		return nil
	}
	r.verdict.mutated = true
	r.verdict.block(runs.Blocker{Code: runs.CodeDirtyEndingTree, Rule: runs.RuleSourceAsItWas,
		Paths:   firstPaths(touched),
		Message: "the source checkout changed while the run went on: " + firstOf(touched)})
	return nil
}

// withoutOtherRuns leaves out what other runs of the repository wrote at the same time: their output notebooks, and the
// branches with their results.
func (r *run) withoutOtherRuns(paths []string) []string {
	list, err := r.eng.Store(r.plan.source.Root()).List()
	if err != nil {
		return paths
	}
	since := r.rec.events[0].Time
	if at := r.ws.before.At; at.Before(since) {
		since = at
	}
	staged := r.stagedBefore(paths)
	others := map[string]string{} // the tree that each left
	var outputs []string
	for _, e := range list {
		ended := !e.FinishedAt.IsZero() && e.FinishedAt.Before(since)
		if e.ID == r.id || ended && !staged[e.ID] && !slices.Contains(r.ws.others, e.ID) {
			continue
		}
		other, _, err := runs.At(e.Dir).Load()
		if err != nil {
			continue
		}
		if other.Diff != nil {
			others[string(e.ID)] = other.Diff.ResultTree
		}
		if other.Started.Output == "" {
			continue
		}
		rel, err := filepath.Rel(r.plan.source.Root(), other.Started.Output)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		outputs = append(outputs, leftBy(filepath.ToSlash(rel), other.Started.Assets)...)
	}
	committed := map[string]bool{}
	for _, s := range schedule.Wrote(cmp.Or(r.eng.Schedules, r.eng.Store(r.plan.source.Root()).Dir)) {
		if committed[s.Commit] = true; s.Output != "" && s.Commit == "" && s.ID != string(r.id) {
			assets := strings.TrimSuffix(path.Base(s.Output), path.Ext(s.Output)) + "_files"
			outputs = append(outputs, leftBy(s.Output, assets)...)
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool {
		if branch, ok := strings.CutPrefix(p, ".git/"); ok && strings.HasPrefix(branch, "refs/heads/") {
			if now, err := r.plan.source.Ref(branch); err == nil && now != "" && committed[now] {
				return true
			}
			run, tree := r.plan.source.RunOfBranch(strings.TrimPrefix(branch, "refs/heads/"))
			return tree != "" && others[run] == string(tree)
		}
		return MatchesAny(outputs, p)
	})
}

// leftBy are patterns of what a run writes for an output: that, its pictures, the folders that it makes, and what is
// being written there.
func leftBy(output, assets string) []string {
	list := []string{literal(output), path.Join(literal(path.Dir(output)), runs.TempPrefix+"*")}
	if assets != "" {
		list = append(list, literal(path.Join(path.Dir(output), filepath.ToSlash(assets)))+"/**")
	}
	for dir := path.Dir(output); dir != "."; dir = path.Dir(dir) {
		list = append(list, literal(dir))
	}
	return list
}

// stagedBefore are the runs whose OUTPUT or pictures were staged in the checkout when the run looked at it first, and
// are no longer. Their record may have been complete by then: they were about to rename them, or had been killed before
// they could, and whoever tidied up after them did it.
func (r *run) stagedBefore(paths []string) map[runs.RunID]bool {
	ids := map[runs.RunID]bool{}
	for _, p := range paths {
		if id := runs.StagedBy(path.Base(p)); id != "" && r.ws.before.Has(p) {
			ids[id] = true
		}
	}
	return ids
}

// recordCheck records how an attempt of a step tagged check ended, as a check of the step's name. What the step
// reported under that name itself is kept if it passed.
func (r *run) recordCheck(s *PlannedStep, done *runs.StepFinishedData) error {
	if !s.Has(notebooks.TagHealth) || done.TerminatedBy == "interrupt" {
		return nil
	}
	data := runs.CheckData{State: runs.CheckOK}
	switch {
	case bad(done.Status):
		data.State, data.Message = runs.CheckError, endWords(s, done)
	case done.Status == runs.StepAllowed:
		data.State, data.Message = runs.CheckWarn, endWords(s, done)
	case r.scraps[runs.CheckPrefix+string(s.ID)].Name != "":
		return nil
	}
	scrap, err := data.Scrap(string(s.ID))
	if err != nil {
		return err
	}
	return r.rec.emit(runs.ScrapRecorded, s.ID, scrap)
}

// checkHealth adds a blocker for each check that a run cannot pass with.
func (r *run) checkHealth() error {
	if !slices.ContainsFunc(r.plan.steps, func(s PlannedStep) bool { return s.Has(notebooks.TagHealth) }) {
		return nil
	}
	record, err := runs.Fold(r.rec.events)
	if err != nil {
		return err
	}
	for _, c := range record.Checks() {
		if c.State.Failing() {
			r.verdict.block(runs.Blocker{Code: runs.CodeCheckCritical, Step: c.Step, Rule: "check " + c.Name,
				Message: c.Words()})
		}
	}
	return nil
}

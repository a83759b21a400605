package engine

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// check decides, after the last step, whether what was done was allowed and is enough.
func (r *run) check(ctx context.Context) error {
	if err := r.checkDiff(ctx); err != nil {
		return err
	}
	if err := r.checkTests(); err != nil {
		return err
	}
	return r.checkSource(ctx)
}

// checkDiff holds the whole change, base against final worktree, against what the notebook allows.
func (r *run) checkDiff(ctx context.Context) error {
	total, err := r.tree.Total(ctx)
	if err != nil {
		return err
	}
	if err := r.withholdChange("", total); err != nil {
		return err
	}
	if err := r.record.Write(runs.PatchFile, total.Patch); err != nil {
		return artifact(err)
	}
	r.lastCommit = string(total.Commit)
	f := r.plan.Notebook.Front
	data := runs.DiffCheckedData{BaseCommit: string(r.tree.Base()), ResultCommit: string(total.Commit), ResultTree: string(total.Tree),
		Files: total.Files, Patch: runs.PatchFile, PatchDigest: runs.DigestOf(total.Patch), Unseen: r.unseen}
	block := func(b runs.Blocker) { data.Blockers = append(data.Blockers, b) }
	data.Unread = r.tree.Unread()
	if total.PatchErr != nil && r.plan.inFolder() {
		data.PatchOmits = total.PatchErr.Error()
	} else if total.PatchErr != nil {
		block(runs.Blocker{Code: runs.CodeChangeTooLarge, Message: "the patch does not hold the whole change: " + total.PatchErr.Error()})
	}
	record, err := runs.Fold(r.events)
	if err != nil {
		return err
	}
	if err := r.checkPaths(ctx, total.Files, &data, record); err != nil {
		return err
	}
	lines, bytes := 0, int64(0)
	for _, c := range total.Files {
		lines += c.Added + c.Deleted
		bytes += c.Size
	}
	for _, l := range []struct {
		what      string
		is, limit int64
	}{{"files", int64(len(total.Files)), int64(f.Limits.Files)}, {"lines", int64(lines), int64(f.Limits.Lines)}, {"bytes", bytes, f.Limits.Bytes}} {
		if l.limit > 0 && l.is > l.limit {
			b := runs.Blocker{Code: runs.CodeChangeTooLarge, Rule: fmt.Sprintf("limits: %s: %d", l.what, l.limit),
				Paths: firstPaths(changedNames(total.Files)), Message: fmt.Sprintf("%d %s changed, and %d is the limit", l.is, l.what, l.limit)}
			b.Step = record.ChangedBy(total.Files[0].Path)
			if slices.ContainsFunc(total.Files, func(f runs.ChangedFile) bool { return record.ChangedBy(f.Path) != b.Step }) {
				b.Step = "" // more than one step made it too large
			}
			block(b)
		}
	}
	switch {
	case len(total.Files) > 0:
	case slices.Contains(f.Require, "diff"):
		block(runs.Blocker{Code: runs.CodeNoDiff, Rule: "require: diff", Message: "a change is required, and nothing changed"})
	case r.plan.Request.Branch != "":
		block(runs.Blocker{Code: runs.CodeNoDiff, Rule: "--branch", Message: "--branch " + r.plan.Request.Branch + ": nothing changed, so there is nothing to commit"})
	}
	r.blockers = append(r.blockers, data.Blockers...)
	return r.emit(runs.GitDiffChecked, "", data)
}

// checkTests sums up the test steps.
func (r *run) checkTests() error {
	var data runs.VerificationData
	passed, failed := false, false
	for _, s := range r.plan.Steps {
		if !s.Has(notebooks.TagTest) {
			continue
		}
		got := r.records[s.ID]
		data.Steps = append(data.Steps, runs.VerificationStep{Step: s.ID, Status: got.Status, Exit: got.Exit, DurationNS: got.DurationNS, Tests: got.Tests})
		passed = passed || got.Status == runs.StepPassed && got.Exit == 0 // one that fails as expected proves something else
		failed = failed || bad(got.Status) || got.Status == runs.StepPending
	}
	data.Passed, data.Judges = passed && !failed, r.judged
	r.judgeBlockers()
	switch {
	case len(data.Steps) == 0:
		data.Skipped = "no step is tagged test"
	case !passed && !failed:
		data.Skipped = "no test step passed, and none failed: they were skipped, or allowed or expected to fail"
	}
	if slices.Contains(r.plan.Notebook.Front.Require, "tests") {
		r.testsRequired(&data)
	}
	for _, b := range r.blockers {
		if b.Code == runs.CodeVerificationFailed || b.Code == runs.CodeReviewerRejected || b.Code == runs.CodeJudgeChanged {
			data.Blockers = append(data.Blockers, b)
		}
	}
	return r.emit(runs.VerificationCompleted, "", data)
}

// testsRequired adds what keeps a run that requires tests from passing: none passed, or the command line left some out.
func (r *run) testsRequired(data *runs.VerificationData) {
	block := func(step notebooks.StepID, words string) {
		r.blockers = append(r.blockers, runs.Blocker{Code: runs.CodeVerificationFailed, Step: step, Rule: "require: tests", Message: words})
	}
	for _, s := range r.plan.Steps {
		if s.Has(notebooks.TagTest) && s.LeftOut != "" {
			data.Passed = false
			block(s.ID, fmt.Sprintf("tests are required, and %s left this one out", s.LeftOut))
		}
	}
	if data.Skipped != "" && r.failed == "" {
		block("", "tests are required: "+data.Skipped)
	}
}

// changedSince is a step that changed files, and which.
type changedSince struct {
	step  notebooks.StepID // "" for what the interpreters did when they were closed
	paths []string
}

func (r *run) changedSince(step notebooks.StepID, change *worktree.Change) {
	if len(change.Files) > 0 {
		r.untested = append(r.untested, changedSince{step, changedNames(change.Files)})
	}
}

// checkSource holds the end against the beginning: what was tested is what stands there, and the
// user's checkout is as it was. Where a step failed, that the test behind it did not come is no finding of its own.
func (r *run) checkSource(ctx context.Context) error {
	if r.tested && len(r.untested) > 0 && r.failed == "" {
		var paths []string
		for _, c := range r.untested {
			paths = append(paths, c.paths...)
		}
		slices.Sort(paths)
		r.blockers = append(r.blockers, runs.Blocker{Code: runs.CodeDirtyEndingTree, Step: r.untested[0].step, Rule: runs.RuleTestedIsLeft,
			Paths: firstPaths(slices.Compact(paths)), Message: "files changed during the last test step or after it, so what was tested is not what is left"})
	}
	if r.plan.Source == nil {
		return nil
	}
	after, err := r.plan.Source.Fingerprint(ctx, r.ownPath)
	if err != nil {
		return err
	}
	if r.before.Equal(after) {
		return nil
	}
	touched := slices.DeleteFunc(r.notOthers(r.before.Diff(after)), r.ownFile)
	if len(touched) == 0 {
		return nil
	}
	r.mutated = true
	r.blockers = append(r.blockers, runs.Blocker{Code: runs.CodeDirtyEndingTree, Rule: runs.RuleSourceAsItWas, Paths: firstPaths(touched), Message: "the source checkout changed while the run went on: " + firstOf(touched)})
	return nil
}

// ownFile says whether a path of the checkout is a file that the caller writes while the run goes on.
func (r *run) ownFile(path string) bool {
	info, err := os.Stat(filepath.Join(r.plan.Source.Root(), filepath.FromSlash(path)))
	return err == nil && slices.ContainsFunc(r.plan.Request.OwnFiles, func(own os.FileInfo) bool { return os.SameFile(own, info) })
}

// ownPath says which paths of the checkout the run may touch: its own records and its private
// folder, where they are kept inside, and in place the checkout itself.
func (r *run) ownPath(path string) bool {
	root := r.plan.Source.Root()
	for _, own := range []string{filepath.Join(root, ".markmill"), filepath.Dir(filepath.Dir(r.record.Path())), r.eng.Cache} {
		rel, err := filepath.Rel(root, own)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		if rel = filepath.ToSlash(rel); path == rel || strings.HasPrefix(path, rel+"/") {
			return true
		}
	}
	return r.plan.mode() == runs.MutationInPlace && path != ".git" && !strings.HasPrefix(path, ".git/") && !r.opaque(path)
}

// opaque says whether a path lies in a repository inside the checkout, where no capture looks.
func (r *run) opaque(path string) bool {
	return slices.ContainsFunc(r.opaques, func(dir string) bool { return strings.HasPrefix(path+"/", dir) || strings.HasPrefix(dir, path+"/") })
}

// notOthers leaves out what other runs of the repository wrote at the same time: their output notebooks, and
// the branches that hold what they made.
func (r *run) notOthers(paths []string) []string {
	list, err := r.eng.Store(r.plan.Source.Root()).List()
	if err != nil {
		return paths
	}
	others := map[string]string{} // the tree that each left
	var outputs []string
	for _, e := range list {
		if e.ID == r.id || !e.FinishedAt.IsZero() && e.FinishedAt.Before(r.events[0].Time) {
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
		rel, err := filepath.Rel(r.plan.Source.Root(), other.Started.Output)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		outputs = append(outputs, literal(rel))
		if a := other.Started.Assets; a != "" {
			outputs = append(outputs, literal(path.Join(path.Dir(rel), filepath.ToSlash(a)))+"/**")
		}
		// The folders that it made for it, and what is being written there.
		for dir := path.Dir(rel); ; dir = path.Dir(dir) {
			if dir == "." {
				break
			}
			outputs = append(outputs, literal(dir))
		}
		outputs = append(outputs, path.Join(literal(path.Dir(rel)), runs.TempPrefix+"*"))
	}
	return slices.DeleteFunc(paths, func(p string) bool {
		if branch, ok := strings.CutPrefix(p, ".git/refs/heads/"); ok {
			run, tree := worktree.RunOfBranch(r.plan.Source, branch)
			return tree != "" && others[run] == string(tree)
		}
		return matchAny(outputs, p)
	})
}

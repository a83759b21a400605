package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// NotAcceptedError is the error for a change of a run that may not be used: the policy requires an acceptance of the
// run and there is none that counts, or an operator has rejected the run.
type NotAcceptedError struct {
	Run      runs.RunID
	Why      string
	Required bool // by the policy: nothing overrides it
}

func (e *NotAcceptedError) Error() string {
	words := fmt.Sprintf("run %s %s", e.Run, e.Why)
	if e.Required {
		words += fmt.Sprintf("; the policy says acceptance: required, so its change is not used before: "+
			"markmill runs accept %s --key FILE", e.Run)
	}
	return words
}

// needsAcceptance reports whether the run's change may be used only after an operator has accepted the run.
func (p *Plan) needsAcceptance() bool { return conditionsOf(p.policies).acceptance }

// NeedsAcceptance reports whether a policy keeps the change of a run from the checkout and from branches until an
// operator has accepted the run.
func NeedsAcceptance(run *runs.Run) bool {
	return slices.ContainsFunc(run.Contract.Narrowed, func(n runs.NarrowedData) bool {
		return n.Key == acceptanceKey && string(n.Value) == `"`+approvalRequired+`"`
	})
}

// conditionsAfter are those for a decision on a run that has ended, and for its change. They are those of today's
// policies and that of the run's base, where the repository has it, and the run's own contract.
func (e *Engine) conditionsAfter(src *worktree.Source, run *runs.Run) (Conditions, error) {
	c := Conditions{acceptance: NeedsAcceptance(run)}
	if src == nil {
		return c, nil
	}
	base := worktree.OID(run.Contract.BaseCommit)
	if _, err := src.Resolve(string(base)); err != nil {
		base = "" // of a run that was pulled: its contract says what its base required
	}
	today, err := e.Conditions(src, base)
	today.acceptance = today.acceptance || c.acceptance
	return today, err
}

// counts returns an error unless the key of an acceptance counts by every policy, when it was given and now.
func (c Conditions) counts(d *runs.StoredDecision, now time.Time) error {
	switch {
	case d.Time.After(now):
		return fmt.Errorf("it was given %s, which is still to come", runs.Shown(d.Time))
	case c.missing != "":
		return errors.New(c.missing)
	case c.acceptance && len(c.signers) == 0:
		return errors.New("no allowed_signers file is here that names the keys that can accept")
	}
	_, err := runs.CountsBy(d.Signed, runs.DecisionNamespace, c.signers, d.Time, now)
	return err
}

// CheckAcceptance returns a NotAcceptedError if the change of a run may not be used in a repository: because a policy
// requires an acceptance and the last decision on the run is none that counts, or because an operator rejected it.
func (e *Engine) CheckAcceptance(src *worktree.Source, run *runs.Run, record *runs.Record) error {
	c, err := e.conditionsAfter(src, run)
	if err != nil {
		return err
	}
	no := func(format string, args ...any) error {
		return &NotAcceptedError{Run: run.ID, Why: fmt.Sprintf(format, args...), Required: c.acceptance}
	}
	list, err := record.Decisions()
	if err != nil {
		return no("has decisions that do not hold: %v", err)
	}
	if len(list) > 0 && list[len(list)-1].Answer == runs.Rejected {
		d := list[len(list)-1].Summary(runs.Signers{})
		d.Signed = nil // a rejection needs none
		return no("was %s", d.Words())
	}
	switch {
	case !c.acceptance:
		return nil
	case len(list) == 0:
		return no("was not accepted")
	}
	// The digest of SHA256SUMS is what was accepted. It is that of the bytes here only if they match.
	findings, err := record.CheckSums()
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return no("was accepted, and its record is another now: %s", findings[0])
	}
	if err := c.counts(&list[len(list)-1], e.Now()); err != nil {
		return no("was accepted by one who does not count: %v", err)
	}
	return nil
}

// Verdict is an operator's decision on a run.
type Verdict struct {
	Reject bool
	Reason string
	Force  bool                         // also accept a run that did not pass
	Sign   func([]byte) ([]byte, error) // nil signs nothing, which only a rejection can do
}

// Decide adds the decision to the record of a run that has ended, whose verification the caller has made. src is the
// repository of the policies, nil without one. It returns an error for an acceptance that would not count, of a record
// that does not hold, or of a run that did not pass, and stores nothing then.
func (e *Engine) Decide(v *runs.Verification, src *worktree.Source, verdict Verdict) (*runs.StoredDecision, error) {
	if err := e.OutsideRuns("accept or reject"); err != nil {
		return nil, err
	}
	run := v.Run
	switch {
	case run == nil:
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: v.Dir, Msg: "its journal cannot be read: " +
			v.Findings[0].String(), Hint: "markmill verify shows more"}
	case run.Completed == nil:
		return nil, refused(fmt.Sprintf("run %s has not ended", run.ID),
			"wait for its end, or: markmill runs maintain reconcile")
	}
	d := runs.Decision{Answer: runs.Rejected, Actor: e.User, Time: e.Now().UTC(), Reason: verdict.Reason}
	if verdict.Reject {
		return runs.At(v.Dir).Decide(d, verdict.Sign, nil)
	}
	d.Answer = runs.Accepted
	switch {
	case len(v.Findings) > 0:
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: v.Dir, Hint: "markmill verify shows more",
			Msg: "a record that does not hold cannot be accepted: " + v.Findings[0].String()}
	case run.Status() != runs.Pass && !verdict.Force:
		var why []string
		for _, b := range run.Blockers() {
			why = append(why, b.Line())
		}
		return nil, refused(strings.Join(append([]string{fmt.Sprintf("run %s did not pass: it is %s", run.ID,
			run.Status())},
			why...), "; "), "--force accepts it all the same, and the decision says that it did not pass")
	case verdict.Sign == nil:
		return nil, refused("an acceptance is signed", "name a key: --key FILE")
	}
	c, err := e.conditionsAfter(src, run)
	if err != nil {
		return nil, err
	}
	return runs.At(v.Dir).Decide(d, verdict.Sign, func(made *runs.StoredDecision) error {
		if err := c.counts(made, d.Time); err != nil {
			return refused("this acceptance would not count: "+err.Error(),
				"nothing was written; docs/policy.md says what counts")
		}
		return nil
	})
}

// Branch makes a branch of the change of a run that has ended, as run --branch does, and returns its commit. Whether
// the change may be used is for the caller to decide (CheckAcceptance).
func (e *Engine) Branch(ctx context.Context, src *worktree.Source, run *runs.Run, record *runs.Record, name string) (
	string, error) {
	source, err := record.Source()
	if err != nil {
		return "", err
	}
	nb, err := e.Parse(Request{Path: run.Started.Notebook, Source: source})
	if err != nil {
		return "", err
	}
	var commits *worktree.Bundle
	if run.Completed != nil && run.Completed.Bundle != nil {
		if commits, err = worktree.OpenBundle(record.File(runs.BundleFile)); err != nil {
			return "", err
		}
		defer commits.Close()
	}
	made, err := src.Branch(commits, newBranch(nb, run.Contract.TaskID, worktree.NewBranch{Name: name,
		RunID: string(run.ID), Base: worktree.OID(run.Diff.BaseCommit), Tree: worktree.OID(run.Diff.ResultTree),
		Now: e.Now()}))
	return string(made), errors.Join(err, ctx.Err())
}

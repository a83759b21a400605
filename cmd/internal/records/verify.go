package records

import (
	"errors"
	"io/fs"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/runs"
)

// VerifyRecord recomputes everything of a run from its record: what runs.Record.Verify does, with the views of this
// program, and the run's commits. src is a repository that may have the base commit; it may be nil.
func VerifyRecord(record *runs.Record, src *worktree.Source, signers runs.Signers) (*runs.Verification, error) {
	v, err := record.Verify(views.FoldView, signers)
	if err != nil || v.Run == nil {
		return v, err
	}
	_, err = VerifyCommits(v, src)
	return v, err
}

// VerifyCommits adds to a verification what is wrong with the commits of the run.
func VerifyCommits(v *runs.Verification, src *worktree.Source) (looked worktree.Looked, err error) {
	if v.Run.Contract.TargetRepository == "" {
		return looked, nil
	}
	patch, err := runs.At(v.Dir).ReadFile(runs.PatchFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing patch is a finding already
		return looked, err
	}
	looked, findings, err := worktree.VerifyRun(src, v.Dir, v.Run, patch)
	v.Findings = append(v.Findings, findings...)
	return looked, err
}

// Decide verifies the record of a run that has ended, and adds an operator's decision to it. src is the repository
// whose policy says which keys count; nil is none. The verification says what was decided on, also where Decide returns
// an error.
func Decide(eng *engine.Engine, src *worktree.Source, record *runs.Record, verdict engine.Verdict) (
	*runs.StoredDecision, *runs.Verification, error) {
	v, err := VerifyRecord(record, src, runs.Signers{Now: eng.Now()})
	if err != nil {
		return nil, v, err
	}
	d, err := eng.Decide(v, src, verdict)
	return d, v, err
}

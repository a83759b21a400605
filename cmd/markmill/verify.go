package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"markmill/cmd/api"
	"markmill/engine/worktree"
	"markmill/runs"
)

// verify recomputes a run, by its name, its directory or the output notebook that it made: its record, its views,
// and its commits. commits says what was looked at of those.
// allowed names the file of signers whose signatures count; "" takes that of the policy.
func (a *app) verify(word, allowed string) (v *runs.Verification, commits string, err error) {
	if v, err = a.verifyRecord(word, allowed); err != nil || v.Run == nil {
		return v, "", err
	}
	commits, err = a.verifyCommits(v)
	return v, commits, err
}

func (a *app) verifyRecord(word, allowed string) (*runs.Verification, error) {
	store, src, err := a.here()
	if err != nil {
		return nil, err
	}
	signers, err := a.signers(allowed, rootOf(src))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(word)
	switch {
	case err == nil && info.IsDir():
		return runs.At(word).Verify(api.FoldView, signers)
	case err == nil:
		return runs.VerifyOutput(word, store, api.FoldView, signers)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	_, dir, err := store.Find(word)
	if err != nil {
		return nil, err
	}
	return runs.At(dir).Verify(api.FoldView, signers)
}

// verifyCommits adds what is wrong with the commits of the run. Those of a bundle are looked at everywhere, those of an
// earlier version's run in a repository that has its ref.
func (a *app) verifyCommits(v *runs.Verification) (words string, err error) {
	if v.Run.Contract.TargetRepository == "" {
		return "", nil
	}
	_, src, err := a.here()
	if err != nil {
		return "", err
	}
	patch, err := runs.At(v.Dir).ReadFile(runs.PatchFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a patch that is missing, the verification has told
		return "", err
	}
	looked, findings, err := worktree.VerifyRun(src, v.Dir, v.Run, patch)
	v.Findings = append(v.Findings, findings...)
	if looked.Commits > 0 {
		words = fmt.Sprintf(", %d commits", looked.Commits)
	}
	switch {
	case looked.NoRef && src != nil && sameFolder(src.Root(), v.Run.Contract.TargetRepository):
		words += "; its commits are not in the repository any more: their ref was removed"
	case looked.NoRef:
		words += fmt.Sprintf("; its commits are looked at in %s only", v.Run.Contract.TargetRepository)
	case looked.NoBase:
		words += "; its base commit is not here, so that the patch was not applied to it"
	}
	return words, err
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

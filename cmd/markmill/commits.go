package main

import (
	"fmt"
	"os"
	"path/filepath"

	"markmill/engine/worktree"
	"markmill/runs"
)

// verifyCommits adds to a verification what is wrong with the commits of the run's ref, when the working directory
// is in the repository that the run worked on. words say what was looked at.
func (a *app) verifyCommits(v *runs.Verification) (words string, err error) {
	if v.Run == nil || v.Run.Contract.TargetRepository == "" {
		return "", nil
	}
	_, src, err := a.here()
	if err != nil {
		return "", err
	}
	if src == nil || !sameFolder(src.Root(), v.Run.Contract.TargetRepository) {
		return fmt.Sprintf("; its commits are looked at in %s only", v.Run.Contract.TargetRepository), nil
	}
	patch, err := os.ReadFile(filepath.Join(v.Dir, runs.PatchFile))
	if err != nil {
		return "", nil // the verification has said so
	}
	commits, findings, err := worktree.VerifyRun(src, v.Run, patch)
	v.Findings = append(v.Findings, findings...)
	if commits > 0 {
		words = fmt.Sprintf(", %d commits", commits)
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

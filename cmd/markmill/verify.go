package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"markmill/cmd/api"
	"markmill/engine/worktree"
	"markmill/render"
	"markmill/runs"
)

// verify recomputes a run, by its name, its directory or the output notebook that it made: its record, its views,
// and its commits. commits says what was looked at of those.
func (a *app) verify(word string) (v *runs.Verification, commits string, err error) {
	if v, err = a.verifyRecord(word); err != nil || v.Run == nil {
		return v, "", err
	}
	if err := verifyPage(v); err != nil {
		return nil, "", err
	}
	commits, err = a.verifyCommits(v)
	return v, commits, err
}

func (a *app) verifyRecord(word string) (*runs.Verification, error) {
	store, _, err := a.here()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(word)
	switch {
	case err == nil && info.IsDir():
		return runs.Verify(word, api.FoldOutput)
	case err == nil:
		return runs.VerifyOutput(word, store, api.FoldOutput)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	_, dir, err := store.Find(word)
	if err != nil {
		return nil, err
	}
	return runs.Verify(dir, api.FoldOutput)
}

// verifyPage compares report.md with what the journal gives.
func verifyPage(v *runs.Verification) error {
	page, err := os.ReadFile(filepath.Join(v.Dir, runs.ReportPageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the verification has said so
	}
	if err != nil {
		return err
	}
	want, err := render.ReportMarkdown(v.Run)
	if err != nil {
		return err
	}
	if !bytes.Equal(page, want) && string(page) != runs.LeakNote {
		v.Findings = append(v.Findings, runs.Finding{Where: runs.ReportPageFile, Words: "is not what the journal gives"})
	}
	return nil
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
	patch, err := os.ReadFile(filepath.Join(v.Dir, runs.PatchFile))
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

package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/rerun"
	"markmill/cmd/internal/views"
	"markmill/runs"
)

// Verify recomputes a run, which is named by its id, its directory or its output notebook: its record, its views and
// its commits. commits says what was verified of the commits. allowed is the file of signers whose signatures count;
// "" takes that of the policy.
func Verify(a *program.App, word, allowed string) (v *runs.Verification, commits string, err error) {
	if v, err = VerifyRecord(a, word, allowed); err != nil || v.Run == nil {
		return v, "", err
	}
	if commits, err = verifyCommits(a, v); err != nil {
		return v, commits, err
	}
	store, _, err := a.Indexed()
	if err == nil {
		err = rerun.Check(store, v)
	}
	return v, commits, err
}

func VerifyRecord(a *program.App, word, allowed string) (*runs.Verification, error) {
	store, src, err := a.Here()
	if err != nil {
		return nil, err
	}
	signers, err := a.Signers(allowed, engines.RootOf(src))
	if err != nil {
		return nil, err
	}
	at := a.Path(word)
	info, err := os.Stat(at)
	switch {
	case err == nil && info.IsDir():
		return runs.At(at).Verify(views.FoldView, signers)
	case err == nil:
		return runs.VerifyOutput(at, store, views.FoldView, signers)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	_, dir, err := store.Find(word)
	if err != nil {
		return nil, err
	}
	return runs.At(dir).Verify(views.FoldView, signers)
}

// verifyCommits adds findings about the commits of the run.
func verifyCommits(a *program.App, v *runs.Verification) (words string, err error) {
	if v.Run.Contract.TargetRepository == "" {
		return "", nil
	}
	_, src, err := a.Here()
	if err != nil {
		return "", err
	}
	looked, err := records.VerifyCommits(v, src)
	if looked.Commits > 0 {
		words = fmt.Sprintf(", %d commits", looked.Commits)
	}
	if looked.NoBase {
		words += "; its base commit is not here, so that the patch was not applied to it"
	}
	return words, err
}

package verify

import (
	"fmt"
	"os"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/sweep"
	"markmill/cmd/internal/views"
	"markmill/notebooks/region"
	"markmill/runs"
)

// lanesOutput is the directory of the comparison that wrote an output notebook; "" for another file.
func lanesOutput(a *program.App, word string) (string, error) {
	path := a.Path(word)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if m := region.ManifestAtEnd(text); m == nil || m.Lanes == nil {
		return "", nil
	}
	store, _, err := a.Here()
	if err != nil {
		return "", err
	}
	ids, err := store.Sweeps()
	for _, id := range ids {
		dir := store.SweepDir(id)
		if done, err := runs.LoadSweep(dir); err == nil && done.Completed != nil &&
			done.Completed.Output == runs.DigestOf(text) {
			return dir, nil
		}
	}
	return "", err
}

// verifyLanes compares the output notebook of a comparison with one that is rendered again.
func verifyLanes(v *runs.SweepVerification, store runs.Store) {
	done := v.Sweep
	if done == nil || done.Started.Lanes == nil || done.Completed == nil || done.Completed.Output == "" {
		return
	}
	if done.Started.Lanes.Views != runs.ViewsVersion {
		v.Notes = append(v.Notes,
			"the output notebook is one of another version of Markmill, and was not rendered again")
		return
	}
	switch out, err := sweep.Output(done, store); {
	case err != nil:
		v.Notes = append(v.Notes, fmt.Sprintf("the output notebook was not rendered again: %s", err))
	case runs.DigestOf(out) != done.Completed.Output:
		v.Findings = append(v.Findings, runs.Finding{Where: runs.JournalFile, Message: "the output notebook that " +
			"follows from the runs is another than the one it names"})
	}
}

// verifySweep is verify of a sweep.
func verifySweep(a *program.App, dir, allowed string) (out Verified, holds string, err error) {
	_, src, err := a.Here()
	if err != nil {
		return out, "", err
	}
	signers, err := a.Signers(allowed, engines.RootOf(src))
	if err != nil {
		return out, "", err
	}
	got, err := runs.VerifySweep(dir, views.FoldView, signers)
	if err != nil {
		return out, "", err
	}
	verifyLanes(got, runs.StoreOfSweep(dir))
	out = Verified{OK: len(got.Findings) == 0, Findings: append([]runs.Finding{}, got.Findings...), Notes: got.Notes}
	if got.Sweep != nil {
		out.Sweep = got.Sweep.Started.SweepID
	}
	if out.OK {
		holds = fmt.Sprintf("%s: everything holds (%d rows, %d runs)", out.Sweep, len(got.Sweep.Rows), got.Runs)
	}
	return out, holds, nil
}

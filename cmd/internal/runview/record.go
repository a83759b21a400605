package runview

import (
	"errors"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/render/terminal"
	"markmill/runs"
)

// decisions are those on a run, as the policy of the repository here sees their keys. The error says why they do not
// hold.
func decisions(a *program.App, dir string) (out []runs.DecisionSummary, err error) {
	list, err := runs.At(dir).Decisions()
	if len(list) == 0 {
		return nil, err
	}
	_, src, serr := a.Indexed()
	if serr != nil {
		return nil, serr
	}
	signers, serr := a.Signers("", engines.RootOf(src))
	for i := range list {
		out = append(out, list[i].Summary(signers))
	}
	return out, errors.Join(err, serr)
}

// DecidedRecord is a record with what came after its run: decisions and repetitions.
func DecidedRecord(a *program.App, run *runs.Run, dir string) terminal.Record {
	shown := Record(dir)
	if run.Completed != nil && !runs.At(dir).Made() {
		shown.Origin = runs.NotMadeHere
	}
	list, err := decisions(a, dir)
	for i := range list {
		shown.Decisions = append(shown.Decisions, list[i].Words())
	}
	if err != nil {
		shown.Decisions = append(shown.Decisions, "does not hold: "+err.Error())
	}
	if store, _, err := a.Indexed(); err == nil {
		shown.Reruns = repetitions(a, store, run.ID)
	}
	if of := run.Started.Rerun; of != nil {
		words := "of " + string(of.Run)
		if r, err := runs.At(dir).Rerun(); err == nil {
			words += map[bool]string{true: ", which it agrees with", false: ", which it differs from"}[r.Agrees]
		}
		shown.Reruns = append(shown.Reruns, words)
	}
	return shown
}

// TellCauses says on standard error why a run did not pass: each cause once, without what followed from it.
func TellCauses(a *program.App, run *runs.Run) {
	for _, c := range run.Causes() {
		if !c.Consequence {
			a.Line(run.Say(c))
		}
	}
}

// Record is a run directory as terminals show it.
func Record(dir string) terminal.Record {
	sums, err := runs.At(dir).Sums()
	if err != nil {
		sums = "" // the run is alive, or was cut
	}
	return terminal.Record{Files: runs.At(dir), Path: files.Short(dir), Sums: sums}
}

// repetitions say which runs repeat a run, as their rerun.json has it. They are asked for so that somebody may look at
// them: what cannot be read is left out.
func repetitions(a *program.App, store runs.Store, id runs.RunID) (words []string) {
	reruns, err := store.Reruns()
	if err != nil {
		return nil
	}
	for _, record := range reruns[id] {
		r, err := record.Rerun()
		if err != nil {
			continue
		}
		word := "differs in "
		if r.Agrees {
			word = "repeated by "
		}
		words = append(words, word+string(r.Rerun))
	}
	return words
}

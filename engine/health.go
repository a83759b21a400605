package engine

import (
	"slices"

	"markmill/notebooks"
	"markmill/runs"
)

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

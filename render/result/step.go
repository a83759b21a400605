package result

import (
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/region"
	"markmill/runs"
)

// Of returns the outcome of a recorded step. Its texts are raw: they may hold paths and hidden characters.
func Of(rec runs.StepRecord) notebooks.ManifestStep {
	s := notebooks.ManifestStep{ID: rec.Planned.ID, Status: string(rec.Status()), Tags: rec.Planned.Tags,
		Reason: rec.Planned.Reason, Interrupted: rec.Step != nil && rec.Finished == nil}
	if rec.Step != nil {
		s.LostIn = rec.Step.LostIn
	}
	volatile := slices.Contains(rec.Planned.Tags, notebooks.TagVolatile)
	if p := rec.Patch; p != nil && !volatile {
		s.Files = len(p.Files)
		for _, f := range p.Files {
			s.Added, s.Deleted = s.Added+f.Added, s.Deleted+f.Deleted
		}
	}
	f := rec.Finished
	if f == nil {
		return s
	}
	s.Exit, s.Carried = &f.Exit, rec.Forked()
	if f.Status == runs.StepFailed { // how a step ends that takes too long may vary between runs
		s.EndedBy = f.TerminatedBy
	}
	if f.Reason != "" {
		s.Reason = f.Reason
	}
	if f.Error != nil {
		s.Error = f.Error.Name
	}
	if f.Failed != nil {
		s.Failed = &notebooks.ManifestCommand{Line: f.Failed.Line, Command: f.Failed.Command}
	}
	for _, h := range f.Hidden {
		where := h.Where
		if h.Path != "" {
			where = h.Path
		}
		s.Hidden = append(s.Hidden, h.What+" in "+where)
	}
	if f.Attempts > 1 {
		s.Attempts = f.Attempts
	}
	if t := f.Tests; t != nil && !volatile {
		s.Tests = &notebooks.ManifestTests{Runner: t.Runner, From: t.From, Passed: t.Passed, Failed: t.Failed,
			Skipped: t.Skipped}
	}
	// Only the first process of each tree counts: how many workers a server has at one moment varies from run to run.
	for _, p := range f.LeftRunning {
		if p.Since == rec.Planned.ID && p.Parent == 0 {
			s.Running++
		}
	}
	return s
}

// Hides reports whether these tags keep a step's output out of the output notebook.
func Hides(tags []string) bool {
	return slices.Contains(tags, notebooks.TagVolatile) || slices.Contains(tags, notebooks.TagHideOutput)
}

// Reached reports whether a step ran, or was skipped for a reason.
func Reached(rec runs.StepRecord) bool {
	if f := rec.Finished; f != nil {
		return f.Status != runs.StepPending
	}
	return rec.Step != nil || rec.Planned.Action == runs.ActionSkip
}

// Steps returns what became of each step of an output notebook, by the step's id. It is empty without a manifest.
func Steps(out region.Stripped) map[notebooks.StepID]*notebooks.ManifestStep {
	return StepsOf(out.Manifest)
}

// Parameters returns the parameters of the run that left an output notebook.
func Parameters(out region.Stripped) []notebooks.ManifestParam {
	if out.Manifest == nil {
		return nil
	}
	return out.Manifest.Parameters
}

// StepsOf returns the steps of a manifest by id; m may be nil.
func StepsOf(m *notebooks.Manifest) map[notebooks.StepID]*notebooks.ManifestStep {
	steps := map[notebooks.StepID]*notebooks.ManifestStep{}
	if m != nil {
		for i := range m.Steps {
			steps[m.Steps[i].ID] = &m.Steps[i]
		}
	}
	return steps
}

// Broken returns the blockers of a manifest for which a step broke a rule of the run.
func Broken(m *notebooks.Manifest, step notebooks.StepID) []*notebooks.ManifestBlocker {
	var out []*notebooks.ManifestBlocker
	if m != nil {
		for i := range m.Blockers {
			if b := &m.Blockers[i]; b.Step == step && b.Rule != "" {
				out = append(out, b)
			}
		}
	}
	return out
}

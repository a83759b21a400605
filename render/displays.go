package render

import (
	"slices"

	"markmill/runs"
)

// Shown returns a run with its results as Jupyter shows them at the end: an update replaces the earlier results with
// its display id, and is not shown itself. The argument is not changed.
func Shown(run *runs.Run) *runs.Run {
	last := map[string]runs.DisplayData{}
	for _, s := range run.Steps {
		if s.Finished == nil {
			continue
		}
		for _, d := range s.Finished.Displays {
			if d.DisplayID != "" {
				last[d.DisplayID] = d
			}
		}
	}
	if len(last) == 0 {
		return run
	}
	run = new(*run)
	run.Steps = slices.Clone(run.Steps)
	for i := range run.Steps {
		f := run.Steps[i].Finished
		if f == nil || len(f.Displays) == 0 {
			continue
		}
		f = new(*f)
		f.Displays = slices.DeleteFunc(slices.Clone(f.Displays), func(d runs.DisplayData) bool { return d.Update })
		for j, d := range f.Displays {
			if d.DisplayID != "" {
				f.Displays[j] = last[d.DisplayID]
			}
		}
		run.Steps[i].Finished = f
	}
	return run
}

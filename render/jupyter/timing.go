package jupyter

import (
	"time"

	"markmill/runs"
)

// timing is when a cell ran; the zero value where the output notebook is not to say it.
type timing struct {
	began time.Time
	took  time.Duration
}

// timingOf returns when the last attempt of a step ran. That of a carried step ran in another run.
func timingOf(rec runs.StepRecord) timing {
	if rec.Step == nil || rec.Finished == nil {
		return timing{}
	}
	t := timing{rec.StartedAt, time.Duration(rec.Finished.DurationNS)}
	if c := rec.Step.Carried; c != nil {
		t.began = c.Time
	}
	return t
}

// timingOfRun returns when a run began and how long it took to the end of its last step: that the run itself has ended
// is known only after its output notebook is made.
func timingOfRun(run *runs.Run) timing {
	t := timing{began: run.StartedAt}
	for i := range run.Steps {
		t.took = max(t.took, run.Steps[i].FinishedAt.Sub(t.began))
	}
	return t
}

// stamp is a time as Jupyter's message headers spell it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// execution is nbclient's metadata of a cell (record_timing).
func (t timing) execution() map[string]string {
	busy, idle := stamp(t.began), stamp(t.began.Add(t.took))
	return map[string]string{"iopub.status.busy": busy, "iopub.execute_input": busy, "iopub.status.idle": idle,
		"shell.execute_reply": idle}
}

// time fills in when papermill would have seen the cell run.
func (s *papermillState) time(t timing) {
	seconds, start, end := t.took.Seconds(), stamp(t.began), stamp(t.began.Add(t.took))
	s.Duration, s.Start, s.End = &seconds, &start, &end
}

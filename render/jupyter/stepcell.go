package jupyter

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render/safe"
	"markmill/runs"
)

// StepCell collects the content of a step's region for a cell.
type StepCell struct {
	Status runs.StepStatus
	Words  string // how it ended, as its region has it
	out    cellOutputs
	raised bool // an exception is among them
}

// Stream adds text of a stream: stdout or stderr.
func (c *StepCell) Stream(name, text string) {
	if name != c.out.name {
		c.out.flush()
		c.out.name = name
	}
	c.out.text.WriteString(text)
}

// Markdown adds a Markdown result.
func (c *StepCell) Markdown(text string) {
	c.display(map[string]any{"text/markdown": ipynb.Lines(text), "text/plain": ipynb.Lines(text)})
}

// Result adds a result of which only the text is known.
func (c *StepCell) Result(text string) {
	c.display(map[string]any{"text/plain": ipynb.Lines(text)})
}

// Raised adds an exception.
func (c *StepCell) Raised(name, value string, traceback []string) {
	c.raised = true
	c.out.raise(name, value, traceback)
}

// Picture adds a picture.
func (c *StepCell) Picture(mime, alt string, content []byte) {
	data := map[string]any{mime: base64.StdEncoding.EncodeToString(content)}
	if mime == "image/svg+xml" {
		data[mime] = c.out.form(mime, strings.ToValidUTF8(string(content), "\uFFFD"))
	}
	if alt != "" {
		data["text/plain"] = ipynb.Lines(alt)
	}
	c.display(data)
}

func (c *StepCell) display(data map[string]any) { c.out.display(data, map[string]any{}) }

// Change adds a patch.
func (c *StepCell) Change(text string) {
	var page bytes.Buffer
	safe.Fence(&page, "diff", text)
	c.out.change(page.String(), safe.Excerpt{Head: text}, map[string]any{})
}

// Scrap adds a scrap.
func (c *StepCell) Scrap(s runs.ScrapData) error { return c.out.scrap(s) }

// outcome converts the cell for notebook.steps.
func (c *StepCell) outcome(id notebooks.StepID) stepOutcome {
	o := stepOutcome{status: c.Status, note: stepNote{stepResult{c.Status, c.Words}}}
	switch c.Status {
	case runs.StepPending:
		return o
	case runs.StepSkipped:
	default:
		o.started, o.ran = true, true
	}
	o.outputs = func(int) ([]map[string]any, error) {
		c.out.flush()
		if (c.Status == runs.StepFailed || c.Status == runs.StepTimeout) && !c.raised {
			c.out.fails(id, c.Words)
		}
		return c.out.list, nil
	}
	return o
}

// FromMarkdown converts an output notebook in Markdown to Jupyter's form. nb is its source, m its manifest, cells
// the contents of its regions.
func FromMarkdown(nb *notebooks.Notebook, m *notebooks.Manifest, given []notebooks.Bound,
	cells map[notebooks.StepID]*StepCell) ([]byte, error) {
	j, err := newNotebook(nb)
	if err != nil {
		return nil, err
	}
	j.manifest, j.given, j.input = *m, given, nb.Name
	for _, p := range m.Parameters {
		j.params = append(j.params, runs.ParamData{Name: p.Name, Value: p.Value,
			Given: slices.ContainsFunc(given, func(g notebooks.Bound) bool { return g.Param.Name == p.Name })})
	}
	err = j.steps(func(s *notebooks.Step) (stepOutcome, error) {
		if c := cells[s.ID]; c != nil {
			return c.outcome(s.ID), nil
		}
		return stepOutcome{status: runs.StepPending}, nil
	})
	if err != nil {
		return nil, err
	}
	if m.Status != notebooks.StatusPrepared {
		j.verdict()
	}
	return j.bytes()
}

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
